"""Reading an export back into a store: what it has stays, what it purged or deleted stays away."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field, replace
from enum import Enum
from itertools import groupby
from typing import BinaryIO, Final, NamedTuple

import lmdb

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store.costs import MIB
from askonce_server.store.environment import StoreSettings, open_environment
from askonce_server.store.faults import describe
from askonce_server.store.incoming import Export
from askonce_server.store.layout import META_GUARD_KEY
from askonce_server.store.lines import Raised
from askonce_server.store.lmdb import LmdbEntryStore
from askonce_server.store.opening import open_store
from askonce_server.store.rows import Rows

_BATCH_STORES: Final = 256
_BATCH_BYTES: Final = 16 * MIB
_PENDING_BYTES: Final = 1024 * MIB
"""A single Store may have hundreds of megabytes; a batch has no more than one of those."""
_WRITE_SECONDS: Final = 600.0
"""How long a batch may take: nobody waits for its answer."""


class Fate(Enum):
    """What became of a line, or of the Store that it describes."""

    IMPORTED = "imported"
    PRESENT = "there already, or replaced by a newer answer"
    EXPIRED = "expired"
    PURGED = "of other generations, or deleted here: what was purged stays away"
    UNGUARDED = "semantic alone, and its guard features are those of another store"
    FULL = "without room in the store"
    DAMAGED = "damaged"


@dataclass(slots=True)
class Imported:
    """What became of the lines of a file."""

    fates: Counter[Fate] = field(default_factory=Counter)
    without_semantic: int = 0
    """Stores that were imported without their semantic entry, whose guard features are another store's."""

    @property
    def whole(self) -> bool:
        """Whether nothing is missing that could be served."""
        return not self.fates[Fate.DAMAGED] and not self.fates[Fate.FULL]


@dataclass(frozen=True, slots=True)
class Told:
    """Who hears how an import goes on."""

    progress: Callable[[int], object]
    """Hears how many bytes were read."""
    left_out: Callable[[int, Fate, str], object]
    """Hears the number of a line that was not imported, why, and what is known of it."""


class Stopped(Exception):
    """A damaged line ended a strict import; what stood before it was imported."""


class _Candidate(NamedTuple):
    number: int
    write: Write


def import_store(
    settings: StoreSettings, source: BinaryIO, told: Told, *, now_ms: int, strict: bool
) -> Imported:
    """File what stands in `source` in the store at `settings.path`, making it where there is none.

    May be repeated. Raises StoreUnavailable, also when somebody has the store open, NotAnExport, and under
    `strict` Stopped at the first damaged line.
    """
    export = Export(source)
    settings = replace(settings, write_timeout=_WRITE_SECONDS, max_pending_bytes=_PENDING_BYTES)
    guarded = take_over(settings, export.guard_key, export.generations())
    store = open_store(settings)
    try:
        return _Import(store, told, now_ms=now_ms, guarded=guarded).run(export, strict=strict)
    finally:
        store.close()


def take_over(settings: StoreSettings, guard_key: bytes, generations: Iterable[Raised]) -> bool:
    """Let a store without entries have the generations of an export, and one without vectors its guard key.

    What the store itself raised stays as it is. Returns whether guard features of the export can be compared
    in the store. Raises StoreUnavailable.
    """
    opened = open_environment(settings)
    try:
        with opened.env.begin(write=True, buffers=True) as txn:
            databases = opened.databases
            rows = Rows(txn, databases, opened.keys)
            if not txn.stat(databases.entries)["entries"]:
                mine = [one for one in generations if txn.get(one.name, db=databases.generations) is None]
                for at_ms, some in groupby(sorted(mine, key=_when), key=_when):
                    rows.raise_generations({one.name: one.value for one in some}, at_ms=at_ms)
            if guard_key and not txn.stat(databases.vectors)["entries"]:
                rows.set_meta(META_GUARD_KEY, guard_key)
            rows.settle()
            return not guard_key or rows.meta(META_GUARD_KEY) == guard_key
    except lmdb.Error as fault:
        raise StoreUnavailable(describe(fault, settings.path)) from fault
    finally:
        opened.close()


def _when(raised: Raised) -> int:
    return raised.raised_ms


class _Import:
    def __init__(self, store: LmdbEntryStore, told: Told, *, now_ms: int, guarded: bool) -> None:
        self._store = store
        self._told = told
        self._now_ms = now_ms
        self._guarded = guarded
        self._imported = Imported()

    def run(self, export: Export, *, strict: bool) -> Imported:
        batch: list[_Candidate] = []
        size = 0
        for line in export.stores():
            self._told.progress(export.bytes_read)
            if line.write is None:
                if strict:
                    self._file(batch)
                    raise Stopped(f"line {line.number} is damaged: {line.damage}")
                self._leave_out(line.number, Fate.DAMAGED, line.damage)
                continue
            batch.append(_Candidate(line.number, line.write))
            size += line.size
            if len(batch) == _BATCH_STORES or size >= _BATCH_BYTES:
                self._file(batch)
                batch, size = [], 0
        self._file(batch)
        return self._imported

    def _file(self, batch: Sequence[_Candidate]) -> None:
        """File those of a batch that are wanted. Raises StoreUnavailable."""
        wanted: list[_Candidate] = []
        for candidate in batch:
            judged = self._judge(candidate)
            if isinstance(judged, Fate):
                self._leave_out(candidate.number, judged, _named(candidate.write))
            else:
                wanted.append(judged)
        results = self._store.put([one.write for one in wanted]) if wanted else []
        for one, refusal in zip(wanted, results, strict=True):
            if refusal is None:
                self._imported.fates[Fate.IMPORTED] += 1
            elif refusal is RefusalReason.GENERATION_CHANGED:
                self._leave_out(one.number, Fate.PURGED, _named(one.write))
            elif refusal is RefusalReason.STORE_FULL:
                self._leave_out(one.number, Fate.FULL, _named(one.write))
            else:
                problem = self._store.problem() or "the store does not say why"
                raise StoreUnavailable(f"line {one.number} could not be stored: {problem}")

    def _judge(self, candidate: _Candidate) -> _Candidate | Fate:
        """Return the Store with the keys under which there is nothing as new, or why it is not wanted."""
        number, write = candidate
        if write.remove_ms <= self._now_ms:
            return Fate.EXPIRED
        keys = write.keys
        if not self._guarded and write.semantic is not None and write.semantic.features:
            keys = tuple(key for key in keys if not key.partition)
            if not keys:
                return Fate.UNGUARDED
        with self._store.read() as view:
            if view.generations(write.generations.names) != write.generations.values:
                return Fate.PURGED
            there = {key: view.entry(key) for key in keys}
        store_ms = write.answer.store_ms
        new = tuple(key for key, entry in there.items() if entry is None or entry.answer.store_ms < store_ms)
        if not new:
            return Fate.PRESENT
        self._imported.without_semantic += len(keys) < len(write.keys)
        semantic = write.semantic if any(key.partition for key in new) else None
        return _Candidate(number, replace(write, keys=new, semantic=semantic))

    def _leave_out(self, number: int, fate: Fate, what: str) -> None:
        self._imported.fates[fate] += 1
        self._told.left_out(number, fate, what)


def _named(write: Write) -> str:
    """Name a Store by its entries."""
    return ", ".join(map(_sha7, write.keys))


def _sha7(key: EntryKey) -> str:
    return key.entry_id.hex()[:7]
