"""Leases that several processes share: rows in an LMDB environment of their own.

They need not outlive the machine, so that nothing waits for the disk. Nor are they kept among the answers,
where every change would make what is known of the last snapshot old.
"""

from __future__ import annotations

import logging
import os
import shutil
import sys
import threading
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from struct import Struct
from typing import Final, NamedTuple

import lmdb

from askonce_server.ports import Leases, StoreUnavailable, Taken
from askonce_server.store.lease_changes import Changes, Transaction
from askonce_server.store.local_leases import LocalLeases
from askonce_server.store.reader_table import allocate_reader_table

_FOLDER: Final = "leases-"
_MAP_BYTES: Final = 64 << 20
"""Room for some 200,000 leases."""
_MAX_READERS: Final = 2048
_SWEEP_FROM: Final = 1024
"""How many leases are kept before those that are over are let go of."""
_LOOK_SECONDS: Final = 0.003
"""How often the changes of other processes are looked for while somebody waits."""
_HOLDER_BYTES: Final = 16
_log = logging.getLogger(__name__)
_LEASE: Final = Struct(f">{_HOLDER_BYTES}sqQ")


class _Lease(NamedTuple):
    holder: bytes
    until_ms: int
    changed: int
    """The id of the transaction that changed it last."""


@dataclass(slots=True)
class _Waiting:
    """Those in this process who wait for one lease."""

    callers: int = 0
    seen: int = 0
    """The lease's newest change."""
    changed: threading.Condition = field(default_factory=threading.Condition)


def open_leases(store: Path, *, instance: str) -> Leases:
    """Return the leases that the workers of `instance` share beside their store.

    Where that cannot be each has its own: of several workers each may have a caller that fills a miss.
    """
    try:
        return SharedLeases(leases_folder(store, instance))
    except StoreUnavailable as unavailable:
        _log.warning("every worker has leases of its own: %s", unavailable)
        return LocalLeases()


def leases_folder(store: Path, instance: str) -> Path:
    """Return where the leases of an instance are; those of another are of no use to anybody."""
    return store / f"{_FOLDER}{instance}"


def remove_leases(store: Path, *, but: str) -> None:
    """Remove the leases of instances that have ended."""
    for folder in store.glob(f"{_FOLDER}*"):
        if folder != leases_folder(store, but):
            shutil.rmtree(folder, ignore_errors=True)


