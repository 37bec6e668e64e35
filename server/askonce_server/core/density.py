"""How much work a JSON document would make, counted without parsing it.

A parser builds a document in one go, and no other thread runs meanwhile: 8 MiB of `[0],[0],…` would stop
every caller for seconds. Only what stands outside strings makes such work, so long texts and images pass.
"""

from __future__ import annotations

from collections.abc import Iterable

from askonce_server.core.errors import TooDense

MAX_NODES = 100_000
"""Arrays, objects, members, booleans, and numbers with a fraction or an exponent: about 1 µs each, some 2."""

MAX_VALUES = 500_000
"""Members of objects and items of arrays, whatever they are: about 0.1 µs each."""

MAX_BATCH_NODES = 250_000
"""The same over all documents of one message: 256 requests with 20 tools each have about as many."""

MAX_BATCH_VALUES = 1_000_000

MAX_ANSWER_OPENINGS = 400_000
"""Arrays and objects in all answers of one message: up to 1.7 µs each, 0.7 s in all. A recorded stream of 8
MiB has 320,000, eight to a chunk of 200 bytes."""

_SMALL = 64 << 10
"""No documents that are together up to this size make much work; most requests are smaller."""

_MAX_QUOTES = 2 * (MAX_NODES + MAX_VALUES)
_MAX_ANSWER_QUOTES = 2_000_000
"""A recorded stream of 8 MiB has 1,600,000."""
_FEW_OPENINGS = 2_000
"""So many are not looked at more closely, wherever they stand."""
_NOT_OPENINGS = bytes(byte for byte in range(256) if byte not in b"[{")
_NOT_NODES = bytes(byte for byte in range(256) if byte not in b"[{:.eE")


def is_dense(raw: bytes) -> bool:
    """Whether `raw` has more than `MAX_NODES` or `MAX_VALUES`, for a document that is not small.

    Exact up to the first break of the syntax, where a parser stops.
    """
    if len(raw) <= _SMALL:
        return False
    nodes, values = _count(raw)
    return nodes > MAX_NODES or values > MAX_VALUES


class Allowance:
    """What the documents and answers of one message may make together, however small each of them is."""

    def __init__(self) -> None:
        self._bytes = _SMALL
        self._nodes = MAX_BATCH_NODES
        self._values = MAX_BATCH_VALUES
        self._openings = MAX_ANSWER_OPENINGS

    def take(self, documents: Iterable[bytes]) -> None:
        """Take what `documents` need. Raises TooDense, and takes nothing, when that is more than is left."""
        for raw in documents:
            if len(raw) <= self._bytes:
                self._bytes -= len(raw)
                continue
            nodes, values = _count(raw)
            if nodes > self._nodes or values > self._values:
                raise TooDense
            self._nodes -= nodes
            self._values -= values

    def take_answer(self, body: bytes) -> bool:
        """Take what looking into an answer needs; return False, and take nothing, when too little is left."""
        openings = body.count(b"[") + body.count(b"{")
        if openings > _FEW_OPENINGS:
            outside_strings = _outside_strings(body, max_quotes=_MAX_ANSWER_QUOTES)
            if outside_strings is None:
                return False
            openings = len(outside_strings.translate(None, _NOT_OPENINGS))
        if openings > self._openings:
            return False
        self._openings -= openings
        return True


def _count(raw: bytes) -> tuple[int, int]:
    """Return how many nodes and values `raw` has, up to the first break of its syntax."""
    outside_strings = _outside_strings(raw, max_quotes=_MAX_QUOTES)
    if outside_strings is None:
        return _MAX_QUOTES, _MAX_QUOTES
    # a boolean is one node, for the `e` that is in both
    return len(outside_strings.translate(None, _NOT_NODES)), outside_strings.count(b",")


def _outside_strings(raw: bytes, *, max_quotes: int) -> bytes | None:
    """Return what stands outside the strings of `raw`, or None where it has more than `max_quotes`."""
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    return None if unescaped.count(b'"') > max_quotes else b"".join(unescaped.split(b'"')[::2])
