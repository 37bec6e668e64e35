"""Which requests may be looked up at all: every reason, with what sets it off and what does not."""

from __future__ import annotations

import pytest

from askonce_server.core.descriptor import Facts
from askonce_server.core.eligibility import content_size
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Eligibility
from core.builders import (
    USER_HI,
    body,
    content,
    descriptor,
    digests,
    dumps,
    request,
    rule,
    said,
    why_bypassed,
    with_params,
)

ALL = rule(eligibility=Eligibility(sampled=True))
REMOTE_ALLOWED = rule(eligibility=Eligibility(remote_content=True))


def test_the_plain_request_is_looked_up():
    assert why_bypassed(descriptor()) is None


# Sampling


@pytest.mark.parametrize("temperature", ["0", "0.0", "-0", "-0.0", "0e5", "0.000"])
def test_temperature_zero_is_deterministic_however_it_is_spelt(temperature):
    wanted = descriptor(content=content(params={}))
    spelt = descriptor(
        content=type(wanted.content)(
            messages=dumps(USER_HI), params=b'{"temperature":%s}' % temperature.encode()
        )
    )
    assert why_bypassed(spelt) is None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"temperature": 1},
        {"temperature": 1e-9},
        {"temperature": False},
        {"temperature": True},
        {"temperature": "0"},
        {"temperature": ""},
        {"temperature": []},
        {"temperature": {}},
        {"temperature": None},
        {"seed": None},
        {"seed": "1"},
        {"seed": True},
        {"seed": []},
        {"top_p": 0},
        {"top_k": 1},
        {"temperature": None, "seed": None},
    ],
    ids=str,
)
def test_without_temperature_zero_or_a_seed_a_request_samples(params):
    assert why_bypassed(with_params(**params)) is BypassReason.SAMPLED_REQUEST
    assert why_bypassed(with_params(**params), ALL) is None


@pytest.mark.parametrize(
    "params", [{"seed": 0}, {"seed": 7}, {"seed": -1}, {"seed": 7, "temperature": 1.5}], ids=str
)
def test_a_seed_makes_a_request_deterministic(params):
    assert why_bypassed(with_params(**params)) is None


@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_generating_endpoints_sample(endpoint):
    wanted = descriptor(endpoint=endpoint, content=content(params={}))
    assert why_bypassed(wanted) is BypassReason.SAMPLED_REQUEST


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank", "moderations"])
def test_other_endpoints_do_not_sample(endpoint):
    assert why_bypassed(descriptor(endpoint=endpoint, stream=None, content=content(params={}))) is None


@pytest.mark.parametrize(
    "params",
    [{"temperature": 0.7}, {"temperature": 1}, {"top_p": 0.9}, {"min_p": 0.1}, {"temperature": "0"}],
    ids=str,
)
def test_an_endpoint_that_is_not_known_samples_where_the_request_says_so(params):
    wanted = descriptor(endpoint="completions", stream=None, content=content(params=params))
    assert why_bypassed(wanted) is BypassReason.SAMPLED_REQUEST
    assert why_bypassed(wanted, ALL) is None
    steady = descriptor(endpoint="completions", stream=None, content=content(params={**params, "seed": 7}))
    assert why_bypassed(steady) is None


@pytest.mark.parametrize("params", [{}, {"temperature": 0}, {"top_k": 5}, {"temperature": None}], ids=str)
def test_an_endpoint_that_is_not_known_counts_as_deterministic_otherwise(params):
    wanted = descriptor(endpoint="completions", stream=None, content=content(params=params))
    assert why_bypassed(wanted) is None


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank", "moderations", "classify"])
def test_an_endpoint_that_computes_does_not_sample_whatever_its_params_are_called(endpoint):
    wanted = descriptor(endpoint=endpoint, stream=None, content=content(params={"temperature": 0.7}))
    assert why_bypassed(wanted) is None


@pytest.mark.parametrize(
    ("endpoint", "samples"), [("chat", True), ("completions", True), ("embeddings", False)]
)
def test_digests_sample_where_their_fact_says_so(endpoint, samples):
    facts = Facts(sampling=True, remote_content=False, stateful=False, personalized=False)
    wanted = descriptor(endpoint=endpoint, content=digests(facts=facts))
    assert why_bypassed(wanted) is (BypassReason.SAMPLED_REQUEST if samples else None)


# Who asks


def test_a_personalized_request_needs_the_user_in_the_scope():
    wanted = descriptor(personalized=True, scope={"tenant": "acme", "user": "ada"})
    assert why_bypassed(wanted) is BypassReason.PERSONALIZED
    assert why_bypassed(wanted, rule(scope=("tenant", "user"))) is None


@pytest.mark.parametrize("scope", [{"tenant": "acme"}, {"tenant": "acme", "user": ""}], ids=str)
def test_a_missing_scope_is_named_before_anything_that_hangs_on_it(scope):
    wanted = descriptor(personalized=True, scope=scope)
    assert why_bypassed(wanted, rule(scope=("tenant", "user"))) is BypassReason.SCOPE_MISSING
    assert why_bypassed(wanted, rule(scope=("tenant",))) is BypassReason.PERSONALIZED


# Size, time, params


