"""Which rule a request falls under: the first whose every condition holds."""

from __future__ import annotations

import pytest

from askonce_server.core.changes import cold_matchers
from askonce_server.core.descriptor import Target
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Eligibility, Identity, Match, Rule, SemanticPolicy, first_match
from core.builders import descriptor, rule


def holds(match, wanted=None, *, stream=False):
    return match.holds(wanted or descriptor(), stream=stream)


def test_an_empty_match_holds_for_everything():
    assert holds(Match())
    assert holds(Match(), descriptor(dialect="", endpoint="", served=Target(), scope={}))


@pytest.mark.parametrize(
    ("match", "other"),
    [
        (Match(endpoint=("chat",)), {"endpoint": "responses"}),
        (Match(dialect=("openai",)), {"dialect": "anthropic"}),
        (Match(provider=("openai",)), {"served": Target("azure", "gpt-4o")}),
        (Match(model=("gpt-4o",)), {"served": Target("openai", "gpt-4o-mini")}),
        (Match(scope={"tenant": "acme"}), {"scope": {"tenant": "globex"}}),
        (Match(scope={"tenant": "*"}), {"scope": {}}),
    ],
)
def test_each_condition_lets_some_pass_and_others_not(match, other):
    assert holds(match)
    assert not holds(match, descriptor(**other))


def test_attributes_have_to_be_there():
    match = Match(attributes={"team": "search", "tier": "*"})
    assert holds(match, descriptor(attributes={"team": "search", "tier": "", "more": "x"}))
    assert not holds(match, descriptor(attributes={"team": "search"}))
    assert not holds(match, descriptor(attributes={"team": "ads", "tier": "1"}))


def test_a_rule_may_be_for_streams_only_or_for_none():
    assert holds(Match(stream=True), stream=True)
    assert not holds(Match(stream=True), stream=False)
    assert holds(Match(stream=False), stream=False)
    assert not holds(Match(stream=False), stream=True)
    assert holds(Match(stream=None), stream=True)


@pytest.mark.parametrize(
    ("pattern", "model", "matches"),
    [
        ("gpt-4*", "gpt-4o", True),
        ("gpt-4*", "gpt-4", True),
        ("gpt-4*", "gpt-3.5", False),
        ("gpt-4*", "GPT-4o", False),
        ("gpt-4?", "gpt-4o", True),
        ("gpt-4?", "gpt-4", False),
        ("gpt-4.1", "gpt-4-1", False),
        ("*", "", True),
        ("meta/*/chat", "meta/llama/3/chat", True),
        ("a*", "b\na", False),
    ],
)
def test_models_are_matched_by_case_sensitive_globs(pattern, model, matches):
    assert holds(Match(model=(pattern,)), descriptor(served=Target("openai", model))) is matches


def test_one_of_several_patterns_is_enough_but_every_condition_counts():
    match = Match(endpoint=("chat", "responses"), dialect=("openai",))
    assert holds(match, descriptor(endpoint="responses"))
    assert not holds(match, descriptor(endpoint="messages"))
    assert not holds(match, descriptor(endpoint="responses", dialect="anthropic"))


def test_model_and_provider_mean_the_served_ones():
    wanted = descriptor(served=Target("openai", "gpt-4o"), requested=Target("router", "auto"))
    assert not holds(Match(model=("auto",)), wanted)
    assert not holds(Match(provider=("router",)), wanted)


def test_the_first_rule_that_holds_decides():
    rules = [
        Rule("streams", Match(stream=True)),
        Rule("search", Match(attributes={"team": "search"})),
        Rule("rest"),
        Rule("never"),
    ]
    assert first_match(rules, descriptor(), stream=True).id == "streams"
    assert first_match(rules, descriptor(attributes={"team": "search"}), stream=False).id == "search"
    assert first_match(rules, descriptor(), stream=False).id == "rest"
    assert first_match(rules[:1], descriptor(), stream=False) is None
    assert first_match([], descriptor(), stream=False) is None


@pytest.mark.parametrize(
    ("changes", "cold"),
    [
        ({}, ()),
        ({"ttl_ms": 5}, ()),
        ({"match": Match(endpoint=("chat",))}, ()),
        ({"eligibility": Eligibility(sampled=True)}, ()),
        ({"strategy": (Matcher.NORMALIZED, Matcher.EXACT)}, ()),
        ({"strategy": (Matcher.EXACT,)}, ()),
        ({"scope": ("tenant", "user")}, (Matcher.EXACT, Matcher.NORMALIZED)),
        ({"scope": ()}, (Matcher.EXACT, Matcher.NORMALIZED)),
        ({"ignore_params": ("user",)}, (Matcher.EXACT, Matcher.NORMALIZED)),
        ({"identity": Identity.BOTH}, (Matcher.EXACT, Matcher.NORMALIZED)),
        ({"stream_shared": True, "strategy": (Matcher.NORMALIZED,)}, (Matcher.NORMALIZED,)),
        ({"case_fold": True}, (Matcher.NORMALIZED,)),
        ({"history_max_messages": 3}, ()),
    ],
    ids=str,
)
def test_a_rule_starts_cold_where_other_keys_are_made(changes, cold):
    assert cold_matchers(rule(), rule(**changes)) == cold


def test_a_semantic_matcher_starts_cold_under_another_embedder_and_not_under_another_threshold():
    before = rule(strategy=(Matcher.SEMANTIC,), semantic=SemanticPolicy("minilm", 0.9))
    under = {"strategy": (Matcher.EXACT, Matcher.SEMANTIC)}
    assert cold_matchers(before, rule(semantic=SemanticPolicy("minilm", 0.8), **under)) == ()
    other = rule(semantic=SemanticPolicy("far", 0.9), **under)
    assert cold_matchers(before, other) == (Matcher.SEMANTIC,)
    deeper = rule(semantic=SemanticPolicy("minilm", 0.9), history_max_messages=2, **under)
    assert cold_matchers(before, deeper) == (Matcher.SEMANTIC,)
