"""Requests given as digests: found by them alone, in a key space of their own."""

from __future__ import annotations

import pytest

from askonce.v1 import descriptor_pb2
from rpc.replies import malformed, outcome, verdict
from rpc.requests import describe

FACTS = {"sampling": False, "remote_content": False, "stateful": False, "personalized": False}


def digested(
    tenant: str, *, exact: bytes = b"e" * 32, normalized: bytes = b"n" * 32, rule: str = "", **facts
):
    said = {name: value for name, value in {**FACTS, **facts}.items() if value is not None}
    digests = descriptor_pb2.Digests(
        exact_sha256=exact,
        normalized_sha256=normalized,
        canonicalization=facts.pop("canonicalization", "own"),
        canonicalization_version="1",
        facts=descriptor_pb2.DigestFacts(**said),
    )
    return describe(tenant, digests=digests, attributes={"rule": rule})


def test_a_request_given_as_digests_is_found_by_them(gateway, tenant):
    gateway.fill(digested(tenant))
    assert verdict(gateway.ask(digested(tenant))) == "hit exact"
    assert verdict(gateway.ask(digested(tenant, exact=b"x" * 32))) == "hit normalized"
    assert verdict(gateway.ask(digested(tenant, exact=b"x" * 32, normalized=b"x" * 32))) == "miss"
    assert verdict(gateway.ask(digested(f"{tenant}-b"))) == "miss"


def test_digests_have_a_key_space_of_their_own(gateway, tenant):
    asked = digested(tenant)
    gateway.fill(asked)
    for changes in ({"canonicalization": "other"}, {"canonicalization_version": "2"}):
        other = digested(tenant)
        for name, value in changes.items():
            setattr(other.digests, name, value)
        assert verdict(gateway.ask(other)) == "miss"
    swapped = digested(tenant, exact=b"n" * 32, normalized=b"e" * 32)
    assert verdict(gateway.ask(swapped)) == "miss"
    versioned = digested(tenant)
    versioned.versions["guardrail"] = "2"
    assert verdict(gateway.ask(versioned)) == "miss"


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("sampling", "sampled_request"),
        ("remote_content", "remote_content"),
        ("stateful", "stateful_request"),
        ("personalized", "personalized"),
    ],
)
@pytest.mark.parametrize("told", [True, None])
def test_a_fact_that_is_not_told_counts_as_the_worst_case(gateway, tenant, fact, reason, told):
    decision = gateway.ask(digested(tenant, **{fact: told}))
    assert verdict(decision) == f"bypass {reason}"
    assert not decision.fill_token


def test_digests_without_facts_are_not_cached(gateway, tenant):
    asked = digested(tenant)
    asked.digests.ClearField("facts")
    assert outcome(gateway.ask(asked)) == "bypass"


def test_digests_without_a_normalized_one_have_no_normalized_entry(gateway, tenant):
    asked = digested(tenant, normalized=b"")
    decision = gateway.ask(asked)
    assert [(skip.matcher, skip.reason) for skip in decision.skipped] == [(2, 9)]
    stored = gateway.fill(asked)
    assert [entry.kind for entry in stored.entries] == [1]


@pytest.mark.parametrize("rule", ["class", "ignoring", "shapes"])
def test_a_rule_that_must_look_into_the_params_takes_no_digests(gateway, tenant, rule):
    assert verdict(gateway.ask(digested(tenant, rule=rule))) == "bypass unrepresentable_content"


@pytest.mark.parametrize(
    ("changes", "fields"),
    [
        ({"exact_sha256": b""}, {"descriptor.digests.exact_sha256"}),
        ({"exact_sha256": b"x" * 31}, {"descriptor.digests.exact_sha256"}),
        ({"normalized_sha256": b"x" * 33}, {"descriptor.digests.normalized_sha256"}),
        ({"canonicalization": ""}, {"descriptor.digests.canonicalization"}),
        ({"canonicalization_version": ""}, {"descriptor.digests.canonicalization_version"}),
        (
            {"exact_sha256": b"", "canonicalization": "", "normalized_sha256": b"x"},
            {
                "descriptor.digests.exact_sha256",
                "descriptor.digests.canonicalization",
                "descriptor.digests.normalized_sha256",
            },
        ),
    ],
)
def test_malformed_digests_are_refused(gateway, tenant, changes, fields):
    asked = digested(tenant)
    for name, value in changes.items():
        setattr(asked.digests, name, value)
    assert set(malformed(lambda: gateway.ask(asked))) == fields


def test_digests_need_a_stream_flag_like_parts(gateway, tenant):
    asked = digested(tenant)
    asked.ClearField("stream")
    assert set(malformed(lambda: gateway.ask(asked))) == {"descriptor.stream"}
    streaming = digested(tenant)
    streaming.stream = True
    gateway.fill(digested(tenant))
    assert verdict(gateway.ask(streaming)) == "miss"
