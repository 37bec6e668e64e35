"""Purge and delete through the admin service: at once, and for good."""

from __future__ import annotations

import time

import grpc
import pytest

from askonce.v1 import admin_service_pb2
from rpc.answers import answer_for
from rpc.harness import DEADLINE_SECONDS, running
from rpc.replies import filed, malformed, refused, verdict
from rpc.requests import describe, target, turns
from rpc.semantic import asking, at, semantic

FULL = {"strategy": ["exact", "normalized", "semantic"]}


@pytest.fixture(scope="module")
def server():
    with running(**semantic()) as one:
        yield one


@pytest.fixture
def tenant(request):
    return request.node.name


def purge(server, **wanted):
    request = admin_service_pb2.PurgeRequest(**wanted)
    return server.operator.admin.Purge(request, timeout=DEADLINE_SECONDS)


def purge_dim(server, tenant, **more):
    return purge(server, dim={"name": "tenant", "value": tenant}, **more)


def questions(tenant, count=3):
    words = "kettle lamp carpet bicycle printer".split()
    return [asking(f"Where is the {word}?", at(1), tenant=tenant) for word in words[:count]]


def fill(server, tenant, count=3):
    asked = questions(tenant, count)
    for one in asked:
        assert filed(server.gateway.store(one, answer_for(one))) == "stored"
    return asked


def verdicts(server, asked):
    return [verdict(server.gateway.ask(one)) for one in asked]


def test_a_purge_of_a_tenant_hides_all_of_its_entries_and_nobody_elses(server, tenant):
    mine, others = fill(server, tenant), fill(server, f"{tenant}-other")
    counted = purge_dim(server, tenant, dry_run=True)
    assert (counted.entries, counted.HasField("rows_gone_by")) == (9, False)
    assert verdicts(server, mine) == ["hit exact"] * 3
    purged = purge_dim(server, tenant)
    assert purged.entries == 9
    assert purged.rows_gone_by.seconds > time.time() - 5
    assert verdicts(server, mine) == ["miss"] * 3
    near = asking("Please, where is the kettle?", at(0.97), tenant=tenant)
    assert verdict(server.gateway.ask(near)) == "miss"
    assert verdicts(server, others) == ["hit exact"] * 3
    assert purge_dim(server, tenant, dry_run=True).entries == 0


def test_an_answer_whose_request_began_before_the_purge_cannot_come_back(server, tenant):
    (asked,) = questions(tenant, 1)
    token = server.gateway.ask(asked).fill_token
    purge_dim(server, tenant)
    assert filed(server.gateway.store(token, answer_for(asked))) == "generation_changed"
    assert verdict(server.gateway.ask(asked)) == "miss"
    assert filed(server.gateway.store(server.gateway.ask(asked).fill_token, answer_for(asked))) == "stored"
    assert verdict(server.gateway.ask(asked)) == "hit exact"


def test_a_store_by_descriptor_has_to_say_that_it_began_after_the_purge(server, tenant):
    (asked,) = questions(tenant, 1)
    before = time.time()
    purge_dim(server, tenant)
    assert filed(server.gateway.store(asked, answer_for(asked))) == "generation_changed"
    late = answer_for(asked)
    late.request_start_time.FromMilliseconds(int(before * 1000) - 1000)
    assert filed(server.gateway.store(asked, late)) == "generation_changed"
    late.request_start_time.FromMilliseconds(int(time.time() * 1000) + 2)
    time.sleep(0.01)
    assert filed(server.gateway.store(asked, late)) == "stored"


def test_a_purge_of_a_model_hides_its_entries_alone(server, tenant):
    mine = [
        asking("Where is it?", at(1), tenant=tenant, served=target("openai", name)) for name in ("a", "b")
    ]
    for one in mine:
        server.gateway.store(one, answer_for(one))
    purge(server, model={"provider": "openai", "model": "a"})
    assert verdicts(server, mine) == ["miss", "hit exact"]


def test_a_purge_of_a_scope_hides_it_alone():
    rule = {"id": "two", "match": {"endpoint": "chat"}, "scope": ["tenant", "user"]}
    other = {"id": "one", "scope": ["tenant"], "match": {"dialect": "custom"}}
    with running(rules=[rule, other]) as server:
        mine = [
            describe("acme", turns("hello there"), scope={"tenant": "acme", "user": user})
            for user in ("ann", "bob")
        ]
        for one in mine:
            server.gateway.store(one, answer_for(one))
        dims = [{"name": "tenant", "value": "acme"}, {"name": "user", "value": "ann"}]
        purged = purge(server, scope={"dims": dims})
        assert (purged.entries, list(purged.uncovered_rules)) == (2, ["one"])
        assert verdicts(server, mine) == ["miss", "hit exact"]


