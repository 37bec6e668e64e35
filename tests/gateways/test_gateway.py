"""What the example gateways do, asked as plain HTTP."""

from __future__ import annotations

import json
import re
import socket
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import pytest
from urllib3 import HTTPHeaderDict

from gateways.harness import until

CHAT, RESPONSES, EMBEDDINGS, MESSAGES = (
    "/v1/chat/completions",
    "/v1/responses",
    "/v1/embeddings",
    "/v1/messages",
)


def bodies(text):
    """A body for every API that streams."""
    turns = [{"role": "user", "content": text}]
    return {
        CHAT: {"model": "smart", "messages": turns},
        RESPONSES: {"model": "smart", "input": text},
        MESSAGES: {"model": "claude", "max_tokens": 9, "messages": turns},
    }


STREAMED = pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
GENERATING = pytest.mark.parametrize(
    "path", [CHAT, RESPONSES, MESSAGES], ids=["chat", "responses", "messages"]
)


# --- Hits -----------------------------------------------------------------------------------------------


@STREAMED
@GENERATING
def test_a_hit_is_byte_for_byte_what_the_provider_said(gateway, text, path, stream):
    body = {**bodies(text)[path], "stream": stream}
    first, second = gateway.post(path, body), gateway.post(path, body)
    assert first.status == second.status == 200
    assert first.data == second.data
    assert first.headers["content-type"] == second.headers["content-type"]
    assert len(gateway.calls) == 1
    assert "fwd" in first.headers["cache-status"]
    # Collapsed, when it comes while the first is being stored.
    assert re.search(r"; (hit|fwd=miss; collapsed)", second.headers["cache-status"])
    assert second.headers["x-askonce-cache-kind"] == "exact"
    assert re.fullmatch(r"[0-9a-f]{64}", second.headers["x-askonce-cache-entry"])
    assert second.headers["x-askonce-cache-verified"] == "false"
    assert int(second.headers["age"]) >= 0
    assert "age" not in first.headers


def test_a_body_that_says_the_same_in_other_words_hits(gateway, text):
    said = json.dumps(text)
    one = f'{{"model":"smart","temperature":1,"messages":[{{"role":"user","content":{said}}}]}}'
    other = (
        f'{{ "messages": [ {{"content": {said}, "role": "user"}} ], "temperature": 1.0, "model": "smart"}}'
    )
    assert gateway.fill(CHAT, one.encode()).data == gateway.post(CHAT, other.encode()).data
    assert len(gateway.calls) == 1


def test_what_may_change_the_answer_is_another_request(gateway, text):
    plain = bodies(text)[MESSAGES]
    gateway.post(MESSAGES, plain)
    gateway.post(MESSAGES, {**plain, "max_tokens": 10})
    gateway.post(MESSAGES, plain, headers={"anthropic-beta": "context-1m"})
    gateway.post(MESSAGES, plain, headers={"anthropic-version": "2099-01-01"})
    gateway.post(f"{MESSAGES}?beta=true", plain)
    assert len(gateway.calls) == 5
    assert gateway.calls[-1]["path"] == f"{MESSAGES}?beta=true"


def test_every_value_of_a_header_counts(gateway, text):
    plain = bodies(text)[MESSAGES]
    for values in (["a"], ["a", "b"], ["", "b"], ["b", "a"]):
        headers = HTTPHeaderDict()
        headers.extend({"authorization": "Bearer sk-acme"})
        for value in values:
            headers.add("anthropic-beta", value)
        answer = gateway.http.request(
            "POST", f"{gateway.url}{MESSAGES}", body=json.dumps(plain), headers=headers
        )
        assert answer.status == 200
        assert "fwd=miss" in answer.headers["cache-status"], values
    assert len(gateway.calls) == 4


def test_a_provider_that_redirects_is_not_followed(gateway, text):
    gateway.provider.behave(redirect=f"{gateway.spare.url}/elsewhere")
    assert gateway.post(CHAT, gateway.chat(text), redirect=False).status == 307
    assert not gateway.spare.calls


def test_the_provider_is_sent_the_targets_model_and_the_providers_key(gateway, text):
    gateway.post(CHAT, {**gateway.chat(text), "cache": {"mode": "refresh"}, "x_unknown": [1]})
    gateway.post(MESSAGES, bodies(text)[MESSAGES], headers={"anthropic-version": "2023-06-01"})
    openai, claude = gateway.calls
    assert openai["body"] == {**gateway.chat(text), "model": "gpt-4o-2024-08-06", "x_unknown": [1]}
    assert openai["headers"]["authorization"] == "Bearer real-openai"
    assert claude["headers"]["x-api-key"] == "real-anthropic"
    assert claude["headers"]["anthropic-version"] == "2023-06-01"
    assert "sk-acme" not in json.dumps(gateway.calls)