class SharedLeases:
    """The Leases of several processes, in `folder`. Raises StoreUnavailable when it cannot be used."""

    def __init__(self, folder: Path) -> None:
        self._env = _open(folder)
        self._closed = False
        self._lock = threading.Lock()
        self._waiting: dict[bytes, _Waiting] = {}
        self._wake = threading.Event()
        self._changes = Changes(self._env, self._wake.set)
        threading.Thread(target=self._watch, name="askonce-lease-watch", daemon=True).start()

    @property
    def closed(self) -> bool:
        """Whether nobody is to wait any longer."""
        return self._closed

    def mark(self) -> int:
        """Return a number that grows with every change, of whichever process."""
        newest: int = self._env.info()["last_txnid"]
        return newest

    def take(self, lease: bytes, *, now_ms: int, until_ms: int) -> Taken:
        """Take the lease until then, or say until when another has it; 0 when none can be had."""
        held = self._read(lease)
        if held is not None and held.until_ms > now_ms:
            return Taken(None, held.until_ms)

        def make(txn: Transaction) -> Taken:
            found = _find(txn, lease)
            if found is not None and found.until_ms > now_ms:
                return Taken(None, found.until_ms)
            _sweep(txn, now_ms)
            holder = os.urandom(_HOLDER_BYTES)
            txn.put(lease, _LEASE.pack(holder, until_ms, txn.id()))
            return Taken(holder, until_ms)

        return self._changes.make(make, partial(self._give_back, lease)) or Taken(None, 0)

    def held_until(self, lease: bytes) -> int:
        """Return until when somebody has the lease; 0 when nobody has."""
        held = self._read(lease)
        return 0 if held is None else held.until_ms

    def release(self, lease: bytes, holder: bytes) -> bool:
        """Let go of the lease, and let those who wait for it know; return whether `holder` had it."""
        held = self._read(lease)
        if held is None or held.holder != holder:
            return False
        return bool(self._changes.make(partial(_release, lease, holder)))

    def touch(self, lease: bytes) -> None:
        """Let those who wait for the lease know that there is an answer."""
        if self._read(lease) is None:
            return  # nobody waits for what nobody has

        def make(txn: Transaction) -> None:
            found = _find(txn, lease)
            if found is not None:
                txn.put(lease, _LEASE.pack(found.holder, found.until_ms, txn.id()))

        self._changes.make(make)

    def wait(self, lease: bytes, mark: int, *, seconds: float) -> bool:
        """Wait until something changed since `mark`, or the time is over; return whether it changed."""
        with self._lock:
            waiting = self._waiting.setdefault(lease, _Waiting())
            waiting.callers += 1
        self._wake.set()
        try:
            with waiting.changed:
                waiting.seen = self._newest(lease)
                return waiting.changed.wait_for(lambda: self._closed or waiting.seen > mark, seconds)
        finally:
            with self._lock:
                waiting.callers -= 1
                if not waiting.callers:
                    del self._waiting[lease]

    def close(self) -> None:
        """Let nobody wait any longer."""
        self._closed = True
        self._wake.set()
        self._changes.close()
        with self._lock:
            waiting = list(self._waiting.values())
        for one in waiting:
            with one.changed:
                one.changed.notify_all()

    def _watch(self) -> None:
        """Look for changes of whichever process while anybody waits."""
        seen = -1
        while not self._closed:
            self._wake.wait(_LOOK_SECONDS if self._waiting else None)
            self._wake.clear()
            newest = self.mark()
            if newest == seen:
                continue
            seen = newest
            with self._lock:
                waiting = list(self._waiting.items())
            for lease, one in waiting:
                self._tell(lease, one)

    def _tell(self, lease: bytes, waiting: _Waiting) -> None:
        newest = self._newest(lease)
        with waiting.changed:
            if newest != waiting.seen:
                waiting.seen = newest
                waiting.changed.notify_all()

    def _newest(self, lease: bytes) -> int:
        """Return the newest change of a lease: one that nobody has is worth looking at in any case."""
        held = self._read(lease)
        return sys.maxsize if held is None else held.changed

    def _give_back(self, lease: bytes, taken: Taken) -> None:
        """Let go of what was taken for a caller that had given up by then."""
        if taken.holder is not None:
            self._changes.post(partial(_release, lease, taken.holder))

    def _read(self, lease: bytes) -> _Lease | None:
        try:
            with self._env.begin() as txn:
                return _find(txn, lease)
        except lmdb.Error:
            return None


def _find(txn: Transaction, lease: bytes) -> _Lease | None:
    value = txn.get(lease)
    return None if value is None or len(value) != _LEASE.size else _Lease(*_LEASE.unpack(value))


def _release(lease: bytes, holder: bytes, txn: Transaction) -> bool:
    found = _find(txn, lease)
    return found is not None and found.holder == holder and txn.delete(lease)


def _sweep(txn: Transaction, now_ms: int) -> None:
    """Let go of leases that are over, when there are many."""
    if txn.stat()["entries"] < _SWEEP_FROM:
        return
    with txn.cursor() as cursor:
        over = [lease for lease, value in cursor if _LEASE.unpack(value)[1] <= now_ms]
    for lease in over:
        txn.delete(lease)


def _open(folder: Path) -> lmdb.Environment:
    try:
        folder.mkdir(mode=0o700, exist_ok=True)  # beside a store that is there
        allocate_reader_table(folder / "lock.mdb", _MAX_READERS)
        env = lmdb.open(
            str(folder), map_size=_MAP_BYTES, max_readers=_MAX_READERS, mode=0o600, sync=False, metasync=False
        )
        env.reader_check()
        return env
    except (lmdb.Error, OSError) as fault:
        raise StoreUnavailable(f"no leases can be shared in {folder}: {fault}") from fault
