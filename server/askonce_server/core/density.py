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

_SMALL = 64 << 10
"""No documents that are together up to this size make much work; most requests are smaller."""

_MAX_QUOTES = 2 * (MAX_NODES + MAX_VALUES)
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
    """What the documents of one message may make together, however small each of them is."""

    def __init__(self) -> None:
        self._bytes = _SMALL
        self._nodes = MAX_BATCH_NODES
        self._values = MAX_BATCH_VALUES

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


def _count(raw: bytes) -> tuple[int, int]:
    """Return how many nodes and values `raw` has, up to the first break of its syntax."""
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > _MAX_QUOTES:
        return _MAX_QUOTES, _MAX_QUOTES
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    # a boolean is one node, for the `e` that is in both
    return len(outside_strings.translate(None, _NOT_NODES)), outside_strings.count(b",")