def test_a_purge_of_a_scope_says_what_it_leaves_under_namespaces_and_a_dim_covers():
    with running(rules=[{"id": "one", "match": {"endpoint": "chat"}}]) as server:
        for tenant, namespace in (("acme", ""), ("acme", "a"), ("acme", "b"), ("globex", "a")):
            asked = describe(tenant, turns("hello there"))
            assert filed(server.gateway.store(asked, answer_for(asked), namespace=namespace)) == "stored"
        scope = {"dims": [{"name": "tenant", "value": "acme"}]}
        counted = purge(server, scope=scope, dry_run=True)
        assert (counted.entries, counted.entries_left) == (2, 4)
        purged = purge(server, scope={**scope, "namespace": "a"})
        assert (purged.entries, purged.entries_left) == (2, 4)
        purged = purge(server, scope=scope)
        assert (purged.entries, purged.entries_left, purged.uncovered_rules) == (2, 2, [])
        left = describe("acme", turns("hello there"))
        assert verdict(server.gateway.ask(left, controls={"namespace": "b"})) == "hit exact"
        purged = purge_dim(server, "acme")
        assert (purged.entries, purged.entries_left) == (2, 0)
        assert verdict(server.gateway.ask(left, controls={"namespace": "b"})) == "miss"


def test_a_purge_of_everything_hides_everything():
    with running(**semantic()) as server:
        asked = fill(server, "acme") + fill(server, "globex")
        assert purge(server, everything={}, dry_run=True).entries == 18
        assert purge(server, everything={}).entries == 18
        assert verdicts(server, asked) == ["miss"] * 6


def test_rules_that_a_purge_does_not_cover_are_named():
    shared = {"id": "shared", "scope": [], "shared": True, "match": {"endpoint": "embeddings"}}
    with running(rules=[shared, {"id": "own"}]) as server:
        assert list(purge_dim(server, "acme", dry_run=True).uncovered_rules) == ["shared"]


@pytest.mark.parametrize(
    ("wanted", "fields"),
    [
        ({}, ["target"]),
        ({"dim": {"name": "tenant"}}, ["dim.value"]),
        ({"dim": {"value": "acme"}}, ["dim.name"]),
        ({"model": {"provider": "openai"}}, ["model.model"]),
        ({"scope": {}}, ["scope.dims"]),
        ({"scope": {"dims": [{"name": "tenant"}]}}, ["scope.dims[0].value"]),
    ],
)
def test_what_is_left_unsaid_is_never_everything(server, wanted, fields):
    assert sorted(malformed(lambda: purge(server, **wanted))) == fields


def test_an_entry_is_shown_and_deleted_with_the_others_of_its_store(server, tenant):
    (asked,) = fill(server, tenant, 1)
    token = server.gateway.ask(asked, mode=3).fill_token
    candidate = server.gateway.ask(asked).candidate
    found = server.operator.admin.GetEntry(admin_service_pb2.GetEntryRequest(entry_id=candidate.entry_id))
    assert (found.kind, found.rule_id, found.body_bytes) == (1, "near", len(candidate.body.data))
    assert found.entry.entry_id == candidate.entry_id
    assert not found.entry.HasField("body")
    request = admin_service_pb2.DeleteEntryRequest(entry_id=candidate.entry_id)
    deleted = server.operator.admin.DeleteEntry(request)
    assert sorted(entry.kind for entry in deleted.entries) == [1, 2, 3]
    assert verdict(server.gateway.ask(asked)) == "miss"
    assert filed(server.gateway.store(token, answer_for(asked))) == "generation_changed"
    refusal = refused(
        lambda: server.operator.admin.GetEntry(admin_service_pb2.GetEntryRequest(entry_id=candidate.entry_id))
    )
    assert (refusal.code, refusal.info.reason) == (grpc.StatusCode.NOT_FOUND, "NOT_FOUND")
    assert not server.operator.admin.DeleteEntry(request).entries


@pytest.mark.parametrize("entry_id", ["", "abc", "G" * 64, "A" * 64, "0" * 63])
def test_what_is_no_entry_id_is_refused_by_name(server, entry_id):
    for call, message in (
        (server.operator.admin.GetEntry, admin_service_pb2.GetEntryRequest(entry_id=entry_id)),
        (server.operator.admin.DeleteEntry, admin_service_pb2.DeleteEntryRequest(entry_id=entry_id)),
    ):
        assert list(malformed(lambda call=call, message=message: call(message))) == ["entry_id"]
