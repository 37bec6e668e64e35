"""One instance per store: the folder's lock, and what the last holder left behind."""

from __future__ import annotations

import fcntl
import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from askonce_server.clock import SystemTime

_FILE: Final = "askonce.lock"
_CRASHES_BEFORE_CHECK: Final = 2


class InUse(Exception):
    """Another instance holds the store; the message names the path and the process."""


@dataclass(slots=True)
class InstanceLock:
    """The lock on a store's folder, held until it is released or the process ends.

    The lock's file also tells the next holder how this one ended, so that a file which may be damaged is
    checked before it is trusted.
    """

    _descriptor: int
    _durability: str
    _before: bytes
    _crashes: int
    suspect: bool
    """Whether the data file deserves a full check."""
    _instance: str

    @classmethod
    def take(cls, folder: Path, *, durability: str, instance: str = "") -> InstanceLock:
        """Lock `folder`. Raises InUse, or OSError when the file cannot be made.

        `instance` is what others can tell it by who may use the store under this lock.
        """
        path = folder / _FILE
        descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o600)
        try:
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                holder = _parse(_read(descriptor)).get("pid", "unknown")
                raise InUse(
                    f"the store at {folder} is in use by process {holder}: stop that server, or give this "
                    "one another store.path"
                ) from None
            lock = cls._after(_read(descriptor), descriptor, durability, instance)
            _write(descriptor, lock.state(closed=False))
        except BaseException:
            os.close(descriptor)
            raise
        return lock

    @classmethod
    def _after(cls, before: bytes, descriptor: int, durability: str, instance: str) -> InstanceLock:
        """Judge by what the last holder wrote.

        LMDB survives the end of a process at any point. It does not survive a machine that went down while
        writes were not synced one by one; and a server that crashes over and over may do so for its file.
        """
        last = _parse(before)
        crashed = last.get("closed") is False
        crashes = int(last.get("crashes", 0)) + 1 if crashed else 0
        unsynced = crashed and last.get("durability") != "commit" and last.get("boot") != SystemTime().boot_id
        suspect = unsynced or crashes >= _CRASHES_BEFORE_CHECK
        return cls(descriptor, durability, before, 0 if suspect else crashes, suspect, instance)

    def lost(self, folder: Path) -> bool:
        """Whether the lock in `folder` is another file now, so that it keeps nobody out."""
        mine = os.fstat(self._descriptor)
        try:
            there = (folder / _FILE).stat()
        except OSError:
            return True
        return (mine.st_dev, mine.st_ino) != (there.st_dev, there.st_ino)

    def release(self) -> None:
        """Say that the store was closed in order, and unlock it."""
        try:
            _write(self._descriptor, self.state(closed=True))
        finally:
            os.close(self._descriptor)

    def give_up(self) -> None:
        """Unlock a store that was not opened after all, and leave what the last holder said."""
        try:
            _write(self._descriptor, self._before)
        finally:
            os.close(self._descriptor)

    def state(self, *, closed: bool) -> bytes:
        """Return what the next holder shall read."""
        state = {
            "pid": os.getpid(),
            "boot": SystemTime().boot_id,
            "durability": self._durability,
            "crashes": 0 if closed else self._crashes,
            "closed": closed,
            "instance": self._instance,
        }
        return json.dumps(state).encode()


def is_held_by(folder: Path, instance: str) -> bool:
    """Whether the process that locked `folder` last, and did not unlock it, called itself `instance`."""
    try:
        state = _parse((folder / _FILE).read_bytes())
    except OSError:
        return False
    return state.get("instance") == instance and state.get("closed") is False


def _read(descriptor: int) -> bytes:
    return os.pread(descriptor, 4096, 0)


def _write(descriptor: int, state: bytes) -> None:
    os.ftruncate(descriptor, 0)
    os.pwrite(descriptor, state, 0)


def _parse(state: bytes) -> dict[str, Any]:
    try:
        parsed = json.loads(state)
    except ValueError:
        return {}
    return parsed if isinstance(parsed, dict) else {}
