"""What tells two requests apart, segment by segment, and for which matchers it matters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from typing import NamedTuple

from askonce_server.core.causes import unmet
from askonce_server.core.decision import Request
from askonce_server.core.descriptor import Content, Digests, Target
from askonce_server.core.differences import differences, excerpt, member
from askonce_server.core.material import bare_text, context, material, normalized, semantic_context
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Identity, KeyPolicy, Rule

_DETERMINISTIC = (Matcher.EXACT, Matcher.NORMALIZED)
_POLICY_FIELDS: Mapping[str, tuple[str, tuple[Matcher, ...]]] = {
    "identity": ("key.identity", tuple(Matcher)),
    "stream_shared": ("key.stream", tuple(Matcher)),
    "params_class": ("key.params", tuple(Matcher)),
    "ignore_params": ("key.ignore_params", tuple(Matcher)),
    "normalized_guard": ("normalized.guard", (Matcher.NORMALIZED,)),
    "case_fold": ("normalized.case_fold", (Matcher.NORMALIZED,)),
    "history_max_messages": ("semantic.history_max_messages", (Matcher.SEMANTIC,)),
    "history_overflow": ("semantic.history_overflow", (Matcher.SEMANTIC,)),
}
"""Where the settings of a key policy stand in a rule, and whose keys they are part of."""


class Difference(NamedTuple):
    """One thing that tells two requests apart."""

    segment: str
    path: str
    description: str
    matchers: tuple[Matcher, ...] = ()
    """Whose keys it is part of; none: of no key."""


@dataclass(frozen=True, slots=True)
class Subject:
    """A request under its rule."""

    request: Request
    rule: Rule | None
    parts: Parts | None
    """None for digests, and where the content has no canonical form."""

    @property
    def policy(self) -> KeyPolicy:
        """What the rule lets into the key."""
        return self.rule.key if self.rule is not None else KeyPolicy()

    @property
    def upstream(self) -> Target:
        """The target that the key names."""
        descriptor = self.request.descriptor
        return descriptor.requested if self.policy.identity is Identity.TARGET else descriptor.served

    @property
    def shape(self) -> str:
        """The stream segment."""
        return "" if self.policy.stream_shared else "stream" if self.request.stream else "json"


def compare(first: Subject, second: Subject) -> Iterator[Difference]:
    """Yield what tells the two apart, what is part of a key first. Raises Unrepresentable.

    No value of a scope or a header is told; of other members short pieces are.
    """
    pair = _Pair(first, second)
    found = [
        *pair.rules(),
        *pair.scopes(),
        *pair.policies(),
        *pair.targets(),
        *pair.maps(),
        *pair.contents(),
        *pair.beside(),
    ]
    yield from sorted(found, key=lambda one: not one.matchers)


class _Pair:
    """Two requests side by side."""

    def __init__(self, first: Subject, second: Subject) -> None:
        self._first, self._second = first, second
        self._mine, self._others = first.request.descriptor, second.request.descriptor
        strategies = [one.rule.strategy for one in (first, second) if one.rule is not None]
        self._shared = tuple(
            matcher for matcher in Matcher if strategies and all(matcher in each for each in strategies)
        )

    def rules(self) -> Iterator[Difference]:
        first, second = self._first.rule, self._second.rule
        names = [rule.id if rule is not None else "none" for rule in (first, second)]
        if names[0] == names[1]:
            return
        why = ""
        for number, rule, other in (("second", first, self._second), ("first", second, self._first)):
            missed = (
                unmet(rule.match, other.request.descriptor, stream=other.request.stream)
                if rule is not None
                else []
            )
            if missed:
                why += f"; the {number} does not meet {', '.join(missed)} of {rule.id if rule else ''}"
        yield Difference("rule", "", f"{names[0]} ↔ {names[1]}{why}")

    def scopes(self) -> Iterator[Difference]:
        dims = [one.rule.scope if one.rule is not None else () for one in (self._first, self._second)]
        if dims[0] != dims[1]:
            said = " ↔ ".join(", ".join(names) or "none" for names in dims)
            yield Difference("scope", "", f"the dims are {said}", self._shared)
        mine, others = self._mine.scope, self._others.scope
        for name in dict.fromkeys([*dims[0], *dims[1], *mine, *others]):
            if mine.get(name, "") != others.get(name, ""):
                keyed = name in dims[0] or name in dims[1]
                yield Difference(
                    "scope", member("", name), _presence(mine, others, name), self._shared if keyed else ()
                )
        spaces = [one.request.controls.namespace for one in (self._first, self._second)]
        if spaces[0] != spaces[1]:
            said = "the names differ" if all(spaces) else _there(bool(spaces[0]), bool(spaces[1]))
            yield Difference("namespace", "", said, self._shared)

    def policies(self) -> Iterator[Difference]:
        if self._first.rule is None or self._second.rule is None:
            return
        mine, others = self._first.policy, self._second.policy
        for field in fields(KeyPolicy):
            if field.name not in _POLICY_FIELDS or getattr(mine, field.name) == getattr(others, field.name):
                continue
            path, matchers = _POLICY_FIELDS[field.name]
            said = f"{_setting(getattr(mine, field.name))} ↔ {_setting(getattr(others, field.name))}"
            yield Difference("key_policy", path, said, tuple(m for m in self._shared if m in matchers))
        names = [one.rule.semantic.embedder for one in (self._first, self._second) if one.rule.semantic]  # type: ignore[union-attr]
        if len(set(names)) > 1:
            near = tuple(m for m in self._shared if m is Matcher.SEMANTIC)
            yield Difference("embedder", "", f"{names[0]} ↔ {names[1]}", near)

    def targets(self) -> Iterator[Difference]:
        upstream, other = self._first.upstream, self._second.upstream
        for segment, mine, others in (
            ("dialect", self._mine.dialect, self._others.dialect),
            ("endpoint", self._mine.endpoint, self._others.endpoint),
            ("provider", upstream.provider, other.provider),
            ("model", upstream.model, other.model),
        ):
            if mine != others:
                yield Difference(segment, "", _values(mine, others), self._shared)
        if (
            self._first.request.stream != self._second.request.stream
            or self._first.shape != self._second.shape
        ):
            said = " ↔ ".join(
                "stream" if one.request.stream else "json" for one in (self._first, self._second)
            )
            keyed = self._first.shape != self._second.shape
            yield Difference("stream", "", said, self._shared if keyed else ())

    def maps(self) -> Iterator[Difference]:
        """Compare what the descriptor's own fields bring into the material."""
        for segment in ("headers", "versions", "route"):
            mine, others = (
                context(one.request.descriptor, one.policy).get(segment, {})
                for one in (self._first, self._second)
            )
            assert isinstance(mine, dict)
            assert isinstance(others, dict)
            for name in dict.fromkeys([*mine, *others]):
                if mine.get(name) != others.get(name):
                    shown = segment != "headers" and name in mine and name in others
                    said = (
                        _values(str(mine[name]), str(others[name]))
                        if shown
                        else _presence(mine, others, name)
                    )
                    yield Difference(segment, member("", name), said, self._shared)

    def contents(self) -> Iterator[Difference]:
        first, second = self._mine.content, self._others.content
        if isinstance(first, Digests) or isinstance(second, Digests):
            yield from self._digests(first, second)
        elif self._first.parts is not None and self._second.parts is not None:
            yield from self._trees()

    def _digests(
        self, first: Content | bytes | Digests, second: Content | bytes | Digests
    ) -> Iterator[Difference]:
        both = tuple(matcher for matcher in self._shared if matcher in _DETERMINISTIC)
        if not isinstance(first, Digests) or not isinstance(second, Digests):
            kinds = ["digests" if isinstance(one, Digests) else "content" for one in (first, second)]
            yield Difference("material", "", f"{kinds[0]} ↔ {kinds[1]}, which have keys of their own", both)
            return
        for name, matchers in (
            ("exact_sha256", (Matcher.EXACT,)),
            ("normalized_sha256", (Matcher.NORMALIZED,)),
            ("canonicalization", both),
            ("canonicalization_version", both),
        ):
            if getattr(first, name) != getattr(second, name):
                keyed = tuple(matcher for matcher in both if matcher in matchers)
                yield Difference("material", f"digests.{name}", "differs", keyed)

    def _trees(self) -> Iterator[Difference]:
        """Compare the content as it came and as each matcher keys it: what vanishes matters to none."""
        found: dict[str, str] = {}
        matchers: dict[str, list[Matcher]] = {}
        for matcher in (None, *self._shared):
            for one in differences(_tree(self._first, matcher), _tree(self._second, matcher)):
                found.setdefault(one.path, one.description)
                if matcher is not None and not one.equal:
                    matchers.setdefault(one.path, []).append(matcher)
        for path, description in found.items():
            yield Difference("material", path, description, tuple(matchers.get(path, ())))

    def beside(self) -> Iterator[Difference]:
        """Compare what is part of no key, and may decide all the same."""
        for field, unkeyed in (("served", Identity.TARGET), ("requested", Identity.SERVED)):
            mine, others = getattr(self._mine, field), getattr(self._others, field)
            if mine != others and self._first.policy.identity is self._second.policy.identity is unkeyed:
                pair = [f"{one.provider}/{one.model}" for one in (mine, others)]
                yield Difference(field, "", _values(*pair))
        if self._first.policy.identity is self._second.policy.identity is Identity.SERVED:
            for path in ("route_id", "route_version", "rule_branch"):
                mine, others = getattr(self._mine, path), getattr(self._others, path)
                if mine != others:
                    yield Difference("route", path, _values(mine, others))
        yield from self._wishes()

    def _wishes(self) -> Iterator[Difference]:
        attributes, theirs = self._mine.attributes, self._others.attributes
        for name in dict.fromkeys([*attributes, *theirs]):
            if attributes.get(name) != theirs.get(name):
                yield Difference("attributes", member("", name), _presence(attributes, theirs, name))
        if self._mine.personalized != self._others.personalized:
            yield Difference("personalized", "", _there(self._mine.personalized, self._others.personalized))
        if self._mine.embedding != self._others.embedding:
            yield Difference("embedding", "", "the vectors differ")
        controls, other = self._first.request.controls, self._second.request.controls
        for each in fields(controls):
            mine, others = getattr(controls, each.name), getattr(other, each.name)
            if mine != others and each.name != "namespace":
                yield Difference("controls", each.name, f"{_setting(mine)} ↔ {_setting(others)}")


