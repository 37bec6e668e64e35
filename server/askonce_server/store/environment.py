"""How a store's folder is opened: who may, whether it is sound, and with which fixed sizes."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Literal, TypeAlias

import lmdb

from askonce_server.ports import Counts, StoreUnavailable
from askonce_server.store.costs import MIB, PAGE_BYTES
from askonce_server.store.damage import DamagedFile, check_structure, read_header
from askonce_server.store.faults import describe
from askonce_server.store.folders import make_folder
from askonce_server.store.held import HeldFiles
from askonce_server.store.instance import InstanceLock, InUse, is_held_by
from askonce_server.store.keyring import PLAIN, Keyring
from askonce_server.store.layout import DATABASE_NAMES, MAX_DATABASES, META_SCHEMA, SCHEMA, Databases
from askonce_server.store.newest import NewestSnapshot
from askonce_server.store.reader_table import allocate_reader_table
from askonce_server.store.shared_leases import remove_leases
from askonce_server.store.space import Bounds

Durability: TypeAlias = Literal["commit", "periodic"]

DATA_FILE: Final = "data.mdb"
_LOCK_FILE: Final = "lock.mdb"
_SPARE_READERS: Final = 64
_OPEN_SECONDS: Final = 10.0


@dataclass(frozen=True, slots=True, kw_only=True)
class StoreSettings:
    """Where a store lies and how it is used. Times are seconds, sizes bytes."""

    path: Path
    max_bytes: int
    durability: Durability = "commit"
    """`commit`: acknowledged means on the disk. `periodic`: synced every `sync_interval`."""
    sync_interval: float = 1.0
    write_timeout: float = 2.0
    max_pending: int = 1024
    max_pending_bytes: int = 64 * MIB
    workers: int = 1
    """Processes that share the store."""
    pool: int = 64
    """Threads of each that read at the same time."""
    instance: str = ""
    """What the process is called that holds the store's lock for its workers; empty: each its own."""
    counts: Counts | None = None
    """Where the workers count commits together; None: this process counts its own."""
    keys: Keyring = PLAIN
    """What bodies and vectors are encrypted under."""

    @property
    def bounds(self) -> Bounds:
        """The limits of the store."""
        return Bounds(self.max_bytes)

    @property
    def max_readers(self) -> int:
        """The size of the reader table, which the first process to open the store fixes for all."""
        return _SPARE_READERS + 2 * self.workers * self.pool


@dataclass(frozen=True, slots=True)
class OpenEnvironment:
    """A store's folder, opened; at most one in a process."""

    env: lmdb.Environment
    databases: Databases
    files: HeldFiles
    lock: InstanceLock | None
    keys: Keyring
    newest: NewestSnapshot

    def close(self) -> None:
        """Let go of the files."""
        self.newest.close()
        self.env.close()
        self.files.close()
        if self.lock is not None:
            with suppress(OSError):  # a full disk must not keep the store locked
                self.lock.release()


def open_environment(settings: StoreSettings, *, exclusive: bool = True) -> OpenEnvironment:
    """Open the store at `settings.path`, making it where there is none.

    With `exclusive` a second instance is refused; the workers of one instance open without it, while their
    supervisor holds the lock (`hold_store`). Raises StoreUnavailable with the mend, nothing being left open.
    """
    lock = hold_store(settings) if exclusive else None
    try:
        with _faults_told(settings.path):
            if settings.instance and not exclusive:
                _see_that_it_is_held(settings)
            return _open(settings, lock)
    except StoreUnavailable:
        if lock is not None:
            _give_up(lock)
        raise


def open_existing(settings: StoreSettings) -> OpenEnvironment:
    """Open a store that is there, for a tool: nobody else may have it open.

    Raises StoreUnavailable with the mend; nothing is made or left open then.
    """
    if not (settings.path / DATA_FILE).exists():
        raise StoreUnavailable(f"there is no store at {settings.path}: name its folder")
    return open_environment(settings)


def hold_store(settings: StoreSettings) -> InstanceLock:
    """Lock the store at `settings.path`, making its folder, and check its file.

    A supervisor does it for its workers, and calls itself `settings.instance`. Raises StoreUnavailable with
    the mend; nothing is locked then.
    """
    with _faults_told(settings.path):
        make_folder(settings.path)
        lock = InstanceLock.take(settings.path, durability=settings.durability, instance=settings.instance)
        remove_leases(settings.path, but=settings.instance)
        try:
            data_file = settings.path / DATA_FILE
            header = read_header(data_file)
            if header is not None:
                check_structure(data_file, header, suspect=lock.suspect)
        except BaseException:
            _give_up(lock)
            raise
    return lock


