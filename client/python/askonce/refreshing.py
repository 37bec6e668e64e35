"""Where stale answers are asked for anew while their callers go on: a bounded number at once."""

from __future__ import annotations

import asyncio
import contextvars
import threading
from collections.abc import Callable, Coroutine
from typing import Any

MOST_REFRESHES = 32
"""How many refreshes of one client run at once. Beyond, a stale answer is left to another caller."""


class TooManyRefreshes(Exception):
    """There is no room for another refresh."""


class RefreshThreads:
    """Threads of one client. They do not keep a process from ending: a lease then ends by itself."""

    def __init__(self) -> None:
        """Start with none."""
        self._room = threading.BoundedSemaphore(MOST_REFRESHES)

    def start(self, refresh: Callable[[], None]) -> None:
        """Run `refresh` in a thread, in the caller's context. Raises what keeps it from being started."""
        if not self._room.acquire(blocking=False):
            raise TooManyRefreshes
        context = contextvars.copy_context()
        thread = threading.Thread(
            target=self._run, args=(context, refresh), name="askonce-refresh", daemon=True
        )
        try:
            thread.start()
        except BaseException:
            self._room.release()
            raise

    def _run(self, context: contextvars.Context, refresh: Callable[[], None]) -> None:
        try:
            context.run(refresh)
        finally:
            self._room.release()


class RefreshTasks:
    """Tasks of one client."""

    def __init__(self) -> None:
        """Start with none."""
        self._tasks: set[asyncio.Task[None]] = set()

    def start(self, refresh: Callable[[], Coroutine[Any, Any, None]]) -> None:
        """Run `refresh` in a task. Raises TooManyRefreshes."""
        if len(self._tasks) >= MOST_REFRESHES:
            raise TooManyRefreshes
        task = asyncio.create_task(refresh())
        self._tasks.add(task)
        task.add_done_callback(self._tasks.discard)
