"""One ordinary request, answer and rule, and what changes them: tests say only what they are about."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from askonce_server.core.admit import Response
from askonce_server.core.decide import decide
from askonce_server.core.decision import Decision, Probe, Question, ReadBody, ReadGenerations
from askonce_server.core.descriptor import Content, Controls, Descriptor, Digests, Facts, Target
from askonce_server.core.entries import ZERO_GENERATION, Answer, Body, Entry, EntryKey, Generations, Grant
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import KeyPolicy, Rule
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.guard_key import GuardKey

NOW = 1_700_000_000_000
HOUR = 3_600_000
SERVED = Target("openai", "gpt-4o")

USER_HI = [{"role": "user", "content": "hi"}]


def dumps(tree: Any) -> bytes:
    return json.dumps(tree, ensure_ascii=False).encode()


def descriptor(**changes: Any) -> Descriptor:
    """The plain request: openai chat, "hi", temperature 0, no stream, tenant acme; as parts."""
    fields: dict[str, Any] = {
        "dialect": "openai",
        "endpoint": "chat",
        "served": SERVED,
        "requested": Target(),
        "route_id": "",
        "route_version": "",
        "rule_branch": "",
        "stream": False,
        "scope": {"tenant": "acme"},
        "content": content(),
        "versions": {},
        "headers": {},
        "embedding": None,
        "personalized": False,
        "attributes": {},
    }
    return Descriptor(**{**fields, **changes})


def content(
    messages: Any = USER_HI, *, system: Any = None, tools: Any = None, params: Any = None, **more: Any
) -> Content:
    """Parts of the plain request; `more` are further params beside temperature 0."""
    return Content(
        messages=b"" if messages is None else dumps(messages),
        system=b"" if system is None else dumps(system),
        tools=b"" if tools is None else dumps(tools),
        params=dumps({"temperature": 0, **more} if params is None else params),
    )


def request(messages: Any = USER_HI, **params: Any) -> Descriptor:
    """The plain request with other messages or further params."""
    return descriptor(content=content(messages, **params))


def said(text: str) -> Descriptor:
    """The plain request with another user text."""
    return request([{"role": "user", "content": text}])


def body(dialect: str, endpoint: str, tree: Mapping[str, Any], **changes: Any) -> Descriptor:
    """A request as the provider's own body."""
    defaults: dict[str, Any] = {"stream": None, "content": dumps(tree)}
    return descriptor(dialect=dialect, endpoint=endpoint, **{**defaults, **changes})


def rule(**changes: Any) -> Rule:
    """The plain rule; the names of `KeyPolicy` fields go into its key."""
    policy = {name: changes.pop(name) for name in list(changes) if name in KeyPolicy.__dataclass_fields__}
    return Rule("r", key=KeyPolicy(**policy), **changes)


def plan(wanted: Descriptor, under: Rule | None = None, **asked: Any) -> Plan:
    controls = {name: asked.pop(name) for name in list(asked) if name in Controls.__dataclass_fields__}
    return plan_for(Asked(wanted, Controls(**controls), **asked), [under or rule()])


Script = Callable[[Question], Any]


def nothing(question: Question) -> Any:
    """Answer as an empty store would."""
    if isinstance(question, ReadGenerations):
        return (ZERO_GENERATION,) * len(question.names)
    return None


class Shelf:
    """A store of a few entries that answers questions and remembers them."""

    def __init__(self, *entries: Entry, body: Body | None = None, generations: Mapping[bytes, bytes] = {}):
        self._entries = {entry.key: entry for entry in entries}
        self._body = body
        self._generations = generations
        self.asked: list[Question] = []

    def __call__(self, question: Question) -> Any:
        self.asked.append(question)
        if isinstance(question, ReadGenerations):
            return tuple(self._generations.get(name, ZERO_GENERATION) for name in question.names)
        if isinstance(question, Probe):
            return self._entries.get(question.key)
        assert isinstance(question, ReadBody)
        return self._body

    @property
    def probed(self) -> list[Matcher]:
        return [question.key.matcher for question in self.asked if isinstance(question, Probe)]


def run(planned: Plan, script: Script = nothing, *, now_ms: int = NOW) -> Decision:
    """Drive a decision with answers from `script`."""
    deciding = decide(planned, now_ms=now_ms, token=GuardKey(b"g" * 32))
    try:
        question = next(deciding)
        while True:
            question = deciding.send(script(question))
    except StopIteration as done:
        decision: Decision = done.value
        return decision


def keys_of(wanted: Descriptor, under: Rule | None = None, **asked: Any) -> dict[Matcher, EntryKey]:
    """The keys under which an answer to the request would be stored."""
    decision = run(plan(wanted, under, **asked))
    assert decision.bypass_reason is None or decision.skipped, decision.bypass_reason
    assert decision.grant is not None
    return {key.matcher: key for key in decision.grant.keys}


def exact(wanted: Descriptor, under: Rule | None = None, **asked: Any) -> str:
    """The id of the exact entry, in hex."""
    return keys_of(wanted, under, **asked)[Matcher.EXACT].entry_id.hex()


def normalized(wanted: Descriptor, under: Rule | None = None, **asked: Any) -> str | None:
    """The id of the normalized entry, in hex; None where the matcher was skipped."""
    found = keys_of(wanted, under, **asked).get(Matcher.NORMALIZED)
    return None if found is None else found.entry_id.hex()


def why_bypassed(wanted: Descriptor, under: Rule | None = None, **asked: Any) -> BypassReason | None:
    return plan(wanted, under, **asked).bypass_reason


def answer(**changes: Any) -> Answer:
    plain = {"rule_id": "r", "start_ms": NOW, "store_ms": NOW, "expire_ms": NOW + HOUR, "stream": False}
    return Answer(**{**plain, **changes})


def entry(key: EntryKey, **changes: Any) -> Entry:
    return Entry(key, answer(**changes), scope_root=bytes(32), store_id=1, body_bytes=2)


def grant(**changes: Any) -> Grant:
    plain = Grant(
        rule_id="r",
        dialect="openai",
        endpoint="chat",
        stream=False,
        served=SERVED,
        scope_root=b"s" * 32,
        generations=Generations((b"n" * 32,), (ZERO_GENERATION,)),
        keys=(),
        policies=(),
        scope_dims=("tenant",),
        ttl_ms=None,
        start_ms=NOW,
        expire_ms=NOW + HOUR,
    )
    return replace(plain, **changes)


def response(**changes: Any) -> Response:
    """A whole answer with everything said that counts for storing it."""
    plain = Response(Body(b'{"a":1}', "application/json"), status_code=200, finish_reasons=("stop",))
    return replace(plain, **changes)


def digests(**changes: Any) -> Digests:

    none = Facts(sampling=False, remote_content=False, stateful=False, personalized=False)
    plain = Digests(b"e" * 32, b"n" * 32, "gateway", "1", none)
    return replace(plain, **changes)


def with_params(**params: Any) -> Descriptor:
    """Return the plain request with other params."""
    return descriptor(content=content(params=params))


def raw_params(text: str) -> Descriptor:
    """Return the plain request with the params in `text`, spelt as there."""
    return descriptor(content=content(params=json.loads(text)))
