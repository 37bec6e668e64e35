"""Explain of one request against the store: what became of the entry, and what tells the nearest apart."""

from __future__ import annotations

from typing import Any

import pytest

from askonce.v1 import admin_service_pb2, decision_pb2, reason_pb2
from rpc.answers import answer_for
from rpc.harness import DEADLINE_SECONDS, running, short_folder
from rpc.replies import filed, malformed, verdict
from rpc.requests import describe, request, target, turns
from rpc.semantic import asking, at, semantic_rule

RULES = [
    semantic_rule(id="near", match={"endpoint": "chat", "attributes": {"rule": "near"}}),
    {"id": "shadow", "match": {"attributes": {"rule": "shadow"}}, "mode": "shadow"},
    {"id": "other", "match": {"attributes": {"rule": "other"}}, "key": {"ignore_params": ["user"]}},
    {"id": "plain"},
]
EMBEDDERS = {"own": {"kind": "provided", "dim": 8}}
NEAR = {"attributes": {"rule": "near"}}


@pytest.fixture(scope="module")
def server():
    with running(embedders=EMBEDDERS, rules=RULES) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


def explain(server: Any, asked: Any, **rest: Any) -> Any:
    wanted = admin_service_pb2.ExplainRequest(lookup=request(asked, **rest))
    return server.operator.admin.Explain(wanted, timeout=DEADLINE_SECONDS)


def fates(explained: Any) -> dict[str, str]:
    return {
        kind(one.matcher): admin_service_pb2.EntryFate.Name(one.fate).removeprefix("ENTRY_FATE_").lower()
        for one in explained.whereabouts
    }


def kind(matcher: Any) -> str:
    return decision_pb2.MatchKind.Name(matcher).removeprefix("MATCH_KIND_").lower()


def apart(explained: Any) -> dict[tuple[str, str], str]:
    return {(one.segment, one.path): one.description for one in explained.differences}


MESSAGES = turns("What is a kettle?", "A vessel.", "And a lamp?")
TOOLS = [{"type": "function", "function": {"name": "find_order", "parameters": {}}}]
PARAMS = {"temperature": 0, "top_p": 0.5, "novel": 1}


def stored(server: Any, tenant: str, **changes: Any) -> Any:
    """A request whose answer is stored, and which tests change a little."""
    asked = wanted(tenant, **changes)
    assert filed(server.gateway.store(asked, answer_for(asked))) == "stored"
    return asked


def wanted(tenant: str, **changes: Any) -> Any:
    given = {"messages": MESSAGES, "params": PARAMS, "system": "Be terse.", "tools": TOOLS}
    given |= {"versions": {"guardrail": "7"}, "headers": {"anthropic-beta": "x"}}
    return describe(tenant, **{**given, **changes})


UNLIKE: dict[str, tuple[dict[str, Any], tuple[str, str], str]] = {
    "temperature": (
        {"params": {**PARAMS, "temperature": 0.0001, "seed": 1}},
        ("material", "params.temperature"),
        "differs",
    ),
    "a param that it lacks": (
        {"params": {"temperature": 0, "novel": 1}},
        ("material", "params.top_p"),
        "the stored request alone has one",
    ),
    "a param of an unknown name": (
        {"params": {"temperature": 0, "top_p": 0.5}},
        ("material", "params"),
        "the stored request alone has one, of a name that this one lacks",
    ),
    "a param more": (
        {"params": {**PARAMS, "max_tokens": 5}},
        ("material", "params.max_tokens"),
        "the stored request has none",
    ),
    "the last turn": (
        {"messages": [*MESSAGES[:2], {"role": "user", "content": "And a chair?"}]},
        ("material", "messages[2]"),
        "the last turn differs",
    ),
    "an earlier turn": (
        {"messages": [{"role": "user", "content": "What is a pot?"}, *MESSAGES[1:]]},
        ("material", "messages"),
        "an earlier turn differs",
    ),
    "only the last turn": (
        {"messages": MESSAGES[2:]},
        ("material", "messages"),
        "the stored request alone has earlier turns",
    ),
    "system": ({"system": "Be kind."}, ("material", "system"), "differs"),
    "tools": ({"tools": None}, ("material", "tools"), "the stored request alone has one"),
    "model": ({"served": target("openai", "gpt-5")}, ("model", ""), "differs"),
    "provider": ({"served": target("azure", "gpt-4o")}, ("provider", ""), "differs"),
    "dialect": ({"dialect": "custom"}, ("dialect", ""), "differs"),
    "stream": ({"stream": True}, ("stream", ""), "differs"),
    "a version": ({"versions": {"guardrail": "8"}}, ("versions", "guardrail"), "differs"),
    "a header": ({"headers": {"x-other": "1"}}, ("headers", "x-other"), "the stored request has none"),
}