def test_the_answer_is_priced_and_carries_its_usage(gateway, text):
    gateway.fill(CHAT, gateway.chat(text))
    with gateway.sidecar.wait_until_serving() as sidecar:
        found = sidecar.ask(_descriptor(gateway.chat(text, model="gpt-4o-2024-08-06")))
    assert found.candidate.usage.input_tokens == 9
    assert found.candidate.cost_avoided_usd == pytest.approx((9 * 2.5 + 4 * 10) / 1e6)


def _descriptor(body):
    from askonce.v1 import descriptor_pb2  # noqa: PLC0415 -- of this test alone

    served = descriptor_pb2.Target(provider="openai", model=body["model"])
    return descriptor_pb2.RequestDescriptor(
        dialect="openai",
        endpoint="chat",
        served=served,
        scope={"tenant": "acme"},
        body_json=json.dumps(body).encode(),
    )


# --- Who may ask ----------------------------------------------------------------------------------------


def test_without_a_key_of_the_gateway_nothing_is_answered(gateway, text):
    gateway.post(CHAT, gateway.chat(text))
    for key in ("", "sk-nobody", "acme"):
        refused = gateway.post(CHAT, gateway.chat(text), key=key)
        assert refused.status == 401
        assert refused.json()["error"]["type"] == "authentication_error"
    assert gateway.post(MESSAGES, bodies(text)[MESSAGES], key="sk-nobody").json()["type"] == "error"
    assert len(gateway.calls) == 1


def test_a_thousand_tenants_never_see_one_anothers_answers(gateway, text):
    body = {**gateway.chat(text), "model": "model-0"}
    rounds = [f"sk-{number}" for number in range(1000)] * 2
    rounds = [rounds[(at * 7919) % len(rounds)] for at in range(len(rounds))]  # interleaved

    def ask(key):
        return key, gateway.post(CHAT, body, key=key).json()["id"]

    with ThreadPoolExecutor(16) as pool:
        answers = list(pool.map(ask, rounds))
    seen = {key: {answer for other, answer in answers if other == key} for key in set(rounds)}
    assert all(len(ids) == 1 for ids in seen.values())
    assert len({next(iter(ids)) for ids in seen.values()}) == 1000
    assert len(gateway.calls) == 1000


# --- What may be asked of the cache ---------------------------------------------------------------------


@pytest.mark.parametrize(
    ("headers", "cache", "calls"),
    [
        ({}, None, 1),
        ({"x-askonce-cache": "bypass"}, None, 3),
        ({"x-askonce-cache": "refresh"}, None, 3),
        ({"x-askonce-cache": "read-only"}, None, 1),
        ({"cache-control": "no-cache"}, None, 3),
        ({"cache-control": "no-store"}, None, 1),
        ({"cache-control": "no-store, no-cache"}, None, 3),
        ({"cache-control": "max-age=600"}, None, 1),
        ({"cache-control": "max-stale, public"}, None, 1),
        ({"x-askonce-cache-namespace": "blue"}, None, 2),
        ({"x-askonce-cache-ttl": "60"}, None, 1),
        ({}, {"mode": "refresh"}, 3),
        ({"x-askonce-cache": "refresh"}, {"mode": "default"}, 1),
        ({"x-askonce-cache-namespace": "blue"}, {"namespace": ""}, 1),
        ({"x-askonce-cache": "refresh"}, {"ttl": 60}, 3),
    ],
    ids=json.dumps,
)
def test_what_a_caller_asks_of_the_cache(gateway, text, headers, cache, calls):
    gateway.fill(CHAT, gateway.chat(text))
    body = gateway.chat(text) if cache is None else gateway.chat(text, cache=cache)
    for _ in range(2):
        assert gateway.post(CHAT, body, headers=headers).status == 200
    assert len(gateway.calls) == calls
    assert all("cache" not in call["body"] for call in gateway.calls)


def test_a_read_only_miss_is_not_stored(gateway, text):
    for _ in range(2):
        gateway.post(CHAT, gateway.chat(text), headers={"x-askonce-cache": "read-only"})
    assert len(gateway.calls) == 2


