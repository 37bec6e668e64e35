"""Faults of other caches: requests that shared an answer and must not, and such that did not and should."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.descriptor import Target
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import Eligibility, Identity
from core.builders import (
    USER_HI,
    body,
    content,
    descriptor,
    digests,
    exact,
    keys_of,
    normalized,
    plan,
    request,
    rule,
    said,
    why_bypassed,
)

ANY = rule(eligibility=Eligibility(sampled=True))


def context(wanted, under=None):
    """The semantic matcher's digest of all that is not embedded."""
    return plan(wanted, under).derivation.semantic().context


def assert_apart(one, other, under=None):
    """The two share no entry of any deterministic matcher, and no search space."""
    assert exact(one, under) != exact(other, under)
    assert normalized(one, under) != normalized(other, under)
    assert context(one, under) != context(other, under)


def assert_together(one, other, under=None):
    assert keys_of(one, under) == keys_of(other, under)
    assert context(one, under) == context(other, under)


# Parameters keep requests apart.


@pytest.mark.parametrize(
    ("name", "value", "other"),
    [
        ("top_p", 0.1, 0.2),
        ("stop", ["a"], ["b"]),
        ("n", 1, 2),
        ("tool_choice", "auto", "required"),
        ("presence_penalty", 0, 1),
        ("frequency_penalty", 0, 1),
        ("max_tokens", 10, 20),
        ("response_format", {"type": "text"}, {"type": "json_object"}),
        ("logit_bias", {"1": 1}, {"1": 2}),
        ("num_ctx", 2048, 8192),
        ("top_k", 1, 50),
        ("seed", 1, 2),
        ("reasoning_effort", "low", "high"),
        ("parallel_tool_calls", True, False),
        ("a_param_of_tomorrow", 1, 2),
    ],
)
def test_a_parameter_that_may_change_the_answer_is_in_the_key(name, value, other):
    one, two, none = request(**{name: value}), request(**{name: other}), request()
    assert_apart(one, two)
    assert_apart(one, none)


def test_a_temperature_left_out_is_not_zero():
    silent = descriptor(content=content(params={}))
    assert_apart(descriptor(content=content(params={"temperature": 0})), silent, ANY)


def test_instructions_of_a_response_are_in_the_key():
    def wanted(instructions):
        return body("openai", "responses", {"input": "hi", "temperature": 0, "instructions": instructions})

    assert_apart(wanted("A"), wanted("B"))


# Tools keep requests apart.


def tool(name, *, required=()):
    schema = {"type": "object", "properties": {"q": {"type": "string"}}, "required": list(required)}
    return {"type": "function", "function": {"name": name, "parameters": schema}}


def with_tools(*tools):
    return descriptor(content=content(tools=list(tools)))


def test_tools_are_in_the_key_and_not_only_that_there_are_some():
    assert_apart(with_tools(tool("search_books")), with_tools(tool("search_news")))
    assert_apart(with_tools(tool("search_books")), request())


def test_a_tool_that_takes_another_argument_is_another():
    assert_apart(with_tools(tool("search")), with_tools(tool("search", required=["q"])))


def test_the_order_of_tools_is_in_the_key():
    assert_apart(with_tools(tool("a"), tool("b")), with_tools(tool("b"), tool("a")))


# System prompts and conversations keep requests apart.


def claude(system, text="hi", **members):
    tree = {"system": system, "messages": [{"role": "user", "content": text}], "temperature": 0, **members}
    return body("anthropic", "messages", tree, served=Target("anthropic", "claude"))


def test_a_system_prompt_that_stands_apart_is_in_every_matchers_key():
    assert_apart(claude("French"), claude("German"))
    assert_apart(claude("French"), claude(None))
    assert_apart(claude([{"type": "text", "text": "French"}]), claude([{"type": "text", "text": "German"}]))


def test_a_system_turn_is_in_every_matchers_key():
    def wanted(system):
        return request([{"role": "system", "content": system}, *USER_HI])

    assert_apart(wanted("Answer in French"), wanted("Answer in German"))


def talk(*texts):
    roles = ("user", "assistant") * len(texts)
    return request([{"role": role, "content": text} for role, text in zip(roles, texts, strict=False)])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("I am Ann", "Hello Ann", "What is my name?"), ("I am Bob", "Hello Bob", "What is my name?")),
        (
            ("Who is the CEO of OpenAI?", "Sam Altman", "how old is he"),
            ("Who is the CEO of Apple?", "Tim Cook", "how old is he"),
        ),
        (("x", "one", "again"), ("x", "two", "again")),
    ],
)
def test_the_last_message_alone_is_no_question(one, other):
    assert_apart(talk(*one), talk(*other))