@pytest.mark.parametrize("name", UNLIKE)
def test_what_tells_the_nearest_stored_answer_apart_is_named(server, tenant, name):
    changes, where, says = UNLIKE[name]
    stored(server, tenant)
    explained = explain(server, wanted(tenant, **changes))
    assert verdict(explained.decision) == "miss"
    assert apart(explained)[where] == says
    assert set(fates(explained).values()) == {"unknown"}
    assert explained.scope.answers == 1
    assert explained.nearest[0].compared
    assert explained.summary.startswith("a miss: it was never stored; the nearest stored answer differs in ")


def test_the_nearest_comes_first(server, tenant):
    far = stored(server, tenant, system="x", tools=None, messages=turns("Something else"))
    near = stored(server, tenant, system="Be kind.")
    explained = explain(server, wanted(tenant))
    assert [len(one.differences) for one in explained.nearest] == [1, 4]
    assert explained.nearest[0].entries[0].entry_id == server.gateway.ask(near).candidate.entry_id
    assert explained.nearest[1].entries[0].entry_id == server.gateway.ask(far).candidate.entry_id


def test_a_hit_is_explained_as_one_and_changes_nothing(server, tenant):
    asked = stored(server, tenant)
    before = server.stats()
    explained = explain(server, asked)
    assert verdict(explained.decision) == "hit exact"
    assert not explained.decision.candidate.HasField("body")
    assert fates(explained) == {"exact": "live", "normalized": "live"}
    assert explained.summary == "a Lookup would be served now: exact hit"
    missed = explain(server, wanted(tenant, system="Be kind."))
    assert not missed.decision.fill_token
    assert not missed.decision.lease_holder
    after = server.stats()
    assert (after.decisions, dict(after.tallies)) == (before.decisions, dict(before.tallies))


def test_an_empty_scope_is_told_with_its_dims_and_no_value(server):
    explained = explain(server, wanted("marked-tenant"), namespace="marked-namespace")
    assert list(explained.scope.dims) == ["tenant"]
    assert (explained.scope.namespace, explained.scope.answers) == (True, 0)
    assert explained.summary == "a miss: nothing is stored in this scope"
    assert "marked-" not in str(explained)


def test_a_bypass_is_told_with_its_cause_and_asks_no_store(server, tenant):
    explained = explain(server, wanted(tenant, params={"temperature": 0.7}))
    assert verdict(explained.decision) == "bypass sampled_request"
    assert not explained.HasField("scope")
    assert explained.summary.startswith("it is never looked up: sampled_request (params.temperature is 0.7")


def test_another_rule_and_other_key_settings_are_named(server, tenant):
    stored(server, tenant)
    explained = explain(server, wanted(tenant, attributes={"rule": "other"}))
    told = apart(explained)
    assert told["rule", ""] == "was stored under plain"
    assert told["key_policy", ""].startswith("was stored under other key settings for ")
    never = "it was never stored, or so long ago that it is not remembered"
    said = f"{never}; the same request was stored under other key settings"
    assert {one.description for one in explained.whereabouts} == {said}


def test_a_shadow_rule_is_told_to_be_one(server, tenant):
    asked = stored(server, tenant, attributes={"rule": "shadow"})
    explained = explain(server, asked)
    assert explained.summary == "a miss: the rule is in shadow mode, else it would be exact hit"


def test_malformed_is_named_by_its_field(server):
    assert set(malformed(lambda: explain(server, describe("acme", dialect="")))) == {
        "lookup.descriptor.dialect"
    }


def test_many_answers_are_looked_at_up_to_a_bound_that_is_told(server, tenant):
    items = [wanted(tenant, system=f"{number}") for number in range(300)]
    for one in items:
        server.gateway.store(one, answer_for(one))
    explained = explain(server, wanted(tenant))
    assert (explained.scope.answers, explained.scope.bounded) == (256, True)
    assert len(explained.nearest) == 3
    assert explained.ByteSize() < 8_000


def near(tenant: str, text: str, cosine: float, **changes: Any) -> Any:
    return asking(text, at(cosine), tenant=tenant, **{**NEAR, **changes})


def filled(server: Any, asked: Any) -> None:
    assert filed(server.gateway.store(asked, answer_for(asked))) == "stored"