def _see_that_it_is_held(settings: StoreSettings) -> None:
    if not is_held_by(settings.path, settings.instance):
        raise StoreUnavailable(
            f"the store at {settings.path} is not held by the supervisor of this worker, whose log says why"
        )


@contextmanager
def _faults_told(path: Path) -> Iterator[None]:
    """Raise StoreUnavailable for every way in which a store cannot be opened."""
    try:
        yield
    except (DamagedFile, InUse) as fault:
        raise StoreUnavailable(str(fault)) from fault
    except (lmdb.Error, OSError) as fault:
        raise StoreUnavailable(describe(fault, path)) from fault


def _give_up(lock: InstanceLock) -> None:
    with suppress(OSError):
        lock.give_up()


def _open(settings: StoreSettings, lock: InstanceLock | None) -> OpenEnvironment:
    data_file = settings.path / DATA_FILE
    allocate_reader_table(settings.path / _LOCK_FILE, settings.max_readers)
    env = lmdb.open(
        str(settings.path),
        map_size=max(settings.bounds.map_bytes, _whole_pages(data_file)),
        max_dbs=MAX_DATABASES,
        max_readers=settings.max_readers,
        mode=0o600,
        sync=settings.durability == "commit",
        readahead=False,
    )
    try:
        env.reader_check()
        _check_schema(env, settings.path)
        _extend(data_file, env.info()["map_size"])
        databases = _open_databases(env, settings)
        files = HeldFiles(data_file, settings.path / _LOCK_FILE)
        newest = NewestSnapshot(env, settings.path / _LOCK_FILE)
        return OpenEnvironment(env, databases, files, lock, settings.keys, newest)
    except _Stuck:
        raise  # closing would wait for the same lock
    except BaseException:
        env.close()
        raise


def _whole_pages(data_file: Path) -> int:
    """Return the bytes of the file, in whole pages; 0 when there is none."""
    try:
        size = data_file.stat().st_size
    except FileNotFoundError:
        return 0
    return size - size % PAGE_BYTES


def _check_schema(env: lmdb.Environment, path: Path) -> None:
    """See that the file is a store that this version reads, or new. Nothing is written."""
    with env.begin() as txn:
        if txn.stat()["entries"] == 0:
            return
        try:
            value = txn.get(META_SCHEMA, db=env.open_db(b"meta", txn=txn, create=False))
        except lmdb.NotFoundError:
            value = None
        if value is None:
            raise StoreUnavailable(f"the folder {path} holds another program's LMDB file: move store.path")
        schema = int.from_bytes(value, "big")
        if schema < SCHEMA:
            raise StoreUnavailable(
                f"the store at {path} has layout {schema} and this server reads {SCHEMA}: export it with the "
                "version that wrote it and import it into an empty folder, or move store.path"
            )
        if schema > SCHEMA:
            raise StoreUnavailable(
                f"the store at {path} has layout {schema} and this server reads up to {SCHEMA}: a newer "
                "version wrote it; run that version, or move store.path"
            )


class _Stuck(StoreUnavailable):
    """Another process holds the write lock."""


def _open_databases(env: lmdb.Environment, settings: StoreSettings) -> Databases:
    """Open every database, those of later use included; make those that are missing.

    Handles outlive only a write transaction. Its turn may never come, while another process is stopped in the
    middle of a write, so that it is waited for in a thread.
    """
    opened: list[Databases] = []

    def run() -> None:
        with env.begin(write=True) as txn:
            handles = {name: env.open_db(name.encode(), txn=txn) for name in DATABASE_NAMES}
            databases = Databases(**handles)
            if txn.get(META_SCHEMA, db=databases.meta) is None:
                txn.put(META_SCHEMA, SCHEMA.to_bytes(4, "big"), db=databases.meta)
        opened.append(databases)

    faults: list[Exception] = []
    thread = threading.Thread(target=keeping(faults, run), name="askonce-open", daemon=True)
    thread.start()
    thread.join(_OPEN_SECONDS)
    if faults:
        raise faults[0]
    if not opened:
        raise _Stuck(
            f"the store at {settings.path} is held by a process that stopped in the middle of a write: "
            "resume or kill that process"
        )
    return opened[0]


def keeping(faults: list[Exception], run: Callable[[], None]) -> Callable[[], None]:
    """Return `run` with what it raises kept in `faults`."""

    def kept() -> None:
        try:
            run()
        except Exception as fault:
            faults.append(fault)

    return kept


def _extend(data_file: Path, map_bytes: int) -> None:
    """Let the file be as long as the map, without taking space; it stays so when `max_bytes` is lowered.

    Reading a mapped page beyond the end of a file ends the process; LMDB makes its file only as long as its
    last page, and a damaged page may point beyond. It also tells a file that was cut short from a sound one.
    """
    if data_file.stat().st_size < map_bytes:
        os.truncate(data_file, map_bytes)
