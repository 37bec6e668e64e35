"""Which member of a request a bypass is due to, named by its path."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from fnmatch import fnmatchcase
from typing import Any, NamedTuple

from askonce_server.core.canonical import encode, parse
from askonce_server.core.decision import Request
from askonce_server.core.descriptor import Content, Descriptor, Digests
from askonce_server.core.differences import member
from askonce_server.core.eligibility import content_size, why_not
from askonce_server.core.errors import NotJson, Unrepresentable
from askonce_server.core.material import keyed_params, material, unmodelled_param
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Match, Rule
from askonce_server.core.turns import prose, user_texts
from askonce_server.core.white_space import fold_prose

_MOST = 8
_FACTS = {
    BypassReason.STATEFUL_REQUEST: "stateful",
    BypassReason.REMOTE_CONTENT: "remote_content",
    BypassReason.SAMPLED_REQUEST: "sampling",
}


class Cause(NamedTuple):
    """One member, and what is the matter with it."""

    path: str
    description: str


def causes(reason: BypassReason, request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    """Return what `reason` is due to, a few members at most; nothing where no member is."""
    find = _FINDERS.get(reason)
    return [] if find is None else find(reason, request, rule, parts)[:_MOST]


def unmatched(rules: Sequence[Rule], descriptor: Descriptor, *, stream: bool | None) -> list[Cause]:
    """Return, for the first few rules, which of their conditions the request does not meet."""
    return [
        Cause(
            f"rules[{rule.id}]",
            "not met: " + ", ".join(unmet(rule.match, descriptor, stream=stream)),
        )
        for rule in rules[:_MOST]
    ]


def unmet(match: Match, descriptor: Descriptor, *, stream: bool | None) -> list[str]:
    """Return the conditions of `match` that `descriptor` does not meet; values of the scope are not told."""
    single = {
        "endpoint": (match.endpoint, descriptor.endpoint),
        "dialect": (match.dialect, descriptor.dialect),
        "provider": (match.provider, descriptor.served.provider),
        "model": (match.model, descriptor.served.model),
    }
    found = [
        f"match.{name} (it is {value!r})"
        for name, (patterns, value) in single.items()
        if patterns and not any(fnmatchcase(value, pattern) for pattern in patterns)
    ]
    if match.stream is not None and match.stream != stream:
        found.append("match.stream")
    for field, patterns, values in (
        ("attributes", match.attributes, descriptor.attributes),
        ("scope", match.scope, descriptor.scope),
    ):
        found += [f"match.{field}.{name}" for name in _unmet_names(patterns, values)]
    return found


def _unmet_names(patterns: Mapping[str, str], values: Mapping[str, str]) -> Iterator[str]:
    for name, pattern in patterns.items():
        if name not in values or not fnmatchcase(values[name], pattern):
            yield name


Find = Callable[[BypassReason, Request, Rule, Parts | None], list[Cause]]


def _missing_dims(_reason: BypassReason, request: Request, rule: Rule, _parts: Parts | None) -> list[Cause]:
    scope = request.descriptor.scope
    return [
        Cause(f"scope.{name}", "is empty" if name in scope else "is missing")
        for name in rule.scope
        if not scope.get(name)
    ]


def _personalized(_reason: BypassReason, request: Request, rule: Rule, _parts: Parts | None) -> list[Cause]:
    said = "personalized" if request.descriptor.personalized else "digests.facts.personalized"
    why = "the scope has no user" if "user" in rule.scope else "the rule's scope has no dim user"
    return [Cause(said, f"the answer depends on who asks, and {why}")]


def _mode(_reason: BypassReason, request: Request, _rule: Rule, _parts: Parts | None) -> list[Cause]:
    known = "asks for no cache" if request.known_mode else "is a mode that this version does not know"
    return [Cause("controls.mode", known)]


def _off(_reason: BypassReason, _request: Request, rule: Rule, _parts: Parts | None) -> list[Cause]:
    return [Cause(f"rules[{rule.id}].mode", "is off")]


def _too_large(_reason: BypassReason, request: Request, rule: Rule, _parts: Parts | None) -> list[Cause]:
    size, limit = content_size(request.descriptor), rule.eligibility.max_content
    return [Cause("content", f"has {size} bytes; eligibility.max_content allows {limit}")]


def _sampled(reason: BypassReason, request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    if parts is None:
        return _alone(reason, request, rule, parts)
    temperature = parts.params.get("temperature")
    said = "is absent" if temperature is None else f"is {str(temperature)[:20]}"
    return [Cause("params.temperature", f"{said}, and there is no seed: the answer is drawn by chance")]


def _unmodelled(_reason: BypassReason, request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    keyed = keyed_params(parts.params, request.descriptor, rule.key) if parts is not None else {}
    name = unmodelled_param(keyed)
    return [] if name is None else [Cause(member("params", name), "is not in the list of key.params: class")]


def _alone(reason: BypassReason, request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    """Find the members that alone would lead to the same reason."""
    if parts is None:
        return [Cause(f"digests.facts.{_FACTS[reason]}", "is true, or absent")] if reason in _FACTS else []
    descriptor = replace_free(request.descriptor)

    def holds(some: Parts) -> bool:
        return why_not(rule, descriptor, some) is reason

    return [
        Cause(path, _ALONE[reason])
        for start, some in _members(parts)
        if holds(some)
        for path in [_narrowed(start, some, holds)]
    ]


def replace_free(descriptor: Descriptor) -> Descriptor:
    """Return `descriptor` without what leads to other reasons first."""
    return replace(descriptor, personalized=False)


_ALONE = {
    BypassReason.STATEFUL_REQUEST: "the answer depends on what the provider keeps or fetches",
    BypassReason.REMOTE_CONTENT: "points to content elsewhere, which may change",
    BypassReason.TIME_SENSITIVE: "has a word of eligibility.time_sensitive",
}
_NONE = Parts(None, None, None, {}, None)


def _members(parts: Parts) -> Iterator[tuple[str, Parts]]:
    """Yield each param, turn and tool by itself, beside temperature 0: chance is not what is looked for."""
    calm: dict[str, JsonValue] = {"temperature": 0}
    for name, value in parts.params.items():
        yield member("params", name), replace(_NONE, params={**calm, name: value})
    for field in ("messages", "system", "tools"):
        value = getattr(parts, field)
        if isinstance(value, list):
            for at, item in enumerate(value):
                yield f"{field}[{at}]", _only(calm, field, [item])
        elif value is not None:
            yield field, _only(calm, field, value)


def _only(params: dict[str, JsonValue], field: str, value: JsonValue) -> Parts:
    some = replace(_NONE, params=params)
    setattr(some, field, value)
    return some


def _narrowed(path: str, some: Parts, holds: Callable[[Parts], bool]) -> str:
    """Return the path of the content part, and the member of it, that `holds` is about."""
    turn: Any = some.messages[0] if isinstance(some.messages, list) else None
    content = turn.get("content") if isinstance(turn, dict) else None
    if not isinstance(content, list):
        return path
    for at, part in enumerate(content):
        if not holds(replace(some, messages=[{**turn, "content": [part]}])):
            continue
        kind = {"type": part["type"]} if isinstance(part, dict) and "type" in part else {}
        for name in part if isinstance(part, dict) else ():
            piece = {**kind, name: part[name]}
            if name != "type" and holds(replace(some, messages=[{**turn, "content": [piece]}])):
                return member(f"{path}.content[{at}]", name)
        return f"{path}.content[{at}]"
    return path


def _unrepresentable(_reason: BypassReason, request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    content = request.descriptor.content
    if isinstance(content, Digests):
        return [Cause("digests", "the rule's key settings, or its matchers, need more than digests say")]
    documents = (
        {f"parts.{name}": getattr(content, name) for name in ("messages", "system", "tools", "params")}
        if isinstance(content, Content)
        else {"body_json": content}
    )
    found = [Cause(path, problem) for path, raw in documents.items() if (problem := _problem(raw))]
    if parts is not None and not found:
        tree = material(parts, request.descriptor, rule.key)
        found = [Cause(name, problem) for name, value in tree.items() if (problem := _unwritten(value))]
    return found or [Cause("descriptor", "has fields that this version does not know")]


def _problem(raw: bytes) -> str:
    try:
        parse(raw or b"0")
    except Unrepresentable as error:
        return str(error)
    except NotJson:
        return ""
    return ""


def _unwritten(value: JsonValue) -> str:
    try:
        encode(value)
    except Unrepresentable as error:
        return str(error)
    return ""


def _significant(_reason: BypassReason, _request: Request, _rule: Rule, parts: Parts | None) -> list[Cause]:
    assert parts is not None
    places = [("messages", parts.messages, None), ("system", None, parts.system)]
    if isinstance(parts.messages, list):
        turns = [(f"messages[{at}]", [turn], None) for at, turn in enumerate(parts.messages)]
        places = [*turns, places[1]]
    found = [
        Cause(path, "its white space may carry meaning: code, a list, a layout, or a word about it")
        for path, messages, system in places
        if any(fold_prose(text) is None for text in prose(messages, system, bare_text=True))
    ]
    return found or [
        Cause("messages", "white space stands where a text goes on: between parts, or at its end")
    ]


def _history(_reason: BypassReason, _request: Request, rule: Rule, parts: Parts | None) -> list[Cause]:
    turns = len(user_texts(parts.messages)) if parts is not None else 0
    most = rule.key.history_max_messages
    return [Cause("messages", f"has {turns} user turns; history_max_messages is {most}")]


def _no_text(_reason: BypassReason, request: Request, _rule: Rule, _parts: Parts | None) -> list[Cause]:
    if isinstance(request.descriptor.content, Digests):
        return [Cause("digests", "have no text to embed")]
    return [Cause("messages", "the last user turn has no text that can be embedded")]


def _no_vector(_reason: BypassReason, _request: Request, rule: Rule, _parts: Parts | None) -> list[Cause]:
    name = rule.semantic.embedder if rule.semantic is not None else ""
    return [Cause("descriptor.embedding", f"is missing, or of another embedder than {name!r}")]


_FINDERS: Mapping[BypassReason, Find] = {
    BypassReason.DISABLED: _off,
    BypassReason.CALLER_BYPASS: _mode,
    BypassReason.SCOPE_MISSING: _missing_dims,
    BypassReason.SAMPLED_REQUEST: _sampled,
    BypassReason.REMOTE_CONTENT: _alone,
    BypassReason.STATEFUL_REQUEST: _alone,
    BypassReason.UNMODELLED_PARAM: _unmodelled,
    BypassReason.UNREPRESENTABLE_CONTENT: _unrepresentable,
    BypassReason.PERSONALIZED: _personalized,
    BypassReason.TIME_SENSITIVE: _alone,
    BypassReason.TOO_LARGE: _too_large,
    BypassReason.WHITESPACE_SIGNIFICANT: _significant,
    BypassReason.HISTORY_TOO_LONG: _history,
    BypassReason.NO_EMBEDDABLE_TEXT: _no_text,
    BypassReason.EMBEDDING_MISSING: _no_vector,
}
