"""Explain of two requests: why one is never looked up, and what is no request at all."""

from __future__ import annotations

import grpc
import pytest

from askonce.v1 import admin_service_pb2, decision_pb2, reason_pb2
from rpc.explaining import MESSAGES, RULES, explain
from rpc.harness import DEADLINE_SECONDS, running
from rpc.replies import malformed, refused
from rpc.requests import describe, dumps, parts, request


@pytest.fixture(scope="module")
def server():
    with running(embedders={"own": {"kind": "provided", "dim": 8}}, rules=RULES) as one:
        yield one


CAUSES = {
    "scope.tenant": ("scope_missing", "is missing", {"scope": {}}),
    "personalized": ("personalized", "no dim user", {"personalized": True}),
    "params.temperature": (
        "sampled_request",
        "is 0.7",
        {"parts": parts(MESSAGES, params={"temperature": 0.7})},
    ),
    "messages[0].content[1].image_url": (
        "remote_content",
        "points to content elsewhere",
        {
            "parts": parts(
                [
                    {
                        "role": "user",
                        "content": [
                            {"type": "text", "text": "What is this?"},
                            {"type": "image_url", "image_url": {"url": "https://example.com/a.png"}},
                        ],
                    }
                ],
                params={"temperature": 0},
            )
        },
    ),
    "params.previous_response_id": (
        "stateful_request",
        "what the provider keeps",
        {"parts": parts(MESSAGES, params={"temperature": 0, "previous_response_id": "r"})},
    ),
    "tools[0]": (
        "stateful_request",
        "what the provider keeps",
        {"parts": parts(MESSAGES, params={"temperature": 0}, tools=[{"type": "web_search"}])},
    ),
    "parts.params": (
        "unrepresentable_content",
        "a key twice",
        {"parts": parts(MESSAGES, params=b'{"a": 1, "a": 2}')},
    ),
    "params": (
        "unrepresentable_content",
        "beyond",
        {"parts": parts(MESSAGES, params=b'{"temperature": 0, "a": 1e400}')},
    ),
    "rules[strict]": ("no_rule", "match.endpoint (it is 'rerank')", {"endpoint": "rerank"}),
}


@pytest.mark.parametrize("path", CAUSES)
def test_a_request_that_is_not_eligible_has_its_reason_and_the_member_that_caused_it(server, path):
    reason, says, changes = CAUSES[path]
    changes = {"endpoint": "messages", **changes}
    asked = describe("acme", MESSAGES, **changes)
    if changes.get("scope") == {}:
        asked.scope.clear()
    explained = explain(server, request(asked), request(describe("acme", MESSAGES, endpoint="messages")))
    told = reason_pb2.BypassReason.Name(explained.lookup.bypass_reason).removeprefix("BYPASS_REASON_")
    assert told.lower() == reason
    causes = {cause.path: cause.description for cause in explained.lookup.causes}
    assert says in causes[path]
    assert explained.summary.startswith(f"the first request is never looked up: {reason} (")
    assert explained.other.bypass_reason == 0


def test_a_matcher_that_is_skipped_says_which_text_is_to_blame(server):
    code = [{"role": "user", "content": "Fix:\n\n```\na  = 1\n```"}]
    explained = explain(server, request(describe("acme", code)), request(describe("acme", MESSAGES)))
    assert [(one.matcher, one.reason) for one in explained.lookup.skipped] == [
        (decision_pb2.MATCH_KIND_NORMALIZED, reason_pb2.BYPASS_REASON_WHITESPACE_SIGNIFICANT)
    ]
    assert [cause.path for cause in explained.lookup.causes] == ["messages[0]"]
    assert explained.keys[1].description == "has no key in the first: whitespace_significant"


def test_malformed_requests_are_named_by_their_fields_in_both(server):
    good = request(describe("acme"))
    broken = request(describe("acme", parts=parts(b"[", params=b"{")))
    fields = malformed(lambda: explain(server, broken, request(describe("acme", dialect=""))))
    assert set(fields) == {
        "lookup.descriptor.parts.messages",
        "lookup.descriptor.parts.params",
        "other.descriptor.dialect",
    }
    assert "at byte" in fields["lookup.descriptor.parts.messages"]
    assert set(malformed(lambda: explain(server, None, good))) == {"lookup"}


def test_the_gateways_listener_does_not_answer_it(server):
    wanted = admin_service_pb2.ExplainRequest(lookup=request(describe("acme")))
    refusal = refused(lambda: server.gateway.admin.Explain(wanted, timeout=DEADLINE_SECONDS))
    assert refusal.code is grpc.StatusCode.UNIMPLEMENTED


def test_the_answer_is_bounded_and_says_so(server):
    first = describe("acme", [{"role": "user", "content": f"{at}"} for at in range(3000)])
    second = describe("acme", [{"role": "user", "content": f"-{at}"} for at in range(3000)])
    explained = explain(server, request(first), request(second))
    assert len(explained.differences) == 100
    assert explained.differences_left_out
    assert explained.ByteSize() < 32_000


def test_what_is_asked_is_not_counted(server):
    before = server.stats().decisions
    explain(server, request(describe("acme")), request(describe("globex")))
    assert server.stats().decisions == before


def test_a_message_beyond_the_limit_is_refused(server):
    much = request(describe("acme", [{"role": "user", "content": "a" * (5 << 20)}]))
    refusal = refused(lambda: explain(server, much, much))
    assert refusal.code is grpc.StatusCode.RESOURCE_EXHAUSTED
    assert dumps("") == b'""'
