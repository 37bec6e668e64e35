"""Which rule decides: the first that matches, and none means no cache."""

from __future__ import annotations

import pytest

from rpc.answers import answer, chat_body, storing
from rpc.harness import running
from rpc.replies import filed, verdict
from rpc.requests import describe, target, with_body

MATCHING = [
    {"id": "endpoint", "match": {"endpoint": "embeddings"}},
    {"id": "endpoints", "match": {"endpoint": ["rerank", "moderations"]}},
    {"id": "dialect", "match": {"dialect": "anthropic"}},
    {"id": "provider", "match": {"provider": "azure*"}},
    {"id": "model", "match": {"model": "gpt-4.1*"}},
    {"id": "stream", "match": {"stream": True}},
    {"id": "attributes", "match": {"attributes": {"team": "search-*", "tier": "gold"}}},
    {"id": "scope", "match": {"scope": {"tenant": "vip-*"}}},
    {"id": "first", "match": {"attributes": {"two": "*"}}},
    {"id": "second", "match": {"attributes": {"two": "*"}}},
    {"id": "last", "match": {"endpoint": "chat", "model": "gpt-4o"}},
]


@pytest.fixture(scope="module")
def matching():
    with running(rules=MATCHING) as server:
        yield server.gateway


@pytest.mark.parametrize(
    ("changes", "rule"),
    [
        ({}, "last"),
        ({"endpoint": "embeddings"}, "endpoint"),
        ({"endpoint": "rerank"}, "endpoints"),
        ({"endpoint": "moderations"}, "endpoints"),
        ({"endpoint": "Embeddings"}, ""),
        ({"dialect": "anthropic"}, "dialect"),
        ({"served": target("azure-eu", "x")}, "provider"),
        ({"served": target("Azure-eu", "x")}, ""),
        ({"served": target("openai", "gpt-4.1-mini")}, "model"),
        ({"served": target("openai", "gpt-4o-mini")}, ""),
        ({"requested": target("azure-eu", "gpt-4.1")}, "last"),
        ({"stream": True}, "stream"),
        ({"attributes": {"team": "search-eu", "tier": "gold"}}, "attributes"),
        ({"attributes": {"team": "search-eu"}}, "last"),
        ({"attributes": {"team": "search-eu", "tier": "silver"}}, "last"),
        ({"scope": {"tenant": "vip-1"}}, "scope"),
        ({"attributes": {"two": ""}}, "first"),
    ],
)
def test_the_first_rule_that_matches_decides(matching, changes, rule):
    decision = matching.ask(describe(**changes))
    assert decision.rule_id == rule
    if not rule:
        assert verdict(decision) == "bypass no_rule"
        assert filed(matching.store(describe(**changes))) == "no_rule"


def test_a_body_says_itself_whether_it_is_a_stream(matching):
    body = {"messages": [], "temperature": 0, "stream": True}
    assert matching.ask(with_body("acme", body)).rule_id == "stream"
    assert matching.ask(with_body("acme", {**body, "stream": False})).rule_id == "last"


def test_attributes_choose_the_rule_and_are_no_key_material(gateway, tenant):
    gateway.fill(describe(tenant, attributes={"trace": "a"}))
    assert verdict(gateway.ask(describe(tenant, attributes={"trace": "b", "more": "c"}))) == "hit exact"


def test_rules_of_one_key_policy_share_and_the_order_of_dims_counts(gateway, tenant):
    scope = {"tenant": tenant, "user": "ann"}
    gateway.fill(describe(scope=scope, attributes={"rule": "per-user"}))
    assert verdict(gateway.ask(describe(scope=scope, attributes={"rule": "per-user"}))) == "hit exact"
    assert verdict(gateway.ask(describe(scope=scope, attributes={"rule": "user-first"}))) == "miss"
    assert verdict(gateway.ask(describe(scope=scope))) == "miss"


