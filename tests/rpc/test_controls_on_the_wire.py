"""What a caller may ask of the cache: it can narrow what the rule allows, never widen it."""

from __future__ import annotations

import pytest

from askonce.v1 import decision_pb2, decision_service_pb2
from rpc.answers import answer, chat_body, storing
from rpc.replies import filed, malformed, outcome, verdict
from rpc.requests import describe, target

MODE = decision_service_pb2.CacheMode


def test_bypass_neither_reads_nor_writes(gateway, tenant):
    gateway.fill(describe(tenant))
    decision = gateway.ask(describe(tenant), mode=MODE.CACHE_MODE_BYPASS)
    assert verdict(decision) == "bypass caller_bypass"
    assert not decision.fill_token
    assert not decision.store_answer
    assert not decision.HasField("candidate")


def test_refresh_does_not_read_and_replaces_the_entry(gateway, tenant):
    gateway.fill(describe(tenant), "old")
    decision = gateway.ask(describe(tenant), mode=MODE.CACHE_MODE_REFRESH)
    assert verdict(decision) == "miss refresh"
    assert decision.store_answer
    assert not decision.HasField("candidate")
    assert gateway.ask(describe(tenant)).candidate.body.data == chat_body("old")
    assert filed(gateway.store(decision.fill_token, answer("new"))) == "stored"
    assert gateway.ask(describe(tenant)).candidate.body.data == chat_body("new")


def test_refresh_replaces_the_entries_of_every_matcher(gateway, tenant):
    spaced = describe(tenant, [{"role": "user", "content": "a  b"}])
    plain = describe(tenant, [{"role": "user", "content": "a b"}])
    gateway.fill(spaced, "old")
    decision = gateway.ask(spaced, mode=MODE.CACHE_MODE_REFRESH)
    gateway.store(decision.fill_token, answer("new"))
    assert gateway.ask(spaced).candidate.body.data == chat_body("new")
    found = gateway.ask(plain)
    assert verdict(found) == "hit normalized"
    assert found.candidate.body.data == chat_body("new")


def test_read_only_reads_and_does_not_write(gateway, tenant):
    decision = gateway.ask(describe(tenant), mode=MODE.CACHE_MODE_READ_ONLY)
    assert verdict(decision) == "miss"
    assert not decision.fill_token
    assert not decision.store_answer
    gateway.fill(describe(tenant))
    assert verdict(gateway.ask(describe(tenant), mode=MODE.CACHE_MODE_READ_ONLY)) == "hit exact"


def test_a_hit_hands_out_no_token(gateway, tenant):
    gateway.fill(describe(tenant))
    decision = gateway.ask(describe(tenant))
    assert (decision.fill_token, decision.store_answer) == (b"", False)


@pytest.mark.parametrize("namespace", ["experiment", "x" * 256, "é\U0001f600", " "], ids=ascii)
def test_a_namespace_splits_the_scope(gateway, tenant, namespace):
    gateway.fill(describe(tenant))
    decision = gateway.ask(describe(tenant), namespace=namespace)
    assert verdict(decision) == "miss"
    gateway.store(decision.fill_token, answer("inside"))
    inside = gateway.ask(describe(tenant), namespace=namespace)
    outside = gateway.ask(describe(tenant))
    assert inside.candidate.body.data == chat_body("inside")
    assert outside.candidate.body.data == chat_body("Hello.")
    assert inside.candidate.entry_id != outside.candidate.entry_id
    assert inside.candidate.scope_sha7 != outside.candidate.scope_sha7


def test_a_store_by_descriptor_names_its_namespace_and_a_token_knows_it(gateway, tenant):
    assert filed(gateway.store(describe(tenant), answer("inside"), namespace="n")) == "stored"
    assert verdict(gateway.ask(describe(tenant))) == "miss"
    assert verdict(gateway.ask(describe(tenant), namespace="n")) == "hit exact"
    token = gateway.ask(describe(tenant)).fill_token
    assert set(malformed(lambda: gateway.store(token, answer(), namespace="n"))) == {"namespace"}


