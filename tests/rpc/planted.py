"""What may tell two requests apart, and how that is to be named."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

from rpc.explaining import ALL, EXACT, LONG, Base
from rpc.requests import target


class Planted(NamedTuple):
    segment: str
    path: str
    says: str
    matchers: set[str]
    change: Callable[[Base], Any]


def param(name: str, value: Any) -> Callable[[Base], Any]:
    return lambda base: base.params.update({name: value})


def without(name: str) -> Callable[[Base], Any]:
    return lambda base: base.params.pop(name)


def field(name: str, value: Any) -> Callable[[Base], Any]:
    return lambda base: base.fields.update({name: value})


def last(text: str) -> Callable[[Base], Any]:
    return lambda base: base.messages[2].update(content=text)


def system(text: Any) -> Callable[[Base], Any]:
    return lambda base: setattr(base, "system", text)


PLANTED = {
    "temperature": Planted("material", "params.temperature", "0 ↔ 1.0", ALL, param("temperature", 1.0)),
    "absent temperature": Planted(
        "material", "params.temperature", "0 ↔ absent", ALL, without("temperature")
    ),
    "top_p": Planted("material", "params.top_p", "0.5 ↔ 0.9", ALL, param("top_p", 0.9)),
    "max_tokens": Planted("material", "params.max_tokens", "64 ↔ 65", ALL, param("max_tokens", 65)),
    "seed": Planted("material", "params.seed", "7 ↔ 8", ALL, param("seed", 8)),
    "stop": Planted("material", "params.stop[0]", '"END" ↔ "STOP"', ALL, param("stop", ["STOP"])),
    "response format": Planted(
        "material",
        "params.response_format.type",
        '"json_object" ↔ "text"',
        ALL,
        param("response_format", {"type": "text"}),
    ),
    "tool choice": Planted(
        "material", "params.tool_choice", '"auto" ↔ "none"', ALL, param("tool_choice", "none")
    ),
    "user": Planted("material", "params.user", '"ann" ↔ "bob"', ALL, param("user", "bob")),
    "an odd name": Planted(
        "material", 'params.logit_bias["50256"]', "-100 ↔ 1", ALL, param("logit_bias", {"50256": 1})
    ),
    "an unknown param": Planted("material", "params.novel", "absent ↔ true", ALL, param("novel", True)),
    "metadata": Planted(
        "material", "params.metadata", "absent ↔ an object", set(), param("metadata", {"a": "b"})
    ),
    "number spelling": Planted(
        "material", "params.temperature", "0 ↔ 0.0: the same number", set(), param("temperature", 0.0)
    ),
    "last message": Planted(
        "material",
        "messages[2].content",
        f"differs at character {len(LONG) + 3}: ",
        {"exact", "normalized"},
        last(LONG + "Be long."),
    ),
    "first message": Planted(
        "material",
        "messages[0].content",
        'differs at character 10: "What is a kettle?" ↔ "What is a kitten?"'.replace("10", "11"),
        ALL,
        lambda base: base.messages[0].update(content="What is a kitten?"),
    ),
    "a turn more": Planted(
        "material",
        "messages[1]",
        'absent ↔ a turn of "assistant"',
        ALL,
        lambda base: base.messages.insert(1, {"role": "assistant", "content": "Hm."}),
    ),
    "a role": Planted(
        "material",
        "messages[0].role",
        '"user" ↔ "developer"',
        ALL,
        lambda base: base.messages[0].update(role="developer"),
    ),
    "white space": Planted(
        "material",
        "messages[2].content",
        "differs only in white space, first at character 10",
        EXACT,
        last(LONG.replace("Summarize ", "Summarize  ", 1) + "Be brief."),
    ),
    "Unicode form": Planted(
        "material",
        "system",
        "differs only in Unicode form (NFC ↔ NFD), first at character 10",
        ALL,
        system("Terse: cafe\u0301."),
    ),
    "case": Planted(
        "material", "system", "differs only in case, first at character 7", ALL, system("Terse: Café.")
    ),
    "a tool's name": Planted(
        "material",
        "tools[1].function.name",
        '"refund" ↔ "refuse"',
        ALL,
        lambda base: base.tools[1]["function"].update(name="refuse"),
    ),
    "tool order": Planted(
        "material", "tools", "the tools are the same in another order", ALL, lambda base: base.tools.reverse()
    ),
    "no system": Planted("material", "system", '"Terse: café." ↔ absent', ALL, system(None)),
    "a cache mark": Planted(
        "material",
        "messages[0].cache_control",
        "absent ↔ an object",
        set(),
        lambda base: base.messages[0].update(cache_control={"type": "ephemeral"}),
    ),
    "versions": Planted("versions", "guardrail", '"7" ↔ "8"', ALL, field("versions", {"guardrail": "8"})),
    "headers": Planted(
        "headers", "anthropic-beta", "the values differ", ALL, field("headers", {"anthropic-beta": "other"})
    ),
    "a header more": Planted(
        "headers",
        "x-more",
        "absent ↔ present",
        ALL,
        field("headers", {"anthropic-beta": "marked-header-value", "x-more": "1"}),
    ),
    "scope": Planted("scope", "tenant", "the values differ", ALL, field("scope", {"tenant": "globex"})),
    "a dim of no rule": Planted(
        "scope",
        "team",
        "absent ↔ present",
        set(),
        field("scope", {"tenant": "marked-tenant-value", "team": "x"}),
    ),
    "namespace": Planted(
        "namespace", "", "absent ↔ present", ALL, lambda base: base.controls.update(namespace="blue")
    ),
    "stream": Planted("stream", "", "json ↔ stream", ALL, field("stream", True)),
    "model": Planted(
        "model", "", '"gpt-4o" ↔ "gpt-4o-mini"', ALL, field("served", target("openai", "gpt-4o-mini"))
    ),
    "provider": Planted(
        "provider", "", '"openai" ↔ "azure"', ALL, field("served", target("azure", "gpt-4o"))
    ),
    "dialect": Planted("dialect", "", '"openai" ↔ "custom"', ALL, field("dialect", "custom")),
    "a route that is not keyed": Planted(
        "route", "route_version", '"1" ↔ "2"', set(), field("route_version", "2")
    ),
    "what was asked for": Planted(
        "requested", "", '"router/fast" ↔ "router/slow"', set(), field("requested", target("router", "slow"))
    ),
    "mode": Planted(
        "controls", "mode", "default ↔ read_only", set(), lambda base: base.controls.update(mode=4)
    ),
    "attributes": Planted("attributes", "app", "absent ↔ present", set(), field("attributes", {"app": "x"})),
    "personalized": Planted("personalized", "", "absent ↔ present", set(), field("personalized", True)),
}