def _tree(subject: Subject, matcher: Matcher | None) -> JsonValue:
    """Return the content as `matcher` keys it; None: as it came."""
    parts, descriptor = subject.parts, subject.request.descriptor
    assert parts is not None
    if matcher is None:
        whole = {"messages": parts.messages, "system": parts.system, "tools": parts.tools}
        sent: dict[str, JsonValue] = {name: value for name, value in whole.items() if value is not None}
        sent["params"] = parts.params
        return sent
    policy = subject.policy
    tree = material(parts, descriptor, policy)
    if matcher is Matcher.NORMALIZED:
        tree = normalized(tree, bare_text=bare_text(descriptor), case_fold=policy.case_fold)
    elif matcher is Matcher.SEMANTIC:
        tree = semantic_context(tree, history_max_messages=policy.history_max_messages)
    content: dict[str, JsonValue] = {
        name: tree[name] for name in ("messages", "system", "tools") if name in tree
    }
    content["params"] = tree.get("params", {})
    return content


def _values(mine: str, others: str) -> str:
    return f"{excerpt(mine) if mine else 'absent'} ↔ {excerpt(others) if others else 'absent'}"


def _presence(mine: Mapping[str, object], others: Mapping[str, object], name: str) -> str:
    return (
        "the values differ" if mine.get(name) and others.get(name) else _there(name in mine, name in others)
    )


def _there(mine: bool, others: bool) -> str:  # noqa: FBT001 - a pair
    return f"{'present' if mine else 'absent'} ↔ {'present' if others else 'absent'}"


def _setting(value: object) -> str:
    if value is None:
        return "unsaid"
    if isinstance(value, tuple):
        return ", ".join(map(str, value)) or "none"
    return getattr(value, "name", str(value)).lower()
