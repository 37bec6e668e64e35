"""Opening a store: the folder, then a canary through the real path."""

from __future__ import annotations

import secrets
import struct
from typing import Final

from askonce_server.core.entries import Answer, Body, EntryKey, Generations, SemanticRow, Write
from askonce_server.core.reasons import Matcher
from askonce_server.ports import StoreUnavailable
from askonce_server.store.commits import Commit, commit_transaction
from askonce_server.store.environment import StoreSettings, open_environment, open_existing
from askonce_server.store.layout import ID_BYTES
from askonce_server.store.lmdb import LmdbEntryStore
from askonce_server.store.verification import Finding

_CANARY_SECONDS: Final = 10.0


def open_store(
    settings: StoreSettings, *, exclusive: bool = True, commit: Commit = commit_transaction
) -> LmdbEntryStore:
    """Open the store at `settings.path`, made on first use, and try it with a canary.

    `exclusive` refuses a second instance; workers of one instance open without. `commit` is how transactions
    are committed, a seam for tests. Raises StoreUnavailable with the mend when the folder cannot be written,
    the disk is full, the file is damaged or of a newer version, another instance holds it, it is encrypted
    and no key is given, or the canary fails; nothing is left open then.
    """
    opened = open_environment(settings, exclusive=exclusive)
    store = LmdbEntryStore(opened, settings, commit=commit)
    try:
        store.settle_encryption()
        _test(store, settings)
        opened.newest.id()  # now that there was a commit it can be told where that stands
    except StoreUnavailable:
        store.close()
        raise
    return store


def verify(settings: StoreSettings, *, repair: bool) -> list[Finding]:
    """Return every row of the store at `settings.path` that does not agree with the others.

    With `repair` those that can be were mended. Raises StoreUnavailable, also when somebody has the store
    open.
    """
    opened = open_existing(settings)
    store = LmdbEntryStore(opened, settings)
    try:
        return store.verify(repair=repair)
    finally:
        store.close()


def _test(store: LmdbEntryStore, settings: StoreSettings) -> None:
    try:
        _try_canary(store)
    except StoreUnavailable as fault:
        raise StoreUnavailable(f"the store at {settings.path} failed its self-test: {fault}") from fault


def _try_canary(store: LmdbEntryStore) -> None:
    """Write, read and remove an entry, also in a store that is full. Raises StoreUnavailable."""
    canary = _canary()
    store.put_regardless(canary, timeout=_CANARY_SECONDS)
    key = canary.keys[0]
    with store.read() as view:
        entry = view.entry(key)
        body = None if entry is None else view.body(entry)
        (vector,) = view.stored_vectors(key.partition, [view.partition(key.partition).sequence])
    if entry is None or entry.answer != canary.answer or body != canary.body:
        raise StoreUnavailable("what was written was not found again")
    if vector is None or vector.row != canary.semantic:
        raise StoreUnavailable("a vector that was written was not found again")
    store.remove(canary.keys)
    with store.read() as view:
        if view.entry(key) or view.body(entry) or view.partition(key.partition).rows:
            raise StoreUnavailable("what was removed was still found")


def _canary() -> Write:
    """Return an entry under a scope of its own that has expired long ago, should it ever be left behind."""
    key = EntryKey(
        matcher=Matcher.SEMANTIC,
        scope_key=secrets.token_bytes(ID_BYTES),
        fingerprint=secrets.token_bytes(ID_BYTES),
        entry_id=secrets.token_bytes(ID_BYTES),
        partition=secrets.token_bytes(ID_BYTES),
    )
    return Write(
        scope_root=secrets.token_bytes(ID_BYTES),
        generations=Generations((), ()),
        keys=(key,),
        answer=Answer(rule_id="canary", start_ms=0, store_ms=0, expire_ms=1, stream=False),
        body=Body(secrets.token_bytes(4096), "application/octet-stream"),
        semantic=SemanticRow(struct.pack("<2f", 0.6, 0.8), secrets.token_bytes(ID_BYTES)),
    )
