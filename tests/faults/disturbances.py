"""What goes wrong around a sidecar: its workers, its configuration, its embedder, disk and clock."""

from __future__ import annotations

import os
import random
import signal
import struct
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from itertools import cycle
from pathlib import Path

import yaml

from embed.fakes import Answering, Service, gives, hangs_up, says
from faults.crew import Crew
from faults.sidecar_process import small_disk
from faults.torture import embeds
from faults.truth import Truth
from rpc.harness import Place
from rpc.semantic import DIM

HOUR = 3600.0
SLOW = ("wall clock moved", "config spoilt", "worker stopped")
_OFFSET = struct.Struct("=d")


class MovedClock:
    """The wall clock of processes that are started with `environ`: an hour ahead or behind, when told to.

    The first thing that their interpreters import is `moved_clock/sitecustomize.py`. Nothing in the server
    knows of it.
    """

    def __init__(self, folder: Path) -> None:
        self._file = folder / "clock"
        self.move(0.0)
        self.environ = {
            **os.environ,
            "MOVED_CLOCK_FILE": str(self._file),
            "PYTHONPATH": os.pathsep.join(
                [str(Path(__file__).parent / "moved_clock"), os.environ.get("PYTHONPATH", "")]
            ).rstrip(os.pathsep),
        }

    def move(self, offset: float) -> None:
        """Let the wall clock be `offset` seconds ahead."""
        mode = "r+b" if self._file.exists() else "wb"
        with self._file.open(mode) as file:
            file.write(_OFFSET.pack(offset))


class Disk:
    """A small disk, to be filled up."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._filler = path / "filler"

    def fill(self) -> None:
        with suppress(OSError), self._filler.open("wb", buffering=0) as filler:  # until there is no room
            while filler.write(bytes(1 << 16)):
                pass

    def clear(self) -> None:
        self._filler.unlink(missing_ok=True)


@contextmanager
def disk_for_the_store(folder: Path, size: str) -> Iterator[Disk | None]:
    """A disk of that size, or None where it cannot be mounted."""
    with ExitStack() as stack:
        disk = None
        if os.geteuid() == 0:
            with suppress(subprocess.CalledProcessError, OSError):
                disk = Disk(stack.enter_context(small_disk(folder / "disk", size)))
        yield disk


class Disturbances(threading.Thread):
    """Does one of `kinds` now and then until told to end; then all is as it was, and every worker goes on."""

    def __init__(
        self, crew: Crew, truth: Truth, *, service: Service, clock: MovedClock, disk: Disk | None, seed: int
    ) -> None:
        super().__init__(daemon=True)
        self.done = threading.Event()
        self._crew, self._truth, self._service = crew, truth, service
        self._clock, self._disk = clock, disk
        self._choice = random.Random(seed)
        self._document = crew.place.config_file.read_text()
        self._mend: dict[str, tuple[float, Callable[[], None]]] = {}
        """What is amiss, until when, and how it is put right."""
        offsets = cycle([HOUR, -HOUR, 0.0])
        self.kinds: dict[str, Callable[[], None]] = {
            "worker killed": lambda: self._signal(signal.SIGKILL),
            "worker stopped": lambda: self._signal(signal.SIGSTOP),
            "worker paused": self._pause,
            "config read again": lambda: crew.process.send(signal.SIGHUP),
            "config changed": self._rewrite,
            "config spoilt": self._spoil,
            "embedder out": self._embedder_out,
            "wall clock moved": lambda: clock.move(next(offsets)),
        }
        if disk is not None:
            self.kinds["disk full"] = self._fill_disk

    def run(self) -> None:
        # Each once before any comes again: a short run meets all of them, first what takes time to be felt.
        coming = [*self.kinds]
        self._choice.shuffle(coming)
        coming.sort(key=lambda what: SLOW.index(what) if what in SLOW else -1)
        most = 1.7
        while not self.done.wait(self._choice.uniform(0.3, most)):
            self._truth.settle()
            self._mend_what_is_due(time.monotonic())
            if not coming:  # once more, with time for workers to come back in between
                coming, most = list(self.kinds), 4.0
                self._choice.shuffle(coming)
            what = coming.pop()
            with suppress(ProcessLookupError, IndexError):  # no worker is there, just now
                self.kinds[what]()
                self._truth.count(f"~ {what}")
        self._mend_what_is_due(float("inf"))
        self._clock.move(0.0)
        write(self._crew.place, self._document)
        self._crew.process.send(signal.SIGHUP)
        for pid in self._crew.pids():
            with suppress(ProcessLookupError):
                os.kill(pid, signal.SIGCONT)

    def _later(self, what: str, seconds: float, mend: Callable[[], None]) -> None:
        self._mend[what] = (time.monotonic() + seconds, mend)

    def _mend_what_is_due(self, now: float) -> None:
        for what, (due, mend) in list(self._mend.items()):
            if due <= now:
                del self._mend[what]
                mend()

    def _one(self) -> int:
        """Return a worker that is not stopped: one that is stays so until it is given up."""
        return self._choice.choice([pid for pid in self._crew.pids() if state_of(pid) != "T"])

    def _signal(self, number: int) -> None:
        os.kill(self._one(), number)

    def _pause(self) -> None:
        """Stop a worker for a moment, too short for it to be given up."""
        pid = self._one()
        os.kill(pid, signal.SIGSTOP)
        time.sleep(self._choice.uniform(0.01, 1.0))
        os.kill(pid, signal.SIGCONT)

    def _rewrite(self) -> None:
        """Change rules in ways that change no key."""
        document = yaml.safe_load(self._document)
        for rule in document["rules"]:
            rule["ttl"] = self._choice.choice(["1h", "2h", "3h"])
            rule["coalesce"]["max_waiters"] = self._choice.choice([8, 64, 256])
        if self._choice.random() < 0.5:
            document["rules"].append({"id": "another", "match": {"endpoint": "embeddings"}})
        write(self._crew.place, yaml.safe_dump(document))

    def _spoil(self) -> None:
        """Half of a file, or one with mistakes: the one before stays."""
        text = self._document
        write(self._crew.place, self._choice.choice([text[: len(text) // 2] + ": [", "rules: [{id: 7}]"]))
        self._crew.process.send(signal.SIGHUP)
        self._later("config", 3.0, lambda: write(self._crew.place, text))

    def _embedder_out(self) -> None:
        wrong: list[Answering] = [
            says(500, b"out of order"),
            says(429, b"later", Retry_After="1"),
            says(200, b"no JSON"),
            gives([0.0] * DIM),
            gives([1.0] * (DIM + 1)),
            hangs_up,
            hangs,
        ]
        self._service.script[:] = [self._choice.choice(wrong)]
        self._later("embedder", self._choice.uniform(0.5, 4.0), self._embedder_back)

    def _embedder_back(self) -> None:
        self._service.script[:] = [embeds]

    def _fill_disk(self) -> None:
        assert self._disk is not None
        self._disk.fill()
        self._later("disk", self._choice.uniform(0.5, 3.0), self._disk.clear)


def state_of(pid: int) -> str:
    """Return the letter for what a process does; empty when it is gone."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0]
    except OSError:
        return ""


def hangs(handler) -> None:
    """Never answer; let go after a while."""
    handler.server.released.wait(1.0)
    handler.close_connection = True


def write(place: Place, text: str) -> None:
    """Put another file in the place of the configuration, at once."""
    fresh = place.config_file.with_suffix(".new")
    fresh.write_text(text)
    fresh.replace(place.config_file)
