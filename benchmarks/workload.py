"""The requests and answers that every load benchmark uses: OpenAI chat bodies of about 1.5 kB."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import grpc
from google.protobuf.internal.encoder import _VarintBytes
from google.protobuf.message import Message

from askonce.v1 import decision_pb2, decision_service_pb2, decision_service_pb2_grpc, descriptor_pb2

QUESTIONS = 1_000
"""How many different descriptors a load goes round."""
_BATCH = 50
_SYSTEM = " ".join(["You are a careful assistant of the billing team and answer in full sentences."] * 5)
_TURNS = (
    ("user", " ".join(["How do I change how an invoice is paid?"] * 8)),
    ("assistant", " ".join(["Open the invoice and choose another way to pay."] * 7)),
)
_ANSWER = " ".join(["Open the overdue invoice, choose another way to pay, and confirm it by mail."] * 15)


def descriptor(topic: str, number: int) -> descriptor_pb2.RequestDescriptor:
    """Return the descriptor of question `number` about `topic`, with a body of about 1.5 kB."""
    turns = [("system", _SYSTEM), *_TURNS, ("user", f"And for invoice {topic}-{number:06d} that is overdue?")]
    body = {
        "model": "gpt-4o",
        "temperature": 0,
        "max_tokens": 512,
        "messages": [{"role": role, "content": content} for role, content in turns],
    }
    return described(body)


def described(body: Mapping[str, Any]) -> descriptor_pb2.RequestDescriptor:
    """Return the descriptor of a chat request."""
    return descriptor_pb2.RequestDescriptor(
        dialect="openai",
        endpoint="chat",
        served=descriptor_pb2.Target(provider="openai", model="gpt-4o"),
        scope={"tenant": "acme"},
        body_json=json.dumps(body).encode(),
    )


def lookup(topic: str, number: int, *, request_id: str = "") -> decision_service_pb2.LookupRequest:
    """Return the Lookup of question `number`."""
    return decision_service_pb2.LookupRequest(descriptor=descriptor(topic, number), request_id=request_id)


def answer(topic: str, number: int) -> decision_service_pb2.UpstreamResponse:
    """Return what the provider answered to question `number`, about 1.5 kB."""
    body = {
        "id": f"chatcmpl-{topic}-{number:06d}",
        "object": "chat.completion",
        "model": "gpt-4o",
        "choices": [
            {
                "index": 0,
                "finish_reason": "stop",
                "message": {"role": "assistant", "content": f"Invoice {topic}-{number:06d}: {_ANSWER}"},
            }
        ],
        "usage": {"prompt_tokens": 310, "completion_tokens": 220, "total_tokens": 530},
    }
    return decision_service_pb2.UpstreamResponse(
        body=json.dumps(body).encode(),
        content_type="application/json",
        status_code=200,
        finish_reasons=["stop"],
        usage=decision_pb2.Usage(input_tokens=310, output_tokens=220),
        source_request_id=f"req-{topic}-{number:06d}",
    )


def store(topic: str, number: int) -> decision_service_pb2.StoreRequest:
    """Return the Store of question `number` that no Lookup preceded."""
    return decision_service_pb2.StoreRequest(
        descriptor=descriptor(topic, number), response=answer(topic, number)
    )


def seed(channel: grpc.Channel, topic: str, count: int) -> bytes:
    """Fill the cache as a gateway does: Lookup, then Store with the token. Returns one hit's response.

    Raises RuntimeError when a question does not become a hit.
    """
    stub = decision_service_pb2_grpc.DecisionServiceStub(channel)

    def fill(number: int) -> None:
        missed = stub.Lookup(lookup(topic, number)).decision
        kept = stub.Store(
            decision_service_pb2.StoreRequest(fill_token=missed.fill_token, response=answer(topic, number))
        )
        if kept.outcome != decision_service_pb2.STORE_OUTCOME_STORED:
            raise RuntimeError(f"question {number} was not stored: {kept}")

    with ThreadPoolExecutor(_BATCH) as pool:
        list(pool.map(fill, range(count)))
    for number in range(count):
        found = stub.Lookup(lookup(topic, number))
        if (
            found.decision.outcome != decision_pb2.OUTCOME_HIT
            or found.decision.candidate.body.data != answer(topic, number).body
        ):
            raise RuntimeError(f"question {number} did not become a hit: {found.decision.cache_status}")
    return found.SerializeToString()


def write(path: Path, messages: Iterable[Message]) -> Path:
    """Write `messages`, each behind its length as a varint, the way ghz reads a binary file."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        for framed in _framed(messages):
            file.write(framed)
    return path


def _framed(messages: Iterable[Message]) -> Iterator[bytes]:
    for message in messages:
        data = message.SerializeToString(deterministic=True)
        yield _VarintBytes(len(data)) + data