def test_a_short_life_is_short(gateway, text):
    headers = {"x-askonce-cache-ttl": "1"}
    gateway.post(CHAT, gateway.chat(text), headers=headers)
    time.sleep(2)
    answer = gateway.post(CHAT, gateway.chat(text), headers=headers)
    assert answer.headers.get("x-askonce-cache-reason") in {"expired", None}  # none once it is swept
    assert len(gateway.calls) == 2


MALFORMED = [
    (b"", {}),
    (b"[]", {}),
    (b'{"model": "smart"', {}),
    (b'{"messages": []}', {}),
    (b'{"model": 1}', {}),
    (b'{"model": "smart", "stream": "yes"}', {}),
    (b'{"model": "smart", "cache": "refresh"}', {}),
    (b'{"model": "smart", "cache": {"mode": "sometimes"}}', {}),
    (b'{"model": "smart", "cache": {"ttl": "1h"}}', {}),
    (b'{"model": "smart", "cache": {"ttl": 0}}', {}),
    (b'{"model": "smart", "cache": {"colour": 1}}', {}),
    (b'{"model": "smart"}', {"x-askonce-cache": "sometimes"}),
    (b'{"model": "smart"}', {"x-askonce-cache-ttl": "soon"}),
    (b'{"model": "smart"}', {"cache-control": "max-age=-1"}),
]


@pytest.mark.parametrize(("body", "headers"), MALFORMED, ids=str)
def test_what_is_malformed_is_the_callers_mistake(gateway, body, headers):
    refused = gateway.post(CHAT, body, headers=headers)
    assert refused.status == 400
    assert refused.json()["error"]["type"] == "invalid_request_error"
    assert gateway.calls == []


def test_a_model_that_is_not_there_and_one_of_another_api(gateway, text):
    assert gateway.post(CHAT, gateway.chat(text, model="nothing")).status == 404
    assert gateway.post(CHAT, gateway.chat(text, model="claude")).status == 404
    assert gateway.calls == []


# --- What must not be stored ----------------------------------------------------------------------------

BROKEN = {
    "fails": {"status": 400},
    "is_cut_by_the_limit": {"finish": "length"},
    "is_filtered": {"finish": "content_filter"},
    "breaks_off": {"cut_after": 2},
}
WORDS = {
    MESSAGES: {"length": "max_tokens", "content_filter": "refusal"},
    RESPONSES: {"length": "max_output_tokens"},
}


@STREAMED
@GENERATING
@pytest.mark.parametrize("how", BROKEN)
def test_an_answer_that_is_not_whole_is_not_stored(gateway, text, path, stream, how):
    reason = WORDS.get(path, {}).get(BROKEN[how].get("finish"))
    gateway.provider.behave(**({"finish": reason} if reason else BROKEN[how]))
    body = {**bodies(text)[path], "stream": stream}
    try:
        gateway.post(path, body)
    except Exception as broken:
        assert how == "breaks_off", broken  # noqa: PT017 -- how it breaks off is the HTTP library's to say
    gateway.provider.behave()
    answer = gateway.post(path, body)
    assert answer.status == 200
    assert len(gateway.calls) == 2
    assert gateway.post(path, body).data == answer.data
    assert len(gateway.calls) == 2


@GENERATING
def test_a_stream_with_an_error_in_it_is_not_stored(gateway, text, path):
    gateway.provider.behave(error_after=2)
    body = {**bodies(text)[path], "stream": True}
    assert b"overloaded" in gateway.post(path, body).data
    gateway.provider.behave()
    assert b"overloaded" not in gateway.post(path, body).data
    assert len(gateway.calls) == 2


LAST_EVENTS = {
    CHAT: b"data: [DONE]\n\n",
    RESPONSES: b"event: response.completed",
    MESSAGES: b"event: message_stop",
}


def test_a_caller_that_goes_in_mid_stream_ends_the_call_and_the_next_one_gets_a_fresh_answer(gateway, text):
    gateway.provider.behave(pace=0.05)
    body = {**gateway.chat(text), "stream": True}
    leave_at(gateway, CHAT, body, b"data:")
    gateway.provider.behave()
    answer = gateway.post(CHAT, body)
    assert b"Answer 2" not in answer.data  # word by word, so not in one piece
    assert answer.data.endswith(b"data: [DONE]\n\n")
    assert len(gateway.calls) == 2
    assert gateway.post(CHAT, body).data == answer.data


