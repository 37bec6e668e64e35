"""Which stored answers agree with a request most, and what tells them apart, by outlines alone."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from askonce_server.core.differences import member
from askonce_server.core.guards import Token
from askonce_server.core.outline import Part, Unlike, names, read, unlike
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Rule
from askonce_server.core.segments import Difference, Subject
from askonce_server.ports import Kept

_MOST = 3
_SEGMENTS: Mapping[Part, tuple[str, str]] = {
    Part.DIALECT: ("dialect", ""),
    Part.ENDPOINT: ("endpoint", ""),
    Part.PROVIDER: ("provider", ""),
    Part.MODEL: ("model", ""),
    Part.STREAM: ("stream", ""),
    Part.SYSTEM: ("material", "system"),
    Part.TOOLS: ("material", "tools"),
    Part.EARLIER: ("material", "messages"),
    Part.LAST: ("material", "messages"),
    Part.PARAM: ("material", "params"),
    Part.HEADER: ("headers", ""),
    Part.VERSION: ("versions", ""),
    Part.ROUTE: ("route", ""),
    Part.FURTHER: ("material", "params"),
    Part.EXACT_POLICY: ("key_policy", ""),
    Part.NORMALIZED_POLICY: ("key_policy", ""),
    Part.SEMANTIC_POLICY: ("key_policy", ""),
    Part.EMBEDDER: ("embedder", ""),
    Part.DIGESTS: ("material", "digests"),
}
"""The segment of each part, and the path inside it."""
_MATCHERS: Mapping[Part, tuple[Matcher, ...]] = {
    Part.LAST: (Matcher.EXACT, Matcher.NORMALIZED),
    Part.DIGESTS: (Matcher.EXACT, Matcher.NORMALIZED),
    Part.EXACT_POLICY: (Matcher.EXACT,),
    Part.NORMALIZED_POLICY: (Matcher.NORMALIZED,),
    Part.SEMANTIC_POLICY: (Matcher.SEMANTIC,),
    Part.EMBEDDER: (Matcher.SEMANTIC,),
}
"""Whose keys a part is in, where it is not in all: the last turn is what the semantic matcher embeds."""


@dataclass(frozen=True, slots=True)
class NearAnswer:
    """A stored answer beside the request."""

    kept: Kept
    compared: bool
    """Whether its outline is known."""
    agreeing: int
    """How many parts agree."""
    differences: tuple[Difference, ...]


class Nearest:
    """Compares stored answers with one request, whose outline is `mine`."""

    def __init__(self, subject: Subject, rule: Rule, mine: bytes, token: Token) -> None:
        self._subject = subject
        self._rule = rule
        self._token = token
        self._mine = read(mine, token)
        self._known = names(_own_names(subject), token)

    def of(self, kept: Iterable[tuple[Kept, Sequence[Difference]]]) -> tuple[NearAnswer, ...]:
        """Return those that agree most, best first, the newest of equals.

        Each is given with what tells it apart besides.
        """
        found = [self._compared(one, more) for one, more in kept]
        return tuple(sorted(found, key=lambda one: (not one.compared, len(one.differences)))[:_MOST])

    def same(self, kept: Kept) -> bool:
        """Whether an answer was stored for the same request, whatever embedded it."""
        theirs = read(kept.outline, self._token)
        if not theirs:
            return False
        return all(one.part is Part.EMBEDDER for one in unlike(self._mine, theirs, self._known))

    def _compared(self, kept: Kept, more: Sequence[Difference]) -> NearAnswer:
        theirs = read(kept.outline, self._token)
        apart = unlike(self._mine, theirs, self._known) if theirs else []
        agreeing = sum(self._mine.get(place) == digest for place, digest in theirs.items())
        differences = (*more, *self._differences(apart))
        return NearAnswer(kept, bool(theirs), agreeing, differences)

    def _differences(self, apart: Iterable[Unlike]) -> Iterator[Difference]:
        for one in apart:
            segment, path = _SEGMENTS[one.part]
            matchers = _MATCHERS.get(one.part, tuple(Matcher))
            told = tuple(matcher for matcher in self._rule.strategy if matcher in matchers)
            yield Difference(segment, self._path(one, path), _said(one), told)

    def _path(self, one: Unlike, path: str) -> str:
        messages = self._subject.parts.messages if self._subject.parts is not None else None
        if one.part is Part.LAST and isinstance(messages, list):
            return f"messages[{len(messages) - 1}]"
        return member(path, one.name) if one.name else path


def _said(one: Unlike) -> str:
    if one.part is Part.EARLIER and one.mine and one.kept:
        return "an earlier turn differs"
    if one.part is Part.LAST and one.mine and one.kept:
        return "the last turn differs"
    if one.part in _POLICY_PARTS:
        return f"was stored under other key settings for {_MATCHERS[one.part][0].name.lower()}"
    if one.mine and one.kept:
        return "differs"
    if one.part is Part.EARLIER:
        return f"{'this' if one.mine else 'the stored'} request alone has earlier turns"
    named = "" if one.name or one.part not in _NAMED_PARTS else ", of a name that this one lacks"
    return "the stored request has none" if one.mine else f"the stored request alone has one{named}"


_POLICY_PARTS = frozenset({Part.EXACT_POLICY, Part.NORMALIZED_POLICY, Part.SEMANTIC_POLICY})
_NAMED_PARTS = frozenset({Part.PARAM, Part.HEADER, Part.VERSION})


def _own_names(subject: Subject) -> Iterator[str]:
    descriptor = subject.request.descriptor
    yield from descriptor.headers
    yield from descriptor.versions
    if subject.parts is not None:
        yield from subject.parts.params
