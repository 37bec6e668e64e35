"""The rows of the store that keeps everything in memory."""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field, replace

import numpy as np

from askonce_server.core.entries import (
    ZERO_GENERATION,
    Body,
    Entry,
    EntryKey,
    Generations,
    SemanticRow,
    Write,
)
from askonce_server.ports import MOST_BARS, PartitionState, Reach, StoredVector, VectorBlock
from askonce_server.store.costs import ENTRY_COST, body_cost, vector_cost, write_cost
from askonce_server.store.layout import ID_BYTES, body_row, entry_row
from askonce_server.store.prepared import Prepared
from askonce_server.store.vectors import row_bytes


@dataclass(frozen=True, slots=True)
class BodyRow:
    """A body and how many entries share it."""

    body: Body
    references: int


@dataclass(frozen=True, slots=True)
class PartitionRow:
    """A partition's vectors by ascending sequence, each with the row of its entry."""

    sequence: int
    vectors: dict[int, tuple[bytes, SemanticRow]]


@dataclass(slots=True)
class MemoryRows:
    """The rows that a view sees. They are copied before a change while any view is open."""

    entries: dict[bytes, Entry] = field(default_factory=dict)
    bodies: dict[bytes, BodyRow] = field(default_factory=dict)
    generations: dict[bytes, tuple[bytes, int]] = field(default_factory=dict)
    """Of each name, the value and when it was last raised."""
    scopes: dict[bytes, Generations] = field(default_factory=dict)
    """Of each scope key, the generations under which it was derived."""
    tombstones: dict[bytes, int] = field(default_factory=dict)
    """Of each deleted entry's id, when it was deleted."""
    partitions: dict[bytes, PartitionRow] = field(default_factory=dict)
    remove_ms: dict[bytes, int] = field(default_factory=dict)
    """Of each entry's row, when it may be removed."""
    sequences: dict[bytes, int] = field(default_factory=dict)
    """Of each semantic entry's row, its vector's."""
    stores: dict[int, list[bytes]] = field(default_factory=dict)
    """Of each store id, the rows of the entries that are left, in order of arrival."""
    outlines: dict[int, bytes] = field(default_factory=dict)
    """Of each store id, the outline of its request."""
    bars: dict[bytes, tuple[bytes, ...]] = field(default_factory=dict)
    """Of each entry's id, the vectors for which it was found wrong."""
    used_bytes: int = 0
    next_number: int = 1
    """The store id, and sequence, that comes next."""
    views: int = 0

    def copy(self) -> MemoryRows:
        """Return the same rows without views."""
        return MemoryRows(
            entries=dict(self.entries),
            bodies=dict(self.bodies),
            generations=dict(self.generations),
            scopes=dict(self.scopes),
            tombstones=dict(self.tombstones),
            partitions={
                name: replace(row, vectors=dict(row.vectors)) for name, row in self.partitions.items()
            },
            remove_ms=dict(self.remove_ms),
            sequences=dict(self.sequences),
            stores={number: list(rows) for number, rows in self.stores.items()},
            outlines=dict(self.outlines),
            bars=dict(self.bars),
            used_bytes=self.used_bytes,
            next_number=self.next_number,
        )

    def file(self, prepared: Prepared) -> int:
        """File a write under each of its keys, in place of what was there; return its store id."""
        write, rows = prepared.write, {entry_row(key): key for key in prepared.keys}
        self.remove(rows)
        store_id = self._next()
        for row, key in rows.items():
            self.entries[row] = Entry(key, write.answer, write.scope_root, store_id, len(write.body.data))
            self.remove_ms[row] = write.remove_ms
            self.scopes[key.scope_key] = write.generations
            if write.semantic is not None and key.partition:
                self._file_vector(row, key, write.semantic)
        self.bodies[body_row(write.scope_root, store_id)] = BodyRow(write.body, len(rows))
        self.stores[store_id] = list(rows)
        self.outlines[store_id] = write.outline
        self.used_bytes += write_cost(prepared)
        return store_id

    def holds(self, given: Generations) -> bool:
        """Whether each generation still has the value given."""
        current = (self.generations.get(name, (ZERO_GENERATION, 0))[0] for name in given.names)
        return tuple(current) == given.values

    def regroup(self, row: bytes, group: bytes) -> None:
        """Give the entry at `row` its answer group, where it is there."""
        sequence = self.sequences.get(row)
        if sequence is not None:
            vectors = self.partitions[row[:ID_BYTES]].vectors
            vectors[sequence] = row, vectors[sequence][1]._replace(group=group)

    def bar(self, key: EntryKey, vector: bytes) -> None:
        """Bar an entry, where it is there, for one more question."""
        if entry_row(key) in self.entries:
            known = [one for one in self.bars.get(key.entry_id, ()) if one != vector]
            self.bars[key.entry_id] = (b"",) if b"" in (*known, vector) else (*known, vector)[-MOST_BARS:]

    def stores_from(self, store_id: int) -> Iterator[int]:
        """Go through the ids of the Stores from `store_id` on, oldest first."""
        ids = list(self.stores)
        return iter(ids[bisect_left(ids, store_id) :])

    def remove(self, rows: Iterable[bytes]) -> None:
        """Remove the entries at `rows`, their vectors, and the bodies that only they refer to."""
        rows = list(dict.fromkeys(rows))
        self.used_bytes -= self.reclaimable(rows)
        released = self._released(rows)
        for row in rows:
            entry = self.entries.pop(row, None)
            if entry is not None:
                self._leave(entry.store_id, row)
                del self.remove_ms[row]
                self.bars.pop(entry.key.entry_id, None)
                self._remove_vector(row)
        for row, count in released.items():
            found = self.bodies[row]
            if found.references > count:
                self.bodies[row] = replace(found, references=found.references - count)
            else:
                del self.bodies[row]

    def reclaimable(self, rows: Iterable[bytes]) -> int:
        """Return how many bytes removing the entries at `rows` gives back."""
        released = self._released(rows := list(rows))
        gone = [self.bodies[row] for row, count in released.items() if self.bodies[row].references <= count]
        bodies = sum(body_cost(len(found.body.data)) for found in gone)
        vectors = sum(self._vector_cost(row) for row in rows)
        return bodies + vectors + ENTRY_COST * sum(1 for row in rows if row in self.entries)

    def expired(self, now_ms: int) -> list[bytes]:
        """Return the rows of the entries that may be removed by now."""
        return [row for row, remove_ms in self.remove_ms.items() if remove_ms <= now_ms]

    def value(self, name: bytes) -> bytes:
        """Return the value of a generation."""
        return self.generations.get(name, (ZERO_GENERATION, 0))[0]

    def admits(self, write: Write) -> bool:
        """Whether nothing that `write` depends on was purged or deleted since it began."""
        given, began_ms = write.generations, write.earliest_ms
        if tuple(map(self.value, given.names)) != given.values:
            return False
        raised = [self.generations[name][1] for name in given.names if name in self.generations]
        deleted = [self.tombstones[key.entry_id] for key in write.keys if key.entry_id in self.tombstones]
        return all(at_ms < began_ms for at_ms in deleted + (raised if write.by_descriptor else []))

    def reach(self, names: Collection[bytes], *, within: Collection[bytes] = ()) -> Reach:
        """Count what raising these generations would make unreachable."""
        wanted = {
            key
            for key in self._scopes(reachable=True)
            if set(self.scopes[key].names) & set(names) and set(self.scopes[key].names) >= set(within)
        }
        found = [entry for entry in self.entries.values() if entry.key.scope_key in wanted]
        scopes = {entry.key.scope_key for entry in found}
        return Reach(len(scopes), len(found), sum(entry.body_bytes for entry in found))

    def unreachable(self) -> list[bytes]:
        """Return the rows of the entries that a purge made unreachable."""
        gone = self._scopes(reachable=False)
        return [row for row, entry in self.entries.items() if entry.key.scope_key in gone]

    def find(self, entry_id: bytes) -> Entry | None:
        """Return the entry with that id."""
        return next((entry for entry in self.entries.values() if entry.key.entry_id == entry_id), None)

    def delete(self, entry_id: bytes, *, at_ms: int) -> list[EntryKey]:
        """Remove the entry with that id and the others of its Store; return their keys."""
        found = self.find(entry_id)
        rows = [] if found is None else list(self.stores[found.store_id])
        keys = [self.entries[row].key for row in rows]
        self.remove(rows)
        self.tombstones.update(dict.fromkeys((entry_id, *(key.entry_id for key in keys)), at_ms))
        return keys

    def forget_tombstones(self, before_ms: int) -> int:
        """Remove the tombstones that were left before then; return how many."""
        old = [entry_id for entry_id, at_ms in self.tombstones.items() if at_ms <= before_ms]
        for entry_id in old:
            del self.tombstones[entry_id]
        return len(old)

    def _scopes(self, *, reachable: bool) -> set[bytes]:
        return {
            key
            for key, given in self.scopes.items()
            if (tuple(map(self.value, given.names)) == given.values) == reachable
        }

    def state(self, partition: bytes) -> PartitionState:
        """Return the state of `partition`."""
        found = self.partitions.get(partition)
        return PartitionState(0, 0) if found is None else PartitionState(found.sequence, len(found.vectors))

    def block(self, partition: bytes, *, dim: int, after: int, limit: int) -> VectorBlock:
        """Return at most `limit` vectors of `dim` dimensions above `after`."""
        found = self.partitions.get(partition)
        rows = [] if found is None else list(found.vectors.items())
        kept = [(s, row.vector) for s, (_, row) in rows if s > after and len(row.vector) == 4 * dim][:limit]
        return VectorBlock(
            np.array([sequence for sequence, _ in kept], dtype=np.int64),
            np.frombuffer(b"".join(vector for _, vector in kept), dtype="<f4").reshape(-1, dim),
        )

    def stored(self, partition: bytes, sequence: int) -> StoredVector | None:
        """Return the vector at `sequence` and its entry."""
        found = self.partitions.get(partition)
        if found is None or sequence not in found.vectors:
            return None
        row, semantic = found.vectors[sequence]
        return StoredVector(self.entries[row], semantic)

    def _leave(self, store_id: int, row: bytes) -> None:
        self.stores[store_id].remove(row)
        if not self.stores[store_id]:
            del self.stores[store_id], self.outlines[store_id]

    def _next(self) -> int:
        self.next_number += 1
        return self.next_number - 1

    def _file_vector(self, row: bytes, key: EntryKey, semantic: SemanticRow) -> None:
        sequence = self.sequences[row] = self._next()
        found = self.partitions.get(key.partition)
        vectors = {} if found is None else found.vectors
        vectors[sequence] = (row, semantic)
        self.partitions[key.partition] = PartitionRow(sequence, vectors)

    def _remove_vector(self, row: bytes) -> None:
        sequence, partition = self.sequences.pop(row, None), row[:32]
        if sequence is not None:
            found = self.partitions[partition]
            del found.vectors[sequence]
            if not found.vectors:
                del self.partitions[partition]

    def _vector_cost(self, row: bytes) -> int:
        sequence = self.sequences.get(row)
        if sequence is None:
            return 0
        _, semantic = self.partitions[row[:32]].vectors[sequence]
        return vector_cost(row_bytes(semantic))

    def _released(self, rows: Iterable[bytes]) -> Counter[bytes]:
        entries = [self.entries[row] for row in rows if row in self.entries]
        return Counter(body_row(entry.scope_root, entry.store_id) for entry in entries)