@GENERATING
def test_a_caller_that_goes_at_the_last_event_has_had_the_whole_answer(gateway, text, path):
    gateway.provider.behave(linger=5)
    body = {**bodies(text)[path], "stream": True}
    leave_at(gateway, path, body, LAST_EVENTS[path])
    assert LAST_EVENTS[path] in gateway.post(path, body).data
    assert len(gateway.calls) == 1


def leave_at(gateway, path, body, mark):
    """Ask for a stream, and go as soon as `mark` and the end of its event have come."""
    raw = json.dumps(body).encode()
    host, port = gateway.url.removeprefix("http://").split(":")
    with socket.create_connection((host, int(port))) as caller:
        head = (
            f"POST {path} HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer sk-acme\r\nContent-Length: {len(raw)}"
        )
        caller.sendall(head.encode() + b"\r\n\r\n" + raw)
        data = read_until(caller, mark)
        while b"\n\n" not in data[data.index(mark) :]:
            data += caller.recv(4096)


def read_until(connection, mark):
    data = b""
    while mark not in data:
        piece = connection.recv(4096)
        assert piece, data
        data += piece
    return data


# --- Many at once ---------------------------------------------------------------------------------------


@STREAMED
@GENERATING
def test_a_hundred_callers_with_one_request_call_the_provider_once(gateway, text, path, stream):
    gateway.provider.behave(latency=0.3)
    body = {**bodies(text)[path], "stream": stream}
    with ThreadPoolExecutor(100) as pool:
        answers = [
            future.result().data for future in [pool.submit(gateway.post, path, body) for _ in range(100)]
        ]
    assert len(set(answers)) == 1
    assert len(gateway.calls) == 1


def test_callers_of_a_provider_that_breaks_off_do_not_all_break_off(gateway, text):
    gateway.provider.behave(latency=0.3, cut_after=2)
    body = {**gateway.chat(text), "stream": True}
    outcomes = []

    def ask():
        try:
            outcomes.append(gateway.post(CHAT, body).data)
        except Exception:
            outcomes.append(None)

    callers = [threading.Thread(target=ask) for _ in range(20)]
    callers[0].start()
    until(lambda: len(gateway.calls) == 1)
    gateway.provider.behave()
    for caller in callers[1:]:
        caller.start()
    for caller in callers:
        caller.join()
    assert outcomes.count(None) == 1
    assert len({outcome for outcome in outcomes if outcome}) == 1
    assert len(gateway.calls) == 2


# --- Routes ---------------------------------------------------------------------------------------------


@STREAMED
def test_a_provider_that_fails_is_replaced_and_its_replacement_not_stored_as_its_answer(
    gateway, text, stream
):
    gateway.provider.behave(status=500)
    body = {**gateway.chat(text), "stream": stream}
    answer = gateway.post(CHAT, body)
    assert answer.status == 200
    assert b"spare-4o" in answer.data
    gateway.provider.behave()
    assert b"spare-4o" not in gateway.post(CHAT, body).data
    assert (len(gateway.provider.calls), len(gateway.spare.calls)) == (2, 1)


def test_the_last_providers_own_error_is_the_callers_answer(gateway, text):
    gateway.provider.behave(status=503)
    gateway.spare.behave(status=429)
    answer = gateway.post(CHAT, gateway.chat(text))
    assert answer.status == 429
    assert answer.json()["error"]["type"] == "rate_limit_error"


# --- Streams for documents and back ---------------------------------------------------------------------


def test_a_stream_without_usage_is_not_given_for_a_document(shared, text):
    stream, document = {**shared.chat(text), "stream": True}, shared.chat(text)
    shared.fill(CHAT, stream)
    assert shared.post(CHAT, document).json()["usage"]["total_tokens"] == 13
    assert len(shared.calls) == 2


def test_a_document_is_given_for_a_stream_with_usage_or_without(shared, text):
    document = shared.fill(CHAT, shared.chat(text)).json()
    for usage in (False, True):
        body = {**shared.chat(text), "stream": True, "stream_options": {"include_usage": usage}}
        answer = shared.post(CHAT, body)
        assert answer.headers["content-type"] == "text/event-stream"
        assert answer.data.endswith(b"data: [DONE]\n\n")
        assert (b'"total_tokens":13' in answer.data.replace(b" ", b"")) is usage
        assert document["id"].encode() in answer.data
    assert len(shared.calls) == 1
