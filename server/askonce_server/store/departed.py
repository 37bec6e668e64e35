"""A bounded memory of what is not in the store any more, or never came to be, and why.

It is for whoever explains a miss, and may forget at any time. 32768 slots of 16 bytes, in memory that the
processes of a store share through a file: a digest of the request under the store's own key, a time and a
cause. A slot is written in one piece and nobody takes a lock; of eight slots that a digest may have the
oldest is given up.
"""

from __future__ import annotations

import logging
import mmap
from hashlib import blake2b
from pathlib import Path
from typing import Final

from askonce_server.core.entries import EntryKey
from askonce_server.core.fates import Fate, Gone
from askonce_server.core.reasons import Matcher, RefusalReason
from askonce_server.store.mapped import mapped

FILE: Final = "departed"
_SLOT: Final = 16
_DIGEST: Final = 8
_TIME: Final = 6
_WAYS: Final = 8
_BUCKETS: Final = 4096
SIZE: Final = _SLOT * _WAYS * _BUCKETS
_EMPTY: Final = bytes(_DIGEST)
_FATES: Final = frozenset(Fate)
_REFUSALS: Final = frozenset(RefusalReason)
_log = logging.getLogger(__name__)


def identity(key: EntryKey, scope_root: bytes) -> bytes:
    """Return what an entry is remembered by.

    Of a deterministic matcher it is the request in its scope, which outlives a purge, where the scope key
    does not; of a semantic entry its id, since what is not embedded is known by its partition alone.
    """
    return identity_of(key.matcher, scope_root=scope_root, fingerprint=key.fingerprint, entry_id=key.entry_id)


def identity_of(matcher: int, *, scope_root: bytes, fingerprint: bytes, entry_id: bytes) -> bytes:
    """Return the same from the parts of a key."""
    kind = bytes((matcher,))
    return kind + entry_id if matcher == Matcher.SEMANTIC else kind + scope_root + fingerprint


class Departed:
    """What became of entries, by their identity."""

    __slots__ = ("_key", "_slots")

    def __init__(self, slots: bytearray | mmap.mmap | None = None) -> None:
        self._slots = bytearray(SIZE) if slots is None else slots
        self._key = b""

    @classmethod
    def shared(cls, folder: Path) -> Departed:
        """Share the memory of the store in `folder`; where that cannot be, it is the process's own."""
        try:
            return cls(mapped(folder / FILE, SIZE))
        except OSError as fault:
            _log.warning("what left the store at %s is not remembered between processes: %s", folder, fault)
            return cls()

    def follow(self, key: bytes) -> None:
        """Take the store's key, 16 to 64 bytes. Nothing is remembered without one."""
        self._key = key

    def close(self) -> None:
        """Let go of the file; what is noted from now on is nobody's."""
        slots, self._slots = self._slots, bytearray(SIZE)
        if isinstance(slots, mmap.mmap):
            slots.close()

    def note(self, what: bytes, gone: Gone) -> None:
        """Remember why `what`, an identity, is not there."""
        if not self._key:
            return
        digest = self._digest(what)
        start, block = self._bucket(digest)
        told = bytes((gone.fate, gone.refusal or 0))
        slot = _place(block, digest)
        self._slots[start + slot : start + slot + _SLOT] = (
            digest + max(gone.at_ms, 0).to_bytes(_TIME, "big") + told
        )

    def find(self, what: bytes) -> Gone | None:
        """Return why `what` is not there, or None where that is not remembered."""
        if not self._key:
            return None
        digest = self._digest(what)
        _, block = self._bucket(digest)
        for slot in range(0, len(block), _SLOT):
            if block[slot : slot + _DIGEST] == digest:
                return _read(block[slot + _DIGEST : slot + _SLOT])
        return None

    def _digest(self, what: bytes) -> bytes:
        return blake2b(what, key=self._key, digest_size=_DIGEST, person=b"departed").digest()

    def _bucket(self, digest: bytes) -> tuple[int, bytes]:
        start = int.from_bytes(digest, "big") % _BUCKETS * _SLOT * _WAYS
        return start, bytes(self._slots[start : start + _SLOT * _WAYS])


def _place(block: bytes, digest: bytes) -> int:
    """Return the slot that `digest` has, else one that is free, else the oldest."""
    slots = range(0, len(block), _SLOT)
    known = {block[slot : slot + _DIGEST]: slot for slot in slots}
    for wanted in (digest, _EMPTY):
        if wanted in known:
            return known[wanted]
    return min(slots, key=lambda slot: block[slot + _DIGEST : slot + _DIGEST + _TIME])


def _read(told: bytes) -> Gone | None:
    """Return what a slot tells; None where it was written by a later version, or is damaged."""
    fate, refusal = told[_TIME], told[_TIME + 1]
    if fate not in _FATES or (refusal and refusal not in _REFUSALS):
        return None
    return Gone(Fate(fate), int.from_bytes(told[:_TIME], "big"), RefusalReason(refusal) if refusal else None)
