"""A keyed hash for guard tests, and both directions of a comparison."""

from __future__ import annotations

import hashlib
from dataclasses import fields

from askonce_server.core.guards import GuardFeatures, GuardSettings, all_hits, features

KEY = b"a key of the store's own"


def token(string: str) -> int:
    return int.from_bytes(hashlib.blake2b(string.encode(), key=KEY, digest_size=8).digest(), "big")


def fired(one: str, other: str, settings: GuardSettings | None = None) -> list[str]:
    """The guards that tell two texts apart; fails if it matters which one is asked."""
    left, right = features(one, token), features(other, token)
    forth = [hit.name for hit in all_hits(left, right, settings or GuardSettings())]
    back = [hit.name for hit in all_hits(right, left, settings or GuardSettings())]
    assert forth == back, f"{one!r} and {other!r}: {forth} forth, {back} back"
    return forth


def only(**on: bool) -> GuardSettings:
    """Settings with no guard on but these."""
    off = {one.name: False for one in fields(GuardSettings) if one.name != "min_overlap"}
    return GuardSettings(**{**off, **on})


def all_ints(kept: GuardFeatures) -> list[object]:
    """Every single value in features."""
    flat: list[object] = []
    rows: list[object] = list(kept)
    while rows:
        row = rows.pop()
        if isinstance(row, tuple):
            rows.extend(row)
        else:
            flat.append(row)
    return flat
