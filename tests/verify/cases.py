"""Cases in the gray band, as vectors in the plane or with texts."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from askonce_server.core.entries import Answer, Entry, EntryKey, Neighbor, SemanticRow
from askonce_server.core.reasons import Matcher
from askonce_server.ports import Case

ROOT = bytes(32)


def at_angle(degrees: float) -> bytes:
    """The unit vector of an angle, as it is stored."""
    radians = math.radians(degrees)
    return np.array([math.cos(radians), math.sin(radians)], dtype="<f4").tobytes()


def entry(number: int, *, store_id: int | None = None, scope_root: bytes = ROOT) -> Entry:
    key = EntryKey(Matcher.SEMANTIC, bytes(32), bytes(32), number.to_bytes(32), partition=bytes(32))
    answer = Answer(rule_id="r", start_ms=0, store_ms=0, expire_ms=1, stream=False)
    return Entry(key, answer, scope_root, number if store_id is None else store_id, body_bytes=2)


def stored(
    number: int, degrees: float, *, text: str = "", store_id: int | None = None, scope_root: bytes = ROOT
) -> tuple[Entry, SemanticRow]:
    return entry(number, store_id=store_id, scope_root=scope_root), SemanticRow(at_angle(degrees), b"", text)


def near(vector: bytes, rows: Sequence[tuple[Entry, SemanticRow]], size: int) -> list[Neighbor]:
    """The nearest of `rows`, best first."""
    one = np.frombuffer(vector, dtype="<f4")
    found = [Neighbor(entry, row, float(one @ np.frombuffer(row.vector, "<f4"))) for entry, row in rows]
    return sorted(found, key=lambda neighbor: -neighbor.similarity)[:size]


def case(asked: float, rows: Sequence[tuple[Entry, SemanticRow]], candidate: int = 0) -> Case:
    """What is asked stands at an angle; the candidate is the row of that place."""
    found = near(at_angle(asked), rows, len(rows))
    chosen = next(one for one in found if one.entry == rows[candidate][0])
    return Case(
        text="asked",
        candidate=chosen,
        neighbors=found[:10],
        around=lambda vector, size: near(vector, rows, size),
    )


def of_texts(text: str, stored_text: str) -> Case:
    """A case for who reads the texts."""
    row = SemanticRow(at_angle(0), b"", stored_text)
    candidate = Neighbor(entry(1), row, 0.9)
    return Case(text=text, candidate=candidate, neighbors=[candidate], around=lambda vector, size: [])