def test_a_namespace_is_no_dim(gateway, tenant):
    """`tenant` with a namespace and the same words in other places are different scopes."""
    gateway.store(describe(tenant), namespace="user")
    for asked in (describe(f"{tenant}user"), describe(tenant, scope={"tenant": tenant, "user": ""})):
        assert outcome(gateway.ask(asked)) == "miss"
    per_user = describe(scope={"tenant": tenant, "user": "user"}, attributes={"rule": "per-user"})
    assert verdict(gateway.ask(per_user)) == "miss"


def test_the_body_can_be_left_out(gateway, tenant):
    gateway.fill(describe(tenant))
    decision = gateway.ask(describe(tenant), omit_body=True)
    assert verdict(decision) == "hit exact"
    assert not decision.candidate.HasField("body")
    assert decision.candidate.entry_id == gateway.ask(describe(tenant)).candidate.entry_id


def test_an_anchor_is_given_where_it_is_asked_for(gateway, tenant):
    longer = describe(tenant, [*[{"role": "user", "content": "hi"}], {"role": "assistant", "content": "x"}])
    anchors = [gateway.ask(one, anchor=True).conversation_anchor for one in (describe(tenant), longer)]
    assert anchors[0] == anchors[1]
    assert len(bytes.fromhex(anchors[0])) == 32
    assert gateway.ask(describe(tenant)).conversation_anchor == ""


def test_a_request_id_is_no_key_material(gateway, tenant):
    gateway.fill(describe(tenant))
    assert verdict(gateway.ask(describe(tenant), request_id="another")) == "hit exact"


@pytest.mark.parametrize("rule", ["shapes"])
def test_where_shapes_share_entries_a_body_is_given_only_to_whom_can_replay_it(gateway, tenant, rule):
    document = describe(tenant, attributes={"rule": rule})
    stream = describe(tenant, stream=True, attributes={"rule": rule})
    gateway.fill(document)
    refused = gateway.ask(stream)
    assert verdict(refused) == "miss stream_shape"
    assert not refused.candidate.HasField("body")
    found = gateway.ask(stream, accepts=[decision_pb2.BODY_SHAPE_STREAM, decision_pb2.BODY_SHAPE_JSON])
    assert verdict(found) == "hit exact"
    assert found.candidate.stream == decision_pb2.BODY_SHAPE_JSON
    gateway.fill(stream)
    assert verdict(gateway.ask(stream)) == "hit exact"
    assert verdict(gateway.ask(document)) == "miss stream_shape"


def test_where_shapes_share_entries_stream_options_do_not_part_requests(gateway, tenant):
    def asking(*, stream, **params):
        return describe(
            tenant, stream=stream, params={"temperature": 0, **params}, attributes={"rule": "shapes"}
        )

    gateway.fill(asking(stream=True, stream_options={"include_usage": True}))
    both = [decision_pb2.BODY_SHAPE_STREAM, decision_pb2.BODY_SHAPE_JSON]
    assert verdict(gateway.ask(asking(stream=False), accepts=both)) == "hit exact"


def test_a_shadow_rule_never_serves_and_shows_what_it_would(gateway, tenant):
    asked = describe(tenant, attributes={"rule": "shadow"})
    first = gateway.ask(asked)
    assert (verdict(first), first.shadow) == ("miss", True)
    gateway.store(first.fill_token, answer("Hello."))
    second = gateway.ask(asked)
    assert (verdict(second), second.shadow) == ("miss", True)
    assert second.kind == decision_pb2.MATCH_KIND_EXACT
    assert second.candidate.entry_id
    assert not second.candidate.HasField("body")
    assert second.deny_reason == 0
    assert second.store_answer
    assert second.fill_token
    assert second.cache_status == "askonce; fwd=miss; detail=shadow"
    assert gateway.ask(asked, mode=MODE.CACHE_MODE_BYPASS).shadow


