"""Writes before they are filed: checked and hashed in the caller's thread, since there is one writer."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from askonce_server.core.entries import EntryKey, Write
from askonce_server.core.reasons import Matcher
from askonce_server.store.layout import GENERATION_BYTES, ID_BYTES, entry_row
from askonce_server.store.vectors import check_vector


@dataclass(frozen=True, slots=True)
class Prepared:
    """A write that is ready to be filed: checked, hashed, without repeated keys."""

    write: Write
    keys: tuple[EntryKey, ...]
    content_sha256: bytes
    """Of the body; empty where it will be encrypted."""


def prepare(write: Write, *, encrypted: bool = False) -> Prepared:
    """Check and hash `write`, in the caller's thread. Raises ValueError when it cannot be filed.

    What will be `encrypted` needs no hash.
    """
    keys = tuple({entry_row(key): key for key in write.keys}.values())
    if not keys:
        raise ValueError("a write needs at least one key")
    ids = [write.scope_root, *write.generations.names]
    for key in keys:
        ids += (key.scope_key, key.entry_id, key.fingerprint, key.prefix)
        if (key.matcher is Matcher.SEMANTIC) is not bool(key.partition):
            raise ValueError("semantic keys have a partition, and no others")
    if any(len(value) != ID_BYTES for value in ids):
        raise ValueError(f"ids and names are {ID_BYTES} bytes")
    if any(len(value) != GENERATION_BYTES for value in write.generations.values):
        raise ValueError(f"generations are {GENERATION_BYTES} bytes")
    if len(write.generations.names) != len(write.generations.values):
        raise ValueError("every generation has a name and a value")
    if any(key.partition for key in keys):
        if write.semantic is None:
            raise ValueError("a semantic key needs a vector")
        check_vector(write.semantic)
    return Prepared(write, keys, b"" if encrypted else hashlib.sha256(write.body.data).digest())
