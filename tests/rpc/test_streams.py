"""Streams: stored, found, complete, and never given for a document."""

from __future__ import annotations

from typing import Any

import pytest

from rpc.answers import answer_for
from rpc.replies import verdict
from rpc.requests import BODIES, describe, wants_stream, with_body


@pytest.mark.parametrize("api", [api for api in sorted(BODIES) if api[1] != "embeddings"], ids="-".join)
@pytest.mark.parametrize("form", ["body", "parts"])
def test_a_stream_is_stored_and_found_and_never_given_for_a_document(gateway, tenant, api, form):
    dialect, endpoint = api
    body = {**BODIES[api], "temperature": 0}

    def asking(*, stream: bool) -> Any:
        if form == "body":
            return with_body(tenant, {**body, "stream": stream}, dialect=dialect, endpoint=endpoint)
        messages = body.get("input") or body["messages"]
        params = {name: body[name] for name in body if name not in ("model", "input", "messages")}
        return describe(tenant, messages, params=params, stream=stream, dialect=dialect, endpoint=endpoint)

    streaming = asking(stream=True)
    assert wants_stream(streaming)
    gateway.fill(streaming)
    found = gateway.ask(streaming)
    assert verdict(found) == "hit exact"
    assert found.candidate.body.content_type == "text/event-stream"
    assert found.candidate.body.data == answer_for(streaming).body
    assert verdict(gateway.ask(asking(stream=False))) == "miss"