def test_an_off_rule_is_off_whatever_the_caller_wants(gateway, tenant):
    asked = describe(tenant, attributes={"rule": "off"})
    for mode in (0, 1, 2, 3, 4, 99):
        decision = gateway.ask(asked, mode=mode)
        assert verdict(decision) == "bypass disabled"
        assert not decision.fill_token
        assert decision.rule_id == "off"


def test_identity_served_looks_at_what_is_called(gateway, tenant):
    gateway.fill(describe(tenant, requested=target("alias", "fast")))
    assert verdict(gateway.ask(describe(tenant, requested=target("alias", "cheap")))) == "hit exact"
    assert verdict(gateway.ask(describe(tenant, route_id="r", route_version="1"))) == "hit exact"


def asked_for(tenant, rule="asked-for", **changes):
    fields = {"requested": target("alias", "fast"), "served": target(), "route_id": "r", "route_version": "1"}
    return describe(tenant, attributes={"rule": rule}, **{**fields, "rule_branch": "b", **changes})


@pytest.mark.parametrize(
    ("change", "target_rule", "both_rule"),
    [
        ({"served": target(model="other")}, "hit exact", "miss"),
        ({"requested": target("alias", "other")}, "miss", "miss"),
        ({"requested": target("other", "fast")}, "miss", "miss"),
        ({"route_id": "other"}, "miss", "miss"),
        ({"route_version": "2"}, "miss", "miss"),
        ({"rule_branch": "other"}, "miss", "miss"),
        ({"route_id": "", "route_version": "", "rule_branch": ""}, "miss", "miss"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_other_identities_look_at_what_was_asked_for(gateway, tenant, change, target_rule, both_rule):
    for rule, said in (("asked-for", target_rule), ("both", both_rule)):
        gateway.fill(asked_for(tenant, rule))
        assert verdict(gateway.ask(asked_for(tenant, rule, **change))) == said, rule


@pytest.mark.parametrize(
    ("rule", "change", "fields"),
    [
        ("asked-for", {"requested": None}, {"descriptor.requested.provider", "descriptor.requested.model"}),
        ("asked-for", {"requested": target("alias", "")}, {"descriptor.requested.model"}),
        ("asked-for", {"served": None}, set()),
        ("both", {"requested": None}, {"descriptor.requested.provider", "descriptor.requested.model"}),
        ("both", {"served": target("", "m")}, {"descriptor.served.provider"}),
    ],
)
def test_an_identity_needs_what_it_names(gateway, tenant, rule, change, fields):
    asked = asked_for(tenant, rule, **change)
    if fields:
        assert set(malformed(lambda: gateway.ask(asked))) == fields
        assert set(malformed(lambda: gateway.store(asked))) == fields
    else:
        assert verdict(gateway.ask(asked)) == "miss"


@pytest.mark.parametrize(
    ("rule", "changes", "said"),
    [
        ("asked-for", {}, "stored"),
        ("asked-for", {"served": target()}, "stored"),
        ("asked-for", {"served": target(model="x")}, "served_mismatch"),
        ("asked-for", {"fallback_used": True}, "fallback_served"),
        ("asked-for", {"fallback_used": True, "served": target(model="x")}, "fallback_served"),
        ("fallback", {"fallback_used": True}, "stored"),
        ("fallback", {"fallback_used": True, "served": target(model="x")}, "stored"),
        ("fallback", {"served": target(model="x")}, "served_mismatch"),
    ],
)
def test_an_answer_of_another_upstream_is_filed_only_where_the_rule_says_so(
    gateway, tenant, rule, changes, said
):
    asked = asked_for(tenant, rule)
    token = gateway.ask(asked).fill_token
    items = [storing(token, answer(**changes)), storing(asked, answer(**changes))]
    assert [filed(result.response) for result in gateway.store_all(items)] == [said, said]
