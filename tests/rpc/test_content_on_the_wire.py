"""No wrong hit: tools, prompts, turns, upstream, shape, versions and headers are in the key."""

from __future__ import annotations

from typing import Any

import pytest

from rpc.answers import answer_for, storing
from rpc.replies import filed, outcome, verdict
from rpc.requests import HELLO, describe, parts, target, turns


def tool(name: str = "search", **schema: Any) -> dict[str, Any]:
    return {"type": "function", "function": {"name": name, "parameters": {"type": "object", **schema}}}


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ([tool("search_books")], [tool("search_news")]),
        ([tool(required=["a"])], [tool(required=["a", "b"])]),
        ([tool("a"), tool("b")], [tool("b"), tool("a")]),
        ([tool()], None),
        ([tool()], []),
        ([tool()], [tool(), tool("other")]),
        ([tool(properties={"cache_control": {}})], [tool(properties={})]),
    ],
    ids=["name", "schema", "order", "absent", "empty", "more", "property-named-like-a-mark"],
)
def test_other_tools_are_another_request(gateway, tenant, stored, asked):
    gateway.fill(describe(tenant, tools=stored))
    assert verdict(gateway.ask(describe(tenant, tools=stored))) == "hit exact"
    assert verdict(gateway.ask(describe(tenant, tools=asked))) == "miss"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ({"system": "Answer in French."}, {"system": "Answer in German."}),
        ({"system": "Answer in French."}, {}),
        ({"system": [{"type": "text", "text": "a"}]}, {"system": [{"type": "text", "text": "b"}]}),
        ({"system": "ab"}, {"system": "a", "messages": [{"role": "user", "content": "b"}, *HELLO]}),
    ],
    ids=["words", "absent", "blocks", "moved"],
)
def test_another_system_prompt_is_another_request_in_every_tier(gateway, tenant, stored, asked):
    def asking(**content: Any) -> Any:
        return describe(
            tenant, content.pop("messages", HELLO), dialect="anthropic", endpoint="messages", **content
        )

    gateway.fill(asking(**stored))
    assert verdict(gateway.ask(asking(**stored))) == "hit exact"
    assert verdict(gateway.ask(asking(**asked))) == "miss"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (turns("I am Ann", "Hello Ann", "my name?"), turns("I am Bob", "Hello Ann", "my name?")),
        (turns("I am Ann", "Hello Ann", "my name?"), turns("I am Ann", "Hello Bob", "my name?")),
        (turns("CEO of OpenAI?", "x", "how old is he"), turns("CEO of Apple?", "x", "how old is he")),
        (turns("Polish the US text"), turns("polish the us text")),
        (turns("what is 2+3"), turns("what is 2+8")),
        (turns("a"), turns("a", "b", "a")),
        ([{"role": "user", "content": "a"}], [{"role": "developer", "content": "a"}]),
        (turns("caf\u00e9"), turns("cafe\u0301")),
        (turns("a\u200bb"), turns("ab")),
        (turns("x"), turns("x?")),
    ],
    ids=[
        "history",
        "answer",
        "last-turn",
        "case",
        "digit",
        "longer",
        "role",
        "composition",
        "invisible",
        "mark",
    ],
)
def test_other_words_are_another_request(gateway, tenant, stored, asked):
    gateway.fill(describe(tenant, stored))
    assert verdict(gateway.ask(describe(tenant, stored))) == "hit exact"
    assert verdict(gateway.ask(describe(tenant, asked))) == "miss"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        (("x", {"temperature": 0}), ("xtemperature: 0", {"seed": 1})),
        (("x", {"temperature": 0, "stop": ["y"]}), ("xstop: y", {"temperature": 0})),
        (("x", {"temperature": 0, "seed": 1}), ("xseed: 1", {"temperature": 0})),
        (('x","temperature":0', {"seed": 1}), ("x", {"temperature": 0, "seed": 1})),
        (("a\x00b", {"temperature": 0}), ("a", {"temperature": 0, "b": "\x00"})),
        (("", {"temperature": 0, "a": "bc"}), ("", {"temperature": 0, "ab": "c"})),
    ],
    ids=["temperature", "stop", "seed", "quotes", "zero", "name-and-value"],
)
def test_text_that_looks_like_a_param_is_text(gateway, tenant, stored, asked):
    def asking(text: str, params: dict[str, Any]) -> Any:
        return describe(tenant, turns(text), params=params)

    gateway.fill(asking(*stored))
    assert verdict(gateway.ask(asking(*stored))) == "hit exact"
    assert verdict(gateway.ask(asking(*asked))) == "miss"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ({"served": target(model="gpt-4.1")}, {"served": target(model="gpt-4-1")}),
        ({"served": target(model="gpt-4.1")}, {"served": target(model="gpt_4_1")}),
        ({"served": target(model="gpt-4o")}, {"served": target(model="GPT-4o")}),
        ({"served": target(model="gpt-4o")}, {"served": target(model="gpt-4o-2024-08-06")}),
        ({"served": target("azure", "gpt-4o")}, {"served": target("openai", "gpt-4o")}),
        ({"served": target("abc", "x")}, {"served": target("ab", "cx")}),
        ({"served": target("a/b", "c")}, {"served": target("a", "b/c")}),
        ({"dialect": "ollama"}, {"dialect": "openai"}),
        ({"dialect": "open", "endpoint": "aichat"}, {"dialect": "openai", "endpoint": "chat"}),
        ({"stream": False}, {"stream": True}),
        ({"versions": {"guardrail": "1"}}, {"versions": {"guardrail": "2"}}),
        ({"versions": {"guardrail": "1"}}, {}),
        ({"versions": {"guardrail": "1"}}, {"headers": {"guardrail": "1"}}),
        ({"headers": {"anthropic-beta": "a"}}, {"headers": {"anthropic-beta": "b"}}),
        ({"headers": {"anthropic-beta": "a"}}, {}),
        ({"headers": {"ab": "c"}}, {"headers": {"a": "bc"}}),
    ],
    ids=lambda value: "-".join(value) or "none",
)
def test_another_upstream_shape_version_or_header_is_another_request(gateway, tenant, stored, asked):
    def asking(**changes: Any) -> Any:
        return describe(tenant, **{"params": {"temperature": 0, "seed": 1}, **changes})

    first = asking(**stored)
    gateway.fill(first)
    assert verdict(gateway.ask(first)) == "hit exact"
    assert verdict(gateway.ask(asking(**asked))) == "miss"