def test_another_user_s_answer_is_never_given(gateway, tenant):
    def asking(user: str, text: str = "my balance?"):
        said = [{"role": "user", "content": text}]
        return describe(
            messages=said, scope={"tenant": tenant, "user": user}, attributes={"rule": "per-user"}
        )

    gateway.fill(asking("ann"))
    for user in ("bob", "Ann", "ann ", "*", "an", "annb", "a%"):
        decision = gateway.ask(asking(user))
        assert verdict(decision) == "miss"
        assert not decision.HasField("candidate")
    assert verdict(gateway.ask(asking("ann"))) == "hit exact"


def test_a_missing_or_empty_dim_never_means_everyone(gateway, tenant):
    gateway.fill(describe(tenant))
    for scope in ({}, {"tenant": ""}, {"Tenant": tenant}, {"user": "ann"}):
        asked = describe(scope=scope)
        assert verdict(gateway.ask(asked)) == "bypass scope_missing"
        assert filed(gateway.store(asked)) == "scope_missing"
    half = describe(scope={"tenant": tenant}, attributes={"rule": "per-user"})
    assert verdict(gateway.ask(half)) == "bypass scope_missing"


def test_dims_that_the_rule_does_not_name_do_not_part_requests(gateway, tenant):
    gateway.fill(describe(scope={"tenant": tenant, "user": "ann"}))
    assert verdict(gateway.ask(describe(scope={"tenant": tenant, "user": "bob"}))) == "hit exact"


@pytest.mark.parametrize(
    ("one", "other"),
    [
        (("ab", "c"), ("a", "bc")),
        (("a", "b"), ("b", "a")),
        (("x\0", "y"), ("x", "\0y")),
        (("a,b", "c"), ("a", "b,c")),
    ],
)
def test_dims_are_framed(gateway, tenant, one, other):
    def asking(values):
        scope = {"tenant": f"{tenant}{values[0]}", "user": values[1]}
        return describe(scope=scope, attributes={"rule": "per-user"})

    gateway.fill(asking(one))
    assert verdict(gateway.ask(asking(other))) == "miss"


def test_everybody_shares_where_the_rule_says_so(gateway, tenant):
    said = [{"role": "user", "content": tenant}]
    rule = {"attributes": {"rule": "everybody"}}
    gateway.fill(describe("a", said, **rule))
    assert verdict(gateway.ask(describe("b", said, **rule))) == "hit exact"
    assert verdict(gateway.ask(describe(None, said, **rule))) == "hit exact"


def test_a_thousand_tenants_with_one_prompt_each_find_their_own_answer(gateway, tenant):
    names = [f"{tenant}-{at}" for at in range(1000)]
    for start in range(0, 1000, 250):
        some = names[start : start + 250]
        stored = gateway.store_all([storing(describe(name), answer(f"for {name}")) for name in some])
        assert {filed(result.response) for result in stored} == {"stored"}
    found = {}
    for start in range(0, 1000, 250):
        some = names[start : start + 250]
        results = gateway.ask_all([describe(name) for name in some])
        found.update({name: result.decision for name, result in zip(some, results, strict=True)})
    assert {verdict(decision) for decision in found.values()} == {"hit exact"}
    assert all(found[name].candidate.body.data == chat_body(f"for {name}") for name in names)
    assert len({decision.candidate.entry_id for decision in found.values()}) == 1000


def test_what_depends_on_who_asks_is_cached_for_them_alone(gateway, tenant):
    assert verdict(gateway.ask(describe(tenant, personalized=True))) == "bypass personalized"
    with_user = describe(scope={"tenant": tenant, "user": "ann"}, personalized=True)
    assert verdict(gateway.ask(with_user)) == "bypass personalized"
    rule = {"attributes": {"rule": "per-user"}}
    mine = describe(scope={"tenant": tenant, "user": "ann"}, personalized=True, **rule)
    gateway.fill(mine)
    assert verdict(gateway.ask(mine)) == "hit exact"
    nobody = describe(scope={"tenant": tenant, "user": ""}, personalized=True, **rule)
    assert verdict(gateway.ask(nobody)) == "bypass scope_missing"
