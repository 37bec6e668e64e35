"""Explain of two requests: what tells them apart is named, and for which matchers it matters."""

from __future__ import annotations

from typing import Any

import pytest

from askonce.v1 import descriptor_pb2
from rpc.explaining import EXACT, MESSAGES, RULES, Base, consistent, explain, names
from rpc.harness import running
from rpc.planted import PLANTED
from rpc.requests import describe, request, target, with_body


@pytest.fixture(scope="module")
def server():
    with running(embedders={"own": {"kind": "provided", "dim": 8}}, rules=RULES) as one:
        yield one


@pytest.mark.parametrize("name", PLANTED)
def test_the_planted_difference_is_named_and_nothing_else_is(server, name):
    planted, base, changed = PLANTED[name], Base(), Base()
    planted.change(changed)
    explained = explain(server, base.lookup(), changed.lookup())
    where = {(found.segment, found.path): found for found in explained.differences}
    found = where.pop((planted.segment, planted.path))
    assert planted.says in found.description
    assert names(found.matchers) == planted.matchers
    assert set(where) <= {("material", "messages")}, "only how many turns there are besides"
    if not explained.other.bypass_reason:
        assert consistent(explained)
        assert {
            name for one in explained.keys if not one.same for name in names([one.matcher])
        } == planted.matchers
    assert "marked-" not in str(explained)


def test_two_spellings_of_one_request_have_the_same_keys(server):
    first = with_body("acme", {"model": "m", "messages": MESSAGES, "temperature": 0}, served=target())
    second = describe("acme", MESSAGES, params=b'{"temperature": 0.0, "metadata": null}')
    explained = explain(server, request(first), request(second))
    assert [(one.path, one.matchers) for one in explained.differences] == [("params.temperature", [])]
    assert [one.same for one in explained.keys] == [True] * 3
    assert explained.summary == "both have the same keys: what one stores, the other is served"


def test_under_a_rule_that_keys_the_route_its_parts_are_named(server):
    base, changed = Base(), Base()
    for one in (base, changed):
        one.fields["attributes"] = {"rule": "asked-for"}
    changed.fields |= {"route_version": "2", "rule_branch": "b", "requested": target("router", "slow")}
    explained = explain(server, base.lookup(), changed.lookup())
    told = {(one.segment, one.path): one.description for one in explained.differences}
    assert told == {
        ("model", ""): '"fast" ↔ "slow"',
        ("route", "version"): '"1" ↔ "2"',
        ("route", "branch"): "absent ↔ present",
    }
    assert consistent(explained)


def test_other_rules_are_told_with_what_picked_them_and_what_their_keys_leave_out(server):
    base, changed = Base(), Base()
    changed.fields["attributes"] = {"rule": "ignoring"}
    explained = explain(server, base.lookup(), changed.lookup())
    told = {(one.segment, one.path): one for one in explained.differences}
    assert told["rule", ""].description == (
        "calm ↔ ignoring; the first does not meet match.attributes.rule of ignoring"
    )
    assert told["key_policy", "key.ignore_params"].description == "none ↔ user"
    assert names(told["key_policy", "key.ignore_params"].matchers) == {"exact", "normalized"}
    assert names([one.matcher for one in explained.keys if one.same]) == set()
    assert explained.keys[2].description == "the second has no key for it"
    assert explained.lookup.rule_id == "calm"
    assert explained.other.rule_id == "ignoring"


def test_shapes_that_share_are_told_and_part_of_no_key(server):
    first = describe("acme", stream=False, attributes={"rule": "shapes"})
    second = describe("acme", stream=True, attributes={"rule": "shapes"})
    explained = explain(server, request(first), request(second))
    assert [(one.segment, one.description, one.matchers) for one in explained.differences] == [
        ("stream", "json ↔ stream", [])
    ]
    assert all(one.same for one in explained.keys)


def test_digests_are_compared_by_their_names(server):
    def digests(exact: bytes, version: str = "1") -> Any:
        facts = descriptor_pb2.DigestFacts(
            sampling=False, remote_content=False, stateful=False, personalized=False
        )
        return request(
            describe(
                "acme",
                digests=descriptor_pb2.Digests(
                    exact_sha256=exact * 32,
                    normalized_sha256=b"n" * 32,
                    canonicalization="own",
                    canonicalization_version=version,
                    facts=facts,
                ),
                endpoint="messages",
            )
        )

    explained = explain(server, digests(b"a"), digests(b"b", "2"))
    told = {one.path: names(one.matchers) for one in explained.differences}
    assert told == {
        "digests.exact_sha256": EXACT,
        "digests.canonicalization_version": {"exact", "normalized"},
    }
    assert consistent(explained)
