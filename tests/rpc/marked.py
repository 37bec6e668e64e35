"""Requests that are marked wherever a customer's or a gateway's words can stand."""

from __future__ import annotations

import os
from contextlib import suppress

import grpc

from askonce.v1 import descriptor_pb2
from rpc.answers import answer, storing
from rpc.harness import Gateway
from rpc.replies import filed, refused, verdict
from rpc.requests import describe, request, target, turns, with_body

MARKS = {
    name: f"mark-{name}-{os.getpid()}"
    for name in (
        "prompt",
        "system",
        "tool",
        "param",
        "user",
        "tenant",
        "namespace",
        "attribute",
        "version",
        "header",
        "model",
        "digest",
        "request",
        "dim",
        "route",
    )
}


def marked(**changes):
    """A request that is marked wherever a customer's or a gateway's words can stand."""
    return describe(
        MARKS["tenant"],
        turns(MARKS["prompt"]),
        system=MARKS["system"],
        tools=[{"type": "function", "function": {"name": MARKS["tool"], "parameters": {}}}],
        params={"temperature": 0, "user": MARKS["param"]},
        attributes={"a": MARKS["attribute"]},
        versions={"v": MARKS["version"]},
        headers={"h": MARKS["header"]},
        **changes,
    )


def use_everything(gateway: Gateway) -> None:
    scope = {"tenant": MARKS["tenant"], "user": MARKS["user"], "other": MARKS["dim"]}
    asked = marked(scope=scope)
    token = gateway.ask(asked, namespace=MARKS["namespace"], request_id=MARKS["request"]).fill_token
    assert filed(gateway.store(token, answer("the-answer-itself"))) == "stored"
    assert filed(gateway.store(marked(stream=True), answer("x"))) == "stream_incomplete"
    assert filed(gateway.store(marked(scope=scope), answer("the-answer-itself"))) == "stored"
    assert verdict(gateway.ask(asked, namespace=MARKS["namespace"])) == "hit exact"
    digests = descriptor_pb2.Digests(
        exact_sha256=bytes(32), canonicalization=MARKS["digest"], canonicalization_version="1"
    )
    gateway.ask(describe(MARKS["tenant"], digests=digests))


TORTURE_JSON = [
    b"{",
    b'{"a":1,"a":"%s"}',
    b'"%s',
    b'{"a":NaN,"%s":1}',
    b"[%s]",
    b'{"stream":"%s"}',
    b'["%s"',
    b"\xff%s",
]


def torture(gateway: Gateway) -> None:
    """Everything that can be wrong, with marks in it."""
    secret = MARKS["prompt"].encode()
    bad = [descriptor_pb2.Content(messages=raw.replace(b"%s", secret)) for raw in TORTURE_JSON]
    asked = [marked(parts=content) for content in bad]
    asked += [with_body(MARKS["tenant"], raw.replace(b"%s", secret)) for raw in TORTURE_JSON]
    asked += [marked(dialect=""), marked(stream=None), marked(served=target("", ""))]
    asked += [marked(dialect="anthropic"), marked(endpoint="embeddings"), marked(personalized=True)]
    for one in asked:
        for call in (
            lambda one=one: gateway.ask(one, request_id=MARKS["request"]),
            lambda one=one: gateway.store(one, answer(MARKS["prompt"], source_request_id=MARKS["request"])),
            lambda one=one: gateway.ask_all([one, marked()]),
            lambda one=one: gateway.store_all(
                [storing(one, answer()), storing(b"x", answer(MARKS["prompt"]))]
            ),
        ):
            with suppress(grpc.RpcError):
                call()
    for raw in (b"\xff", secret, request(marked()).SerializeToString()[:-3]):
        refused(lambda raw=raw: gateway.raw("DecisionService/Lookup", raw))
