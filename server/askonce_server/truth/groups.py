"""Which stored answers are one: the groups whose shares of the evidence are counted.

A fresh answer joins the group of the nearest entry that has the same one. Groups never merge by that: one
wrong "same" would make two answers one for good. They merge on a judge's or a person's word, and the union is
kept as such, since entries go on naming the group that they were stored under.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from enum import IntEnum
from typing import NamedTuple

from askonce_server.truth.verdict import Verdict

COMPARED = 5
"""How many of the nearest entries a fresh answer is compared with."""


class Word(IntEnum):
    """On whose word two groups are one."""

    JUDGE = 1
    PERSON = 2


class Joined(NamedTuple):
    """Where a fresh answer belongs."""

    group: bytes
    new: bool
    """Whether nobody had the same answer."""
    also: tuple[bytes, ...] = ()
    """Other groups that had the same answer: a judge or a person may say that they are one."""


def join(nearest: Sequence[bytes], compare: Callable[[int], Verdict], *, new: bytes) -> Joined:
    """Return the group of a fresh answer.

    `nearest` are the groups of the nearest entries, best first; `compare` says of the entry at an index
    whether its answer is the same, and is asked of `COMPARED` entries at most. An entry without a group, one
    that was stored before there were any, cannot be joined.
    """
    same = [
        group
        for at, group in enumerate(nearest[:COMPARED])
        if compare(at) is Verdict.SAME and group  # what is asked first is also the label
    ]
    if not same:
        return Joined(new, new=True)
    others = tuple(dict.fromkeys(group for group in same if group != same[0]))
    return Joined(same[0], new=False, also=others)


class Union(NamedTuple):
    """Two groups that somebody called one."""

    group: bytes
    into: bytes
    word: Word


class Unions:
    """Groups that are one on somebody's word. Bounded by the number of recorded unions."""

    def __init__(self, recorded: Sequence[Union] = ()) -> None:
        """Begin with the unions in the order in which they were recorded."""
        self._into: dict[bytes, bytes] = {}
        self._recorded: list[Union] = []
        for union in recorded:
            self.merge(union.group, union.into, union.word)

    def __iter__(self) -> Iterator[Union]:
        """Yield what is to be kept, in order."""
        return iter(self._recorded)

    def resolve(self, group: bytes) -> bytes:
        """Return the group that `group` is one with."""
        while (into := self._into.get(group)) is not None:
            group = into
        return group

    def merge(self, group: bytes, into: bytes, word: Word) -> Union | None:
        """Take two groups for one; return what is to be recorded, None where they are one already."""
        group, into = self.resolve(group), self.resolve(into)
        if group == into or not group or not into:
            return None
        self._into[group] = into
        union = Union(group, into, word)
        self._recorded.append(union)
        return union

    def forget(self, which: Callable[[bytes], bool]) -> None:
        """Forget groups whose entries were purged;."""
        kept = [one for one in self._recorded if not (which(one.group) or which(one.into))]
        self._into = {one.group: one.into for one in kept}
        self._recorded = kept