@pytest.mark.parametrize(
    ("asked", "deny", "says"),
    [
        (("Where is a kettle?", 0.5), "below_threshold", "similarity 0.5000, below 0.85"),
        (("Where is a kettle?", 0.9), "gray_unverified", "similarity 0.9000 (gray), and no verifier decides"),
        (("Where is the kettle of 1999?", 0.97), "guard_number", "the guard number tells the two apart"),
        (("Where is the kettle not?", 0.97), "guard_negation", "the guard negation tells the two apart"),
    ],
)
def test_a_near_text_that_is_not_served_is_told_with_its_reason(server, tenant, asked, deny, says):
    text, cosine = asked
    filled(server, near(tenant, "Where is the kettle?", 1))
    explained = explain(server, near(tenant, text, cosine))
    assert verdict(explained.decision) == f"miss {deny}"
    assert explained.decision.candidate.similarity == pytest.approx(cosine, abs=1e-5)
    assert (explained.decision.candidate.threshold, explained.decision.candidate.low_threshold) == (
        0.95,
        0.85,
    )
    assert says in explained.summary
    assert bool(explained.guard) is ("guard" in deny)


def test_a_verifier_is_asked_and_its_verdict_told(tenant):
    rule = semantic_rule(verifier="kreciprocal")
    with running(embedders=EMBEDDERS, rules=[rule]) as one:
        filled(one, asking("Where is the kettle?", at(1), tenant=tenant))
        explained = explain(one, asking("Where is a kettle?", at(0.9), tenant=tenant))
    assert verdict(explained.decision) == "miss verifier_too_few_neighbors"
    assert explained.decision.candidate.verifier == "kreciprocal"
    assert explained.summary.endswith("and there are too few neighbours for a verdict by kreciprocal")


def test_another_embedder_is_named(tenant):
    embedders = {**EMBEDDERS, "newer": {"kind": "provided", "dim": 4}}
    older, newer = semantic_rule(id="near"), semantic_rule(id="near", embedder="newer")
    only = {"strategy": ["semantic"]}
    with short_folder() as folder:
        with running(folder, embedders=embedders, rules=[{**older, **only}]) as one:
            filled(one, asking("Where is the kettle?", at(1), tenant=tenant))
        with running(folder, embedders=embedders, rules=[{**newer, **only}]) as one:
            asked = asking("Where is the kettle?", at(1)[:16], tenant=tenant)
            asked.embedding.embedder = "newer"
            explained = explain(one, asked)
    assert verdict(explained.decision) == "miss"
    assert apart(explained) == {("embedder", ""): "differs"}
    assert explained.whereabouts[0].description.endswith(
        "the same request was stored under other key settings or with another embedder"
    )


def both(fate: str) -> dict[str, str]:
    return dict.fromkeys(("exact", "normalized"), fate)


def purge(server: Any, **target: Any) -> None:
    wanted = admin_service_pb2.PurgeRequest(**target)
    server.operator.admin.Purge(wanted, timeout=DEADLINE_SECONDS)


def swept(server: Any, clock: Any) -> None:
    while server.sidecar.store.sweep(clock.now_ms()).more:
        pass


@pytest.fixture
def timed(start, clock):
    """A server of its own, whose clock stands until it is moved."""
    return start(embedders=EMBEDDERS, rules=RULES)


def test_what_expired_is_told_before_and_after_it_is_swept(timed, clock, tenant):
    asked = stored(timed, tenant)
    ended = clock.now_ms() + 3_600_000
    clock.advance(3_600_000)
    for sweep in (lambda: None, lambda: swept(timed, clock)):
        sweep()
        explained = explain(timed, asked)
        assert fates(explained) == both("expired")
        assert {one.time.ToMilliseconds() for one in explained.whereabouts} == {ended}
        assert "ttl ended at 20" in explained.summary


TARGETS = {
    "everything": {"everything": {}},
    "model": {"model": {"provider": "openai", "model": "gpt-4o"}},
    "dim tenant": {"dim": {"name": "tenant", "value": "acme"}},
    "scope": {"scope": {"dims": [{"name": "tenant", "value": "acme"}]}},
}


