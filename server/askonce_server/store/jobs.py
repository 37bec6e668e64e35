"""The jobs that wait for the writer, bounded in number and in bytes."""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

from askonce_server.core.reasons import RefusalReason
from askonce_server.store.rows import Rows
from askonce_server.store.space import Space

Action: TypeAlias = Callable[[Rows, Space], RefusalReason | None]
"""What is done inside the write transaction; all of it or, when it raises, nothing."""


class Ticket:
    """What one caller waits on: the end of all its jobs, or of its own patience."""

    __slots__ = ("_lock", "_open", "abandoned")

    def __init__(self) -> None:
        self._open = 0
        self._lock = threading.Lock()
        self._lock.acquire()
        self.abandoned = False
        """Whether the caller has given up. What the writer has not begun by then is dropped."""

    def expect(self, jobs: int) -> None:
        """Wait for `jobs` ends. Called before the writer can see any of the jobs."""
        self._open = jobs

    def wait(self, timeout: float) -> None:
        """Return once every job has ended, or give up after `timeout` seconds."""
        if not self._lock.acquire(timeout=timeout):
            self.abandoned = True

    def end_one(self) -> None:
        """Count one job as ended. Called by the writer alone."""
        self._open -= 1
        if self._open == 0:
            self._lock.release()


@dataclass(slots=True, kw_only=True)
class Job:
    """One action that waits for a commit."""

    action: Action
    ticket: Ticket
    size: int = 0
    """Bytes that it holds in memory while it waits."""
    now_ms: int = 0
    """When it was made: what had expired by then may be removed to make room."""
    urgent: bool = False
    """Whether it must not be refused for want of disk, as a purge."""
    counted: bool = False
    """Whether it is a write of the port, rather than the store's own."""
    result: RefusalReason | None = RefusalReason.STORE_FAILED
    """None once the commit that it was part of is durable."""


class JobQueue:
    """A bounded queue of many callers and one writer."""

    def __init__(self, *, max_jobs: int, max_bytes: int) -> None:
        self._max_jobs = max_jobs
        self._max_bytes = max_bytes
        self._jobs: deque[Job] = deque()
        self._bytes = 0
        self._closed = False
        self._changed = threading.Condition(threading.Lock())

    def offer(self, jobs: Sequence[Job], ticket: Ticket) -> bool:
        """Queue those of `jobs`, all of `ticket`, that there is room for; return whether there were any."""
        with self._changed:
            accepted = [] if self._closed else [job for job in jobs if self._has_room(job)]
            ticket.expect(len(accepted))
            self._changed.notify()
        return bool(accepted)

    def _has_room(self, job: Job) -> bool:
        if len(self._jobs) >= self._max_jobs or self._bytes + job.size > self._max_bytes:
            return False
        self._jobs.append(job)
        self._bytes += job.size
        return True

    def wait(self, timeout: float | None) -> bool:
        """Wait until there is a job or the queue is closed; return whether there is a job."""
        with self._changed:
            if not self._jobs and not self._closed:
                self._changed.wait(timeout)
            return bool(self._jobs)

    def take(self, *, max_jobs: int, max_bytes: int) -> list[Job]:
        """Take the jobs of one batch, oldest first, at least one if there is any."""
        batch: list[Job] = []
        size = 0
        with self._changed:
            while self._jobs and len(batch) < max_jobs and size < max_bytes:
                job = self._jobs.popleft()
                size += job.size
                batch.append(job)
            self._bytes -= size
        return batch

    def close(self) -> None:
        """Refuse every further job; those that wait are still taken."""
        with self._changed:
            self._closed = True
            self._changed.notify()

    @property
    def closed(self) -> bool:
        """Whether the queue takes no more jobs."""
        return self._closed
