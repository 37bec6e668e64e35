"""Writing a store out as lines, in the order of its Stores; never more of it in memory than one of them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass

import lmdb

from askonce_server.core.entries import Body, Entry, Generations, SemanticRow, Write
from askonce_server.core.keys import KEY_SCHEMA
from askonce_server.ports import StoreUnavailable
from askonce_server.storage.v1.record_pb2 import EntryRecord, ScopeRecord, StoreRecord
from askonce_server.store import lines
from askonce_server.store.environment import StoreSettings, open_existing
from askonce_server.store.faults import describe
from askonce_server.store.finality import Finality
from askonce_server.store.keyring import KeyMissing, Keyring
from askonce_server.store.layout import (
    META_GUARD_KEY,
    SCHEMA,
    Databases,
    Transaction,
    body_row,
    vector_row,
)
from askonce_server.store.lines import Raised
from askonce_server.store.records import (
    decode_body,
    decode_generation,
    decode_header,
    decode_record,
    entry_of,
    key_of,
)
from askonce_server.store.seals import Damaged
from askonce_server.store.vectors import decode_vector


@dataclass(slots=True)
class Exported:
    """What became of the Stores of a store."""

    stores: int = 0
    """Those that were written out."""
    expired: int = 0
    """Those past their time, which nobody can be served."""
    purged: int = 0
    """Those that a purge made unreachable."""
    damaged: int = 0
    """Those of which something is gone or damaged, so that nobody is served them either."""
    locked: int = 0
    """Those under a key that is not here."""
    encrypted: bool = False
    """Whether something of what was written out is encrypted in the store."""

    @property
    def seen(self) -> int:
        """All of them."""
        return self.stores + self.expired + self.purged + self.damaged + self.locked


def export_store(
    settings: StoreSettings,
    write: Callable[[bytes], object],
    tell: Callable[[int, int], object],
    *,
    now_ms: int,
) -> Exported:
    """Give every line of the store at `settings.path` to `write`; `tell` hears how many Stores of how many.

    Raises StoreUnavailable, also when somebody has the store open, and what `write` raises.
    """
    opened = open_existing(settings)
    try:
        with opened.env.begin(buffers=True) as txn:
            export = _Export(txn, opened.databases, opened.keys, now_ms)
            for line in export.lines():
                write(line)
                tell(export.told.seen, export.stores)
        return export.told
    except (lmdb.Error, Damaged) as fault:
        raise StoreUnavailable(describe(fault, settings.path)) from fault
    finally:
        opened.close()


class _Export:
    """One pass over a store that a transaction sees."""

    def __init__(self, txn: Transaction, databases: Databases, keys: Keyring, now_ms: int) -> None:
        self._txn = txn
        self._keys = keys
        self._databases = databases
        self._now_ms = now_ms
        self._finality = Finality(txn, databases)
        self.told = Exported()
        self.stores: int = txn.stat(databases.stores)["entries"]

    def lines(self) -> Iterator[bytes]:
        """Go through what the store holds. Raises lmdb.Error and Damaged."""
        yield lines.encode(
            "export",
            schema=SCHEMA,
            key_schema=KEY_SCHEMA,
            exported_ms=self._now_ms,
            stores=self.stores,
            guard_key=self._guard_key(),
        )
        yield from self._generations()
        for row, value in self._walk("stores"):
            write = self._readable(row, value)
            if write is not None:
                self.told.stores += 1
                yield lines.encode_store(write)
        yield lines.encode("end", stores=self.told.stores)

    def _walk(self, name: str) -> Iterator[tuple[bytes, memoryview]]:
        return self._databases.walk(self._txn, name)

    def _guard_key(self) -> str | None:
        """Return the key of the guards' tokens, where there are any."""
        key = self._txn.get(META_GUARD_KEY, db=self._databases.meta)
        vectors = self._txn.stat(self._databases.vectors)["entries"]
        return None if key is None or not vectors else bytes(key).hex()

    def _generations(self) -> Iterator[bytes]:
        for name, value in self._walk("generations"):
            yield lines.encode_generation(Raised(name, *decode_generation(value)))

    def _readable(self, row: bytes, value: memoryview) -> Write | None:
        """Return what one Store filed, as far as it can be served and read; else count it as what it is."""
        try:
            return self._store(row, value)
        except KeyMissing:
            self.told.locked += 1
            return None

    def _store(self, row: bytes, value: memoryview) -> Write | None:
        record = decode_record(StoreRecord, row, value)
        found = [] if record is None else [one for one in map(self._entry, record.entries) if one is not None]
        if not found:
            self.told.damaged += 1
            return None
        entry, stale_ms, _ = found[0]
        outline = b"" if record is None else record.outline
        if entry.answer.expire_ms + stale_ms <= self._now_ms:
            self.told.expired += 1
            return None
        generations = self._scope(entry.key.scope_key)
        if generations.values != self._finality.generations(generations.names):
            self.told.purged += 1
            return None
        body = self._body(entry)
        if body is None:
            self.told.damaged += 1
            return None
        return Write(
            scope_root=entry.scope_root,
            generations=generations,
            keys=tuple(one.key for one, _, _ in found),
            answer=entry.answer,
            body=body,
            semantic=next((semantic for _, _, semantic in found if semantic is not None), None),
            stale_ms=stale_ms,
            outline=outline,
        )

    def _entry(self, row: bytes) -> tuple[Entry, int, SemanticRow | None] | None:
        """Return the entry at `row`, how long it may be served stale, and its vector; None: not sound."""
        record = decode_record(EntryRecord, row, self._txn.get(row, db=self._databases.entries))
        if record is None:
            return None
        key = key_of(row, record)
        entry = entry_of(key, record)
        semantic = None
        if key.partition:
            place = vector_row(key.partition, record.sequence)
            value = self._txn.get(place, db=self._databases.vectors)
            vector = None if value is None else decode_vector(place, value, self._keys)
            if vector is None or vector.entry_id != key.entry_id:
                return None
            semantic = vector.row
        return None if entry is None else (entry, record.stale_ms, semantic)

    def _scope(self, scope_key: bytes) -> Generations:
        """Return the generations in a scope key; none where its row was lost and not mended yet."""
        value = self._txn.get(scope_key, db=self._databases.scopes)
        record = decode_record(ScopeRecord, scope_key, value)
        if record is None:
            return Generations((), ())
        return Generations(tuple(record.generation_names), tuple(record.generations))

    def _body(self, entry: Entry) -> Body | None:
        row = body_row(entry.scope_root, entry.store_id)
        value = self._txn.get(row, db=self._databases.bodies)
        head = None if value is None else decode_header(row, value)
        if value is None or head is None:
            return None
        self.told.encrypted = self.told.encrypted or bool(head.header.key_id)
        return decode_body(row, value, body_bytes=entry.body_bytes, keys=self._keys)