def test_entry_ids_are_sha_256_and_differ_with_everything(gateway, tenant):
    asked = [
        describe(tenant),
        describe(f"{tenant}-b"),
        describe(tenant, turns("hi!")),
        describe(tenant, served=target(model="other")),
        describe(tenant, stream=True),
        describe(tenant, params={"temperature": 0, "n": 2}),
    ]
    ids = [entry.entry_id for one in asked for entry in gateway.fill(one).entries]
    assert len(ids) == len(set(ids)) == 2 * len(asked)
    assert all(len(bytes.fromhex(entry_id)) == 32 for entry_id in ids)


def test_the_same_request_has_the_same_ids_by_token_and_by_descriptor(gateway, tenant):
    by_token = gateway.fill(describe(tenant))
    by_descriptor = gateway.store(describe(tenant))
    assert filed(by_descriptor) == "stored"
    assert by_token.entries == by_descriptor.entries


def test_an_answer_is_filed_as_looked_up_whatever_the_caller_did_to_the_request_since(gateway, tenant):
    messages = turns("hi")
    asked = describe(tenant, messages)
    decision = gateway.ask(asked)
    asked.parts.CopyFrom(parts([*messages, {"role": "assistant", "content": "changed"}], params={}))
    assert filed(gateway.store(decision.fill_token)) == "stored"
    assert verdict(gateway.ask(describe(tenant, messages))) == "hit exact"
    assert outcome(gateway.ask(describe(tenant, [*messages, *turns("x")]))) == "miss"


def test_a_batch_of_stores_files_each_under_its_own_request(gateway, tenant):
    asked = [describe(tenant, turns(f"question {number}")) for number in range(20)]
    stored = gateway.store_all(
        [storing(one, answer_for(one, f"answer {at}")) for at, one in enumerate(asked)]
    )
    assert [filed(result.response) for result in stored] == ["stored"] * 20
    for number, one in enumerate(asked):
        assert gateway.ask(one).candidate.body.data == answer_for(one, f"answer {number}").body