def test_an_image_is_part_of_the_question():
    def wanted(data):
        image = {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{data}"}}
        text = {"type": "text", "text": "Describe this image"}
        return request([{"role": "user", "content": [text, image]}])

    assert_apart(wanted("AAAA"), wanted("AAAB"))


def test_an_image_by_address_may_change_and_is_not_looked_up():
    def wanted(url):
        return request([{"role": "user", "content": [{"type": "image_url", "image_url": {"url": url}}]}])

    assert why_bypassed(wanted("https://example.com/a.png")) is BypassReason.REMOTE_CONTENT
    assert why_bypassed(wanted("data:image/png;base64,AAAA")) is None


def test_letter_case_is_meaning():
    assert exact(said("Polish the US text")) != exact(said("polish the us text"))
    assert normalized(said("Polish the US text")) != normalized(said("polish the us text"))


# So does who serves, and in which shape.


@pytest.mark.parametrize("other", ["gpt-4-1", "gpt_4_1", "GPT-4.1", "gpt-4.1 ", "gpt-4.1-mini", "gpt-4.10"])
def test_models_of_similar_names_are_different_models(other):
    assert_apart(descriptor(served=Target("openai", "gpt-4.1")), descriptor(served=Target("openai", other)))


def test_the_same_question_to_another_system_is_another():
    plain = descriptor()
    assert_apart(plain, descriptor(served=Target("azure", "gpt-4o")))
    assert_apart(plain, descriptor(dialect="mistral"))
    assert_apart(plain, descriptor(endpoint="responses"))


def test_a_stream_and_a_document_are_two_answers():
    assert_apart(descriptor(stream=False), descriptor(stream=True))


@pytest.mark.parametrize("name", ["headers", "versions"])
def test_headers_and_versions_are_in_the_key_by_name_and_value(name):
    one, other, third = ({"a": "1"}, {"a": "2"}, {"b": "1"})
    assert_apart(descriptor(**{name: one}), descriptor(**{name: other}))
    assert_apart(descriptor(**{name: one}), descriptor(**{name: third}))
    assert_apart(descriptor(**{name: one}), descriptor())


def test_a_header_is_no_version():
    assert_apart(descriptor(headers={"a": "1"}), descriptor(versions={"a": "1"}))


# Nothing can be shifted from one field into its neighbour.


@given(st.text("ab", min_size=2, max_size=8), st.data())
def test_no_split_of_the_same_letters_over_two_segments_collides(letters, data):
    first = data.draw(st.integers(1, len(letters) - 1))
    second = data.draw(st.integers(1, len(letters) - 1))

    def ids(place):
        left, right = letters[:place], letters[place:]
        wanted = [
            descriptor(served=Target(left, right)),
            descriptor(dialect=left, endpoint=right),
            descriptor(headers={left: right}),
            request([{"role": "user", "content": left}, {"role": "user", "content": right}]),
            request([{"role": "user", "content": [{"type": "text", "text": t} for t in (left, right)]}]),
        ]
        return [exact(one) for one in wanted] + [
            exact(descriptor(scope={"tenant": left, "user": right}), rule(scope=("tenant", "user")))
        ]

    for one, other in zip(ids(first), ids(second), strict=True):
        assert (one == other) is (first == second)


@pytest.mark.parametrize("name", ["temperature", "stop", "top_k", "user"])
@given(text=st.text("x:,\"'{} 0", max_size=6), value=st.sampled_from([0, "0", "", ": 0"]))
def test_no_text_can_imitate_a_parameter(name, text, value):
    def wanted(said, **params):
        return descriptor(content=content([{"role": "user", "content": said}], params={"seed": 1, **params}))

    for imitation in (f"{text}{name}: {value}", f"{text}{name}{value}", f'{text}","{name}":"{value}'):
        assert exact(wanted(imitation)) != exact(wanted(text, **{name: value}))


# Tenants are kept apart.


def test_another_users_balance_is_not_even_looked_at():
    def wanted(user, text):
        return replace(said(text), scope={"tenant": "acme", "user": user})

    under = rule(scope=("tenant", "user"))
    ann, bob = (plan(wanted(user, "my balance?"), under) for user in ("ann", "bob"))
    assert ann.scope.root != bob.scope.root
    ann_keys, bob_keys = (keys_of(wanted(user, "my balance?"), under) for user in ("ann", "bob"))
    for matcher in (Matcher.EXACT, Matcher.NORMALIZED):
        assert ann_keys[matcher].scope_key != bob_keys[matcher].scope_key
        assert ann_keys[matcher].fingerprint == bob_keys[matcher].fingerprint


def test_the_scope_is_not_in_the_text():
    one, other = (descriptor(scope={"tenant": tenant}) for tenant in ("acme", "globex"))
    assert plan(one).derivation.semantic() == plan(other).derivation.semantic()
    assert exact(one) != exact(other)


@pytest.mark.parametrize("dim", ["tenant", "team", "user"])
def test_every_dim_of_the_rule_counts(dim):
    scope, under = {"tenant": "a", "team": "b", "user": "c"}, rule(scope=("tenant", "team", "user"))
    assert exact(descriptor(scope=scope), under) != exact(descriptor(scope={**scope, dim: "other"}), under)
    gone = {name: value for name, value in scope.items() if name != dim}
    assert why_bypassed(descriptor(scope=gone), under) is BypassReason.SCOPE_MISSING
    assert why_bypassed(descriptor(scope={**scope, dim: ""}), under) is BypassReason.SCOPE_MISSING


def test_only_the_descriptor_says_who_asks():
    hidden = request(user="bob", metadata={"tenant": "globex"})
    assert plan(hidden).scope == plan(request()).scope


def test_entries_under_other_dims_are_out_of_reach():
    wanted = descriptor(scope={"tenant": "acme", "user": "ada"})
    scopes = [("tenant",), ("user",), ("tenant", "user"), ("user", "tenant")]
    assert len({exact(wanted, rule(scope=dims)) for dims in scopes}) == 4


def test_a_thousand_tenants_with_one_question_have_a_thousand_entries():
    ids = {exact(descriptor(scope={"tenant": f"t{number}"})) for number in range(1_000)}
    assert len(ids) == 1_000


@pytest.mark.parametrize("value", ["*", "%", "acme*", "a" * 4096, "\u0000", "\U0001f4da", "acme\n", "null"])
def test_no_value_of_a_dim_is_special(value):
    assert exact(descriptor(scope={"tenant": value})) != exact(descriptor())
    assert why_bypassed(descriptor(scope={"tenant": value})) is None


# What other caches missed.


@pytest.mark.parametrize("literal", ["1", "1.0", "1e0", "10e-1"])
def test_a_number_has_one_key_however_it_is_spelt(literal):
    def wanted(spelt):
        raw = '{"messages":[{"role":"user","content":"hi"}],"temperature":0,"top_p":%s}' % spelt  # noqa: UP031
        return body("openai", "chat", {}, content=raw.encode())

    assert_together(wanted(literal), wanted("1"))
    assert_apart(wanted("0.2"), wanted("0.2000001"))


def test_requests_with_tools_hit_too():
    assert_together(with_tools(tool("search")), with_tools(tool("search")))


def test_shuffled_members_are_the_same_request():
    def shuffled(tree):
        return dict(reversed(tree.items()))

    tree = {"model": "m", "messages": USER_HI, "temperature": 0, "tools": [tool("f")]}
    turns, tools = [shuffled(turn) for turn in USER_HI], [shuffled(tool("f"))]
    other = {**shuffled(tree), "messages": turns, "tools": tools}
    assert list(other) != list(tree)
    assert_together(body("openai", "chat", tree), body("openai", "chat", other))


def test_an_alias_of_the_model_does_not_split_the_cache():
    """The key names what is served; what the client called it is in the body alone."""

    def wanted(alias):
        return body("openai", "chat", {"model": alias, "messages": USER_HI, "temperature": 0})

    assert_together(wanted("gpt-4o"), wanted("gpt-4o-2024-08-06"))
    asked = rule(identity=Identity.TARGET)
    assert exact(replace(wanted("x"), requested=Target("a", "x")), asked) != exact(
        replace(wanted("y"), requested=Target("a", "y")), asked
    )


@pytest.mark.parametrize(
    "extra",
    [
        {"metadata": {"trace": "1"}},
        {"cache_control": {"type": "ephemeral"}},
        {"prompt_cache_key": "k"},
        {"prompt_cache_retention": "24h"},
        {"safety_identifier": "u"},
    ],
    ids=lambda extra: next(iter(extra)),
)
def test_what_steers_billing_or_caching_alone_is_not_in_the_key(extra):
    assert_together(request(), request(**extra))


def test_marks_of_the_prompt_cache_are_not_in_the_key():
    mark = {"cache_control": {"type": "ephemeral"}}
    plain = {"tools": [{"name": "f", "input_schema": {}}]}
    marked = {"tools": [{"name": "f", "input_schema": {}, **mark}]}
    assert_together(
        claude([{"type": "text", "text": "a"}], [{"type": "text", "text": "b"}], **plain),
        claude([{"type": "text", "text": "a", **mark}], [{"type": "text", "text": "b", **mark}], **marked),
    )


def test_a_user_is_in_the_key_unless_the_rule_ignores_it():
    assert_apart(request(user="ann"), request(user="bob"))
    assert_together(request(user="ann"), request(user="bob"), rule(ignore_params=("user",)))
    assert_together(request(user="ann"), request(), rule(ignore_params=("user",)))


def test_null_is_absent_and_a_default_is_not():
    assert_together(request(top_k=None), request())
    assert_apart(request(top_k=0), request())


def test_white_space_in_prose_splits_the_exact_matcher_alone():
    assert exact(said("what  is this ")) != exact(said("what is this"))
    assert normalized(said("what  is this ")) == normalized(said("what is this"))


def test_two_phrasings_of_one_question_are_in_one_search_space():
    one, other = said("how old is the moon?"), said("what is the moon's age?")
    assert context(one) == context(other)
    assert exact(one) != exact(other)


def test_digests_match_digests():
    assert keys_of(descriptor(content=digests())) == keys_of(descriptor(content=digests()))
