"""Misses that should be hits: what does not change the answer does not part requests."""

from __future__ import annotations

from typing import Any

import pytest

from rpc.answers import answer_for
from rpc.replies import verdict
from rpc.requests import BODIES, HELLO, describe, target, turns, with_body

FUNCTION = {"type": "function", "function": {"name": "search_books", "parameters": {"type": "object"}}}


@pytest.mark.parametrize("api", sorted(BODIES), ids="-".join)
def test_a_body_and_its_parts_are_one_request(gateway, tenant, api):
    dialect, endpoint = api
    whole = {**BODIES[api], "temperature": 0, "model": "any", "top_p": None}
    inner = dict(whole)
    del inner["model"], inner["top_p"]
    messages = inner.pop("input", None) or inner.pop("messages")
    by_body = with_body(tenant, whole, dialect=dialect, endpoint=endpoint)
    by_parts = describe(tenant, messages, params=inner, dialect=dialect, endpoint=endpoint)
    gateway.fill(by_body, "one answer for both")
    decision = gateway.ask(by_parts)
    assert verdict(decision) == "hit exact"
    assert decision.candidate.body.data == answer_for(by_body, "one answer for both").body


@pytest.mark.parametrize(
    "spelling",
    ["0", "0.0", "0e0", "-0", "0E+5", "0.000"],
)
def test_number_spellings_of_zero_are_one_request(gateway, tenant, spelling):
    gateway.store(describe(tenant))
    raw = f'{{"temperature":{spelling}}}'.encode()
    assert verdict(gateway.ask(describe(tenant, params=raw))) == "hit exact"


@pytest.mark.parametrize(
    ("one", "other", "same"),
    [
        ("1", "1.0", True),
        ("1", "1e0", True),
        ("10", "1e1", True),
        ("0.5", "5e-1", True),
        ("0.2", "0.2000001", False),
        ("1", "1.0000000000000002", False),
        ("1", '"1"', False),
        ("1", "true", False),
        ("0", "-0.0", True),
        ("9007199254740991", "9007199254740990", False),
    ],
)
def test_numbers_are_compared_by_value(gateway, tenant, one, other, same):
    def asking(spelling: str) -> Any:
        return describe(tenant, params=f'{{"temperature":0,"x":{spelling}}}'.encode())

    gateway.fill(asking(one))
    assert verdict(gateway.ask(asking(other))) == ("hit exact" if same else "miss")


@pytest.mark.parametrize(
    ("extra", "found"),
    [
        ({"metadata": {"order": "77"}}, True),
        ({"prompt_cache_key": "k"}, True),
        ({"prompt_cache_retention": "24h"}, True),
        ({"safety_identifier": "s"}, True),
        ({"cache_control": {"type": "ephemeral"}}, True),
        ({"top_p": None}, True),
        ({"stream": False}, True),
        ({"model": "another spelling of the model"}, True),
        ({"user": "ann"}, False),
        ({"store": False}, False),
        ({"service_tier": "default"}, False),
        ({"n": 1}, False),
        ({"presence_penalty": 0}, False),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
@pytest.mark.parametrize("form", ["parts", "body"])
def test_what_steers_bookkeeping_does_not_part_requests_and_the_rest_does(
    gateway, tenant, extra, found, form
):
    def asking(params: dict[str, Any]) -> Any:
        if form == "parts":
            return describe(tenant, params=params)
        return with_body(tenant, {"messages": HELLO, **params})

    gateway.fill(asking({"temperature": 0}))
    assert verdict(gateway.ask(asking({"temperature": 0, **extra}))) == ("hit exact" if found else "miss")


def test_bookkeeping_params_of_an_unknown_dialect_are_keyed(gateway, tenant):
    gateway.fill(describe(tenant, dialect="ollama"))
    other = describe(tenant, dialect="ollama", params={"temperature": 0, "metadata": {"a": "b"}})
    assert verdict(gateway.ask(other)) == "miss"


def test_params_that_the_rule_ignores_do_not_part_requests(gateway, tenant):
    rule = {"attributes": {"rule": "ignoring"}}
    gateway.fill(describe(tenant, params={"temperature": 0, "user": "ann"}, **rule))
    for params in ({"user": "bob"}, {}, {"user": "ann", "service_tier": "flex"}):
        asked = describe(tenant, params={"temperature": 0, **params}, **rule)
        assert verdict(gateway.ask(asked)) == "hit exact"
    assert verdict(gateway.ask(describe(tenant, params={"temperature": 0, "n": 2}, **rule))) == "miss"


def test_a_rule_that_ignores_more_never_reads_what_another_wrote(gateway, tenant):
    gateway.fill(describe(tenant))
    assert verdict(gateway.ask(describe(tenant, attributes={"rule": "ignoring"}))) == "miss"
    for rule in ("shapes", "class", "asked-for"):
        asked = describe(tenant, requested=target(), attributes={"rule": rule})
        assert verdict(gateway.ask(asked)) == "miss", rule


CACHE_MARK = {"cache_control": {"type": "ephemeral"}}


@pytest.mark.parametrize(
    ("plain", "marked"),
    [
        ({"messages": turns("a")}, {"messages": [{**turns("a")[0], **CACHE_MARK}]}),
        (
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a"}]}]},
            {"messages": [{"role": "user", "content": [{"type": "text", "text": "a", **CACHE_MARK}]}]},
        ),
        (
            {"system": [{"type": "text", "text": "s"}]},
            {"system": [{"type": "text", "text": "s", **CACHE_MARK}]},
        ),
        (
            {"tools": [{"name": "t", "input_schema": {}}]},
            {"tools": [{"name": "t", "input_schema": {}, **CACHE_MARK}]},
        ),
    ],
    ids=["turn", "part", "system", "tool"],
)
def test_marks_for_the_provider_s_own_cache_do_not_part_requests(gateway, tenant, plain, marked):
    def asking(**content: Any) -> Any:
        return describe(
            tenant, content.pop("messages", HELLO), dialect="anthropic", endpoint="messages", **content
        )

    gateway.fill(asking(**plain))
    assert verdict(gateway.ask(asking(**marked))) == "hit exact"


def test_key_order_white_space_and_escapes_do_not_part_requests(gateway, tenant):
    gateway.fill(
        describe(tenant, b'[{"role":"user","content":"caf\xc3\xa9/x"}]', params={"temperature": 0, "n": 1})
    )
    spelt = rb'  [ {"content" : "caf\u00e9\/x",' + b'\n"role":"user"}]\t'
    asked = describe(tenant, spelt, params=b'{ "n" : 1.0, "temperature":0e3 }')
    assert verdict(gateway.ask(asked)) == "hit exact"


def test_requests_with_tools_are_found_again(gateway, tenant):
    asked = describe(tenant, tools=[FUNCTION], params={"temperature": 0, "tool_choice": "auto"})
    gateway.fill(asked)
    assert verdict(gateway.ask(asked)) == "hit exact"