@pytest.mark.parametrize("of", TARGETS)
def test_what_was_purged_is_told_with_its_time_before_and_after_it_is_swept(timed, clock, of):
    asked = stored(timed, "acme")
    clock.advance(1_000)
    purge(timed, **TARGETS[of])
    at_ms = clock.now_ms()
    clock.advance(1_000)
    for sweep in (lambda: None, lambda: swept(timed, clock)):
        sweep()
        explained = explain(timed, asked)
        assert fates(explained) == both("purged")
        assert {one.time.ToMilliseconds() for one in explained.whereabouts} == {at_ms}
        assert explained.scope.last_purge.ToMilliseconds() == at_ms
        assert explained.scope.last_purge_of == of
        assert explained.summary.startswith("a miss: it was purged at 20")
    timed.gateway.fill(asked)
    assert fates(explain(timed, asked)) == both("live")


def test_what_was_deleted_is_told(server, tenant):
    asked = stored(server, tenant)
    found = server.gateway.ask(asked).candidate.entry_id
    server.operator.admin.DeleteEntry(
        admin_service_pb2.DeleteEntryRequest(entry_id=found), timeout=DEADLINE_SECONDS
    )
    explained = explain(server, asked)
    assert fates(explained) == both("deleted")
    assert explained.summary.startswith("a miss: it was deleted at 20")


@pytest.mark.parametrize("by_token", [True, False])
def test_what_was_refused_is_told_with_the_reason(server, tenant, by_token):
    asked = wanted(tenant)
    source = server.gateway.ask(asked).fill_token if by_token else asked
    assert filed(server.gateway.store(source, answer_for(asked, finish_reasons=["length"]))) == "truncated"
    explained = explain(server, asked)
    assert fates(explained) == both("refused")
    assert explained.whereabouts[0].refusal_reason == reason_pb2.REFUSAL_REASON_TRUNCATED
    assert explained.summary.endswith(": truncated")
    server.gateway.store(asked, answer_for(asked))
    assert fates(explain(server, asked)) == both("live")


def test_a_refusal_that_may_leave_nothing_behind_is_not_remembered(server, tenant):
    asked = wanted(tenant)
    kept = server.gateway.store(asked, answer_for(asked), logging_disabled=True)
    assert filed(kept) == "logging_disabled"
    assert fates(explain(server, asked)) == both("unknown")


def test_what_was_evicted_is_told(tenant):
    with running(store={"max_bytes": "8MiB"}, rules=RULES[1:]) as one:
        items = [wanted(tenant, system=f"{number}") for number in range(120)]
        for each in items:
            assert filed(one.gateway.store(each, answer_for(each, "x" * (200 << 10)))) == "stored"
        explained = [explain(one, each) for each in items]
    told = [fates(each)["exact"] for each in explained]
    assert set(told) == {"evicted", "live"}
    assert told[0] == "evicted"
    assert explained[0].summary.startswith("a miss: it was evicted to make room at 20")


def test_what_became_of_an_entry_outlives_a_restart(tenant):
    with short_folder() as folder:
        with running(folder, rules=RULES[1:]) as one:
            asked = wanted(tenant)
            one.gateway.store(asked, answer_for(asked, finish_reasons=["length"]))
        with running(folder, rules=RULES[1:]) as one:
            assert fates(explain(one, asked)) == both("refused")


def test_a_near_text_that_was_purged_or_expired_is_told(timed, clock):
    asked = near("acme", "Where is the kettle?", 1)
    filled(timed, asked)
    clock.advance(1)
    purge(timed, everything={})
    explained = explain(timed, asked)
    assert set(fates(explained).values()) == {"purged"}
    assert ("generation", "") in apart(explained)
    clock.advance(10)
    timed.gateway.fill(asked)
    clock.advance(3_600_000)
    assert set(fates(explain(timed, asked)).values()) == {"expired"}
    swept(timed, clock)
    assert set(fates(explain(timed, asked)).values()) == {"expired"}


def test_nothing_of_what_is_stored_is_told_but_digests_and_times(server, tenant):
    marked_scope = f"marked-{tenant}"
    asked = describe(
        marked_scope,
        turns("marked-prompt one", "marked-prompt two", "marked-prompt three"),
        system="marked-system",
        tools=[{"type": "function", "function": {"name": "marked-tool", "parameters": {}}}],
        params={"temperature": 0, "user": "marked-param", "marked-param": 1},
        headers={"anthropic-beta": "marked-header"},
        versions={"guardrail": "marked-version"},
        **NEAR,
    )
    asked.embedding.CopyFrom(asking("", at(1)).embedding)
    filled(server, asked)
    other = near(marked_scope, "Where is the kettle?", 1)
    for explained in (explain(server, other), explain(server, asked)):
        assert explained.scope.answers == 1
        assert "marked" not in str(explained)
    assert len(explain(server, other).nearest[0].differences) > 5
