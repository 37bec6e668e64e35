"""Comparing what two texts name of lines of alternatives."""

from __future__ import annotations

from collections.abc import Iterator

from askonce_server.core.guards.features import Tokens


def differ(asked: Tokens, stored: Tokens) -> bool:
    """Whether of some line each names a side that the other does not."""
    return bool(asked and stored) and any(True for _ in clashes(asked, stored))


def clashes(asked: Tokens, stored: Tokens) -> Iterator[tuple[int, int]]:
    """Yield the pairs of mentions of one line, each of one text alone."""
    mine, theirs = set(asked).difference(stored), set(stored).difference(asked)
    if not mine or not theirs:
        return
    lines: dict[int, list[int]] = {}
    for other in theirs:
        lines.setdefault(other >> 32, []).append(other)
    for one in mine:
        for other in lines.get(one >> 32, ()):
            yield one, other