def test_a_request_above_the_rules_size_is_too_large():
    wanted = descriptor(content=content())
    size = content_size(wanted)
    assert size == len(wanted.content.messages) + len(wanted.content.params)
    assert why_bypassed(wanted, rule(eligibility=Eligibility(max_content=size))) is None
    assert why_bypassed(wanted, rule(eligibility=Eligibility(max_content=size - 1))) is BypassReason.TOO_LARGE
    whole = body("openai", "chat", {"messages": USER_HI, "temperature": 0})
    assert content_size(whole) == len(whole.content)


TODAY = rule(eligibility=Eligibility(time_sensitive=("today", "strasse", "c++")))


@pytest.mark.parametrize(
    "text", ["news today", "TODAY!", "is it today?", "Today's", "Straße", "about C++ now"]
)
def test_a_word_that_the_rule_calls_time_sensitive(text):
    assert why_bypassed(said(text), TODAY) is BypassReason.TIME_SENSITIVE
    assert why_bypassed(said(text)) is None


@pytest.mark.parametrize("text", ["todays", "pretoday", "yesterday", "c+", "todaything"])
def test_a_word_inside_another_is_not_meant(text):
    assert why_bypassed(said(text), TODAY) is None


def test_time_sensitive_words_count_where_a_user_says_them():
    system = [{"role": "system", "content": "today is Monday"}, *USER_HI]
    assert why_bypassed(request(system), TODAY) is None
    part = [{"role": "user", "content": [{"type": "text", "text": "today"}]}]
    assert why_bypassed(request(part), TODAY) is BypassReason.TIME_SENSITIVE
    for given in ("today", ["a", "today"]):
        wanted = body("openai", "embeddings", {"model": "m", "input": given})
        assert why_bypassed(wanted, TODAY) is BypassReason.TIME_SENSITIVE
    wanted = body("openai", "responses", {"model": "m", "input": "today", "temperature": 0})
    assert why_bypassed(wanted, TODAY) is BypassReason.TIME_SENSITIVE


CLASS = rule(params_class=True)


def test_the_class_of_params_is_closed():
    known = {"temperature": 0, "top_p": 1, "max_tokens": 5, "n": 1, "seed": 1, "tool_choice": "auto"}
    assert why_bypassed(with_params(**known), CLASS) is None
    for name in ("top_k", "stop", "user", "num_ctx", "messages"):
        wanted = with_params(temperature=0, **{name: 1})
        assert why_bypassed(wanted, CLASS) is BypassReason.UNMODELLED_PARAM
        assert why_bypassed(wanted, rule(params_class=True, ignore_params=(name,))) is None
    assert why_bypassed(with_params(temperature=0, user=None), CLASS) is None
    assert why_bypassed(with_params(temperature=0, metadata={"a": "b"}), CLASS) is None


def test_the_class_knows_one_stream_option():
    usage = with_params(temperature=0, stream_options={"include_usage": True})
    other = with_params(temperature=0, stream_options={"include_usage": True, "other": 1})
    assert why_bypassed(usage, CLASS) is None
    assert why_bypassed(other, CLASS) is BypassReason.UNMODELLED_PARAM
    assert why_bypassed(other, rule(params_class=True, stream_shared=True)) is None


# Digests: the facts speak, and silence is the worst case


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("sampling", BypassReason.SAMPLED_REQUEST),
        ("remote_content", BypassReason.REMOTE_CONTENT),
        ("stateful", BypassReason.STATEFUL_REQUEST),
        ("personalized", BypassReason.PERSONALIZED),
    ],
)
def test_each_fact_of_digests_speaks_for_the_content(fact, reason):
    none = {"sampling": False, "remote_content": False, "stateful": False, "personalized": False}
    assert why_bypassed(descriptor(content=digests(facts=Facts(**none)))) is None
    assert why_bypassed(descriptor(content=digests(facts=Facts(**{**none, fact: True})))) is reason


def test_digests_without_facts_count_as_the_worst():
    assert why_bypassed(descriptor(content=digests(facts=Facts()))) is BypassReason.PERSONALIZED


def test_rules_that_allow_more_allow_it_to_digests_too():
    sampling = Facts(sampling=True, remote_content=False, stateful=False, personalized=False)
    assert why_bypassed(descriptor(content=digests(facts=sampling)), ALL) is None
    assert why_bypassed(descriptor(endpoint="embeddings", content=digests(facts=sampling))) is None
    remote = Facts(sampling=False, remote_content=True, stateful=False, personalized=False)
    assert why_bypassed(descriptor(content=digests(facts=remote)), REMOTE_ALLOWED) is None
    personal = Facts(sampling=False, remote_content=False, stateful=False, personalized=True)
    wanted = descriptor(content=digests(facts=personal), scope={"tenant": "acme", "user": "ada"})
    assert why_bypassed(wanted, rule(scope=("user",))) is None


@pytest.mark.parametrize(
    "under",
    [rule(params_class=True), rule(ignore_params=("user",)), rule(stream_shared=True)],
    ids=["class", "ignore", "shared"],
)
def test_a_rule_that_needs_to_look_into_the_params_cannot_take_digests(under):
    assert why_bypassed(descriptor(content=digests()), under) is BypassReason.UNREPRESENTABLE_CONTENT


def test_digests_may_be_time_sensitive():
    assert why_bypassed(descriptor(content=digests()), TODAY) is BypassReason.TIME_SENSITIVE
