"""How much work a JSON document would make, counted without parsing it.

A parser builds a document in one go, and no other thread runs meanwhile: 8 MiB of `[0],[0],…` would stop
every caller for seconds. Only what stands outside strings makes such work, so long texts and images pass.
"""

from __future__ import annotations

MAX_NODES = 100_000
"""Arrays, objects, members, booleans, and numbers with a fraction or an exponent: about 1 µs each, some 2."""

MAX_VALUES = 500_000
"""Members of objects and items of arrays, whatever they are: about 0.1 µs each."""

_SMALL = 64 << 10
"""No document up to this size makes much work; most requests are smaller."""

_MAX_QUOTES = 2 * (MAX_NODES + MAX_VALUES)
_NOT_NODES = bytes(byte for byte in range(256) if byte not in b"[{:.eE")


def is_dense(raw: bytes) -> bool:
    """Whether `raw` has more than `MAX_NODES` or `MAX_VALUES`, for a document that is not small.

    Exact up to the first break of the syntax, where a parser stops.
    """
    if len(raw) <= _SMALL:
        return False
    unescaped = raw.replace(rb"\\", b"").replace(rb"\"", b"")
    if unescaped.count(b'"') > _MAX_QUOTES:
        return True
    outside_strings = b"".join(unescaped.split(b'"')[::2])
    # a boolean is one node, for the `e` that is in both
    nodes = len(outside_strings.translate(None, _NOT_NODES))
    return nodes > MAX_NODES or outside_strings.count(b",") > MAX_VALUES
