"""Real sidecars over real gRPC, and short ways to say what a gateway would say to them."""

from __future__ import annotations

import json
import socket
import tempfile
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import Any, Self

import grpc
import yaml
from askonce.v1 import (
    admin_service_pb2_grpc,
    decision_pb2,
    decision_service_pb2,
    decision_service_pb2_grpc,
    descriptor_pb2,
    reason_pb2,
)
from askonce_server.app import Sidecar
from askonce_server.config.load import load
from google.protobuf.duration_pb2 import Duration
from google.rpc import error_details_pb2, status_pb2
from grpc_health.v1 import health_pb2, health_pb2_grpc

Descriptor = descriptor_pb2.RequestDescriptor
HELLO = [{"role": "user", "content": "hi"}]
DEADLINE_SECONDS = 30.0
_OPTIONS = (
    ("grpc.default_authority", "localhost"),
    ("grpc.max_receive_message_length", -1),
    ("grpc.use_local_subchannel_pool", 1),  # no connection, and no back-off, is shared with another test
)


# --- requests -------------------------------------------------------------------------------------------


def dumps(value: Any) -> bytes:
    """JSON as a gateway would send it; bytes pass as they are."""
    return value if isinstance(value, bytes) else json.dumps(value, ensure_ascii=False).encode()


def parts(
    messages: Any = None, *, params: Any = None, system: Any = None, tools: Any = None
) -> descriptor_pb2.Content:
    """Normalized parts; what is None is absent."""
    given = {"messages": messages, "system": system, "tools": tools, "params": params}
    return descriptor_pb2.Content(
        **{name: dumps(value) for name, value in given.items() if value is not None}
    )


def describe(
    tenant: str | None = "acme",
    messages: Any = HELLO,
    *,
    params: Any = None,
    system: Any = None,
    tools: Any = None,
    **changes: Any,
) -> Descriptor:
    """A chat request at temperature 0, not streamed, to openai/gpt-4o, with `changes` of its fields."""
    fields: dict[str, Any] = {
        "dialect": "openai",
        "endpoint": "chat",
        "served": descriptor_pb2.Target(provider="openai", model="gpt-4o"),
        "stream": False,
        "scope": {"tenant": tenant} if tenant is not None else {},
    }
    if not {"parts", "body_json", "digests"} & changes.keys():
        params = {"temperature": 0} if params is None else params
        fields["parts"] = parts(messages, params=params, system=system, tools=tools)
    fields.update(changes)
    return Descriptor(**{name: value for name, value in fields.items() if value is not None})


def with_body(tenant: str, body: Any, **changes: Any) -> Descriptor:
    """The same as a provider's own body; it says by itself whether it is a stream."""
    return describe(tenant, **{"body_json": dumps(body), "stream": None, **changes})


def turns(*said: str) -> list[dict[str, str]]:
    """A conversation: user and assistant in turn."""
    roles = ("user", "assistant")
    return [{"role": roles[at % 2], "content": text} for at, text in enumerate(said)]


BODIES: Mapping[tuple[str, str], dict[str, Any]] = {
    ("openai", "chat"): {"model": "gpt-4o", "messages": HELLO},
    ("openai", "responses"): {"model": "gpt-4o", "input": "hi"},
    ("openai", "embeddings"): {"model": "e", "input": "hi"},
    ("anthropic", "messages"): {"model": "claude", "max_tokens": 64, "messages": HELLO},
}
"""A small body of every dialect and endpoint that is known."""


def target(provider: str = "openai", model: str = "gpt-4o") -> descriptor_pb2.Target:
    return descriptor_pb2.Target(provider=provider, model=model)


def seconds(value: float) -> Duration:
    duration = Duration()
    duration.FromNanoseconds(round(value * 1e9))
    return duration


# --- answers --------------------------------------------------------------------------------------------


def chat_body(text: str = "Hello.", *, finish: str = "stop") -> bytes:
    """An answer of OpenAI's chat endpoint."""
    choice = {"index": 0, "finish_reason": finish, "message": {"role": "assistant", "content": text}}
    return dumps({"id": "c", "object": "chat.completion", "choices": [choice]})


def chat_stream(text: str = "Hello.", *, finish: str = "stop", done: bool = True) -> bytes:
    """The same as a recorded stream."""
    chunks = [{"choices": [{"index": 0, "delta": {"content": piece}}]} for piece in text]
    chunks.append({"choices": [{"index": 0, "delta": {}, "finish_reason": finish}]})
    events = [b"data: " + dumps(chunk) + b"\n\n" for chunk in chunks]
    return b"".join(events) + (b"data: [DONE]\n\n" if done else b"")


def answer(body: bytes | str = "Hello.", /, **changes: Any) -> decision_service_pb2.UpstreamResponse:
    """A whole answer of status 200; text becomes a chat answer that says it."""
    fields: dict[str, Any] = {
        "body": chat_body(body) if isinstance(body, str) else body,
        "content_type": "application/json",
        "status_code": 200,
        "finish_reasons": ["stop"],
    }
    fields.update(changes)
    return decision_service_pb2.UpstreamResponse(**fields)


def streamed(text: str = "Hello.", /, **changes: Any) -> decision_service_pb2.UpstreamResponse:
    """A whole answer that was streamed."""
    fields = {"content_type": "text/event-stream", "stream_complete": True, **changes}
    return answer(chat_stream(text), **fields)


def answer_for(asked: Descriptor, text: str = "Hello.", /, **changes: Any) -> Any:
    """An answer that may be stored for `asked`, whatever its dialect and shape."""
    shape = {"stream_complete": True, "content_type": "text/event-stream"} if wants_stream(asked) else {}
    known = _ANSWERS.get((asked.dialect, asked.endpoint))
    body = text.encode() if known is None else known[0](text, stream=wants_stream(asked))
    return answer(body, **{"finish_reasons": ["stop"] if known is None else known[1], **shape, **changes})


def wants_stream(asked: Descriptor) -> bool:
    """Whether the caller of `asked` wants a stream."""
    if asked.WhichOneof("content") == "body_json" and not asked.HasField("stream"):
        return bool(json.loads(asked.body_json).get("stream"))
    return bool(asked.stream)


def _chat(text: str, *, stream: bool) -> bytes:
    return chat_stream(text) if stream else chat_body(text)


def _responses(text: str, *, stream: bool) -> bytes:
    content = [{"type": "output_text", "text": text}]
    response = {
        "object": "response",
        "status": "completed",
        "output": [{"type": "message", "role": "assistant", "content": content}],
    }
    if not stream:
        return dumps(response)
    return _events(
        {"type": "response.created", "response": {**response, "status": "in_progress", "output": []}},
        {"type": "response.output_text.delta", "delta": text},
        {"type": "response.completed", "response": response},
    )


def _messages(text: str, *, stream: bool) -> bytes:
    content = {"type": "text", "text": text}
    if not stream:
        whole = {"type": "message", "role": "assistant", "content": [content], "stop_reason": "end_turn"}
        return dumps(whole)
    return _events(
        {"type": "message_start", "message": {"type": "message", "role": "assistant", "content": []}},
        {"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}},
        {"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}},
        {"type": "content_block_stop", "index": 0},
        {"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {"output_tokens": 1}},
        {"type": "message_stop"},
    )


def _events(*events: dict[str, Any]) -> bytes:
    return b"".join(
        b"event: " + event["type"].encode() + b"\ndata: " + dumps(event) + b"\n\n" for event in events
    )


def _embeddings(text: str, *, stream: bool) -> bytes:
    assert not stream
    data = [{"object": "embedding", "index": 0, "embedding": [0.25, 0.5], "note": text}]
    return dumps({"object": "list", "data": data})


_ANSWERS: Mapping[tuple[str, str], tuple[Callable[..., bytes], list[str]]] = {
    ("openai", "chat"): (_chat, ["stop"]),
    ("openai", "responses"): (_responses, ["completed"]),
    ("openai", "embeddings"): (_embeddings, []),
    ("anthropic", "messages"): (_messages, ["end_turn"]),
}


# --- what came back -------------------------------------------------------------------------------------


def outcome(decision: decision_pb2.Decision) -> str:
    """`hit`, `miss` or `bypass`."""
    return decision_pb2.Outcome.Name(decision.outcome).removeprefix("OUTCOME_").lower()


def verdict(decision: decision_pb2.Decision) -> str:
    """What was decided and why, in one word or two: `hit exact`, `miss`, `miss expired`, `bypass no_rule`."""
    said = outcome(decision)
    if said == "hit":
        return f"hit {decision_pb2.MatchKind.Name(decision.kind).removeprefix('MATCH_KIND_').lower()}"
    if said == "bypass":
        name = reason_pb2.BypassReason.Name(decision.bypass_reason).removeprefix("BYPASS_REASON_")
        return f"bypass {name.lower()}"
    if decision.deny_reason:
        name = reason_pb2.DenyReason.Name(decision.deny_reason).removeprefix("DENY_REASON_")
        return f"miss {name.lower()}"
    return said


def filed(response: decision_service_pb2.StoreResponse) -> str:
    """`stored`, or the reason of the refusal."""
    if response.outcome == decision_service_pb2.STORE_OUTCOME_STORED:
        assert response.refusal_reason == 0
        return "stored"
    assert response.outcome == decision_service_pb2.STORE_OUTCOME_REFUSED
    assert not response.entries
    assert not response.HasField("expire_time")
    return reason_pb2.RefusalReason.Name(response.refusal_reason).removeprefix("REFUSAL_REASON_").lower()


class Refusal:
    """An error of a call with everything that it carries."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.code: grpc.StatusCode = error.code()
        self.message: str = error.details() or ""
        self.info = error_details_pb2.ErrorInfo()
        self.violations: dict[str, str] = {}
        self.repeated: list[str] = []
        trailers = dict(error.trailing_metadata() or ())
        self.details = trailers.get("grpc-status-details-bin")
        if self.details is not None:
            self._read(status_pb2.Status.FromString(self.details))

    def _read(self, status: status_pb2.Status) -> None:
        assert status.code == self.code.value[0]
        assert status.message == self.message
        for detail in status.details:
            bad = error_details_pb2.BadRequest()
            if detail.Unpack(self.info):
                continue
            assert detail.Unpack(bad)
            for violation in bad.field_violations:
                if violation.field in self.violations:
                    self.repeated.append(violation.field)
                self.violations[violation.field] = violation.description

    @property
    def fields(self) -> set[str]:
        return set(self.violations)


def refused(call: Callable[[], Any]) -> Refusal:
    """The error that `call` ends with."""
    try:
        given = call()
    except grpc.RpcError as error:
        return Refusal(error)
    raise AssertionError(f"was not refused: {given}")


def malformed(call: Callable[[], Any]) -> dict[str, str]:
    """The fields that `call` is told are wrong, each with what is wrong."""
    refusal = refused(call)
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT, refusal.message
    assert refusal.info.reason == "MALFORMED_REQUEST"
    assert refusal.info.domain == "askonce"
    assert not refusal.repeated
    assert all(refusal.violations.values())
    return refusal.violations


# --- a gateway ------------------------------------------------------------------------------------------


class Gateway:
    """One client of a sidecar."""

    def __init__(self, address: str) -> None:
        self.address = address
        self.channel = grpc.insecure_channel(address, options=_OPTIONS)
        self.stub = decision_service_pb2_grpc.DecisionServiceStub(self.channel)
        self.admin = admin_service_pb2_grpc.AdminServiceStub(self.channel)
        self.health = health_pb2_grpc.HealthStub(self.channel)

    def close(self) -> None:
        self.channel.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def ask(self, asked: Descriptor, *, timeout: float = DEADLINE_SECONDS, **rest: Any) -> Any:
        """The decision on `asked`. Controls are given by name, other fields of the request too."""
        return self.stub.Lookup(request(asked, **rest), timeout=timeout).decision

    def ask_all(self, items: list[Any], *, timeout: float = DEADLINE_SECONDS) -> list[Any]:
        """The results for items, which are descriptors or requests."""
        wanted = [item if not isinstance(item, Descriptor) else request(item) for item in items]
        batch = decision_service_pb2.BatchLookupRequest(items=wanted)
        return list(self.stub.BatchLookup(batch, timeout=timeout).results)

    def store(self, source: Descriptor | bytes, response: Any = None, **rest: Any) -> Any:
        """What becomes of an answer, by descriptor or by token."""
        wanted = storing(source, response, **rest)
        return self.stub.Store(wanted, timeout=DEADLINE_SECONDS)

    def store_all(self, items: list[Any]) -> list[Any]:
        batch = decision_service_pb2.BatchStoreRequest(items=items)
        return list(self.stub.BatchStore(batch, timeout=DEADLINE_SECONDS).results)

    def fill(self, asked: Descriptor, text: str = "Hello.", *, ttl: Any = None, **changes: Any) -> Any:
        """Ask, expect a miss, store an answer by its token, and return what became of it."""
        decision = self.ask(asked)
        assert outcome(decision) == "miss", verdict(decision)
        stored = self.store(decision.fill_token, answer_for(asked, text, **changes), ttl=ttl)
        assert filed(stored) == "stored"
        return stored

    def raw(self, method: str, message: bytes, *, timeout: float = DEADLINE_SECONDS) -> bytes:
        """Send bytes as they are."""
        call = self.channel.unary_unary(f"/askonce.v1.{method}")
        answered: bytes = call(message, timeout=timeout)
        return answered

    def serving(self, service: str = "") -> str:
        checked = self.health.Check(health_pb2.HealthCheckRequest(service=service), timeout=DEADLINE_SECONDS)
        return health_pb2.HealthCheckResponse.ServingStatus.Name(checked.status)


_CONTROLS = frozenset(decision_service_pb2.Controls.DESCRIPTOR.fields_by_name)


def request(asked: Descriptor, **rest: Any) -> decision_service_pb2.LookupRequest:
    """A Lookup of `asked`; what is a control goes there."""
    controls = {name: rest.pop(name) for name in list(rest) if name in _CONTROLS}
    if controls:
        rest["controls"] = decision_service_pb2.Controls(**controls)
    return decision_service_pb2.LookupRequest(descriptor=asked, **rest)


def storing(source: Descriptor | bytes, response: Any = None, **rest: Any) -> Any:
    """A Store by descriptor or by token."""
    if isinstance(source, bytes):
        rest["fill_token"] = source
        response = answer() if response is None else response
    else:
        rest["descriptor"] = source
        response = answer_for(source) if response is None else response
    return decision_service_pb2.StoreRequest(
        response=response, **{name: value for name, value in rest.items() if value is not None}
    )


# --- a sidecar ------------------------------------------------------------------------------------------


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        port: int = probe.getsockname()[1]
        return port


@contextmanager
def short_folder() -> Iterator[Path]:
    """A folder whose sockets have short paths: a socket's path may have 107 bytes."""
    with tempfile.TemporaryDirectory(prefix="ao-", dir="/tmp") as name:
        yield Path(name)


class Place:
    """Where a sidecar lives: its folder, its addresses and its configuration."""

    def __init__(self, folder: Path, **settings: Any) -> None:
        self.folder = folder
        self.socket = folder / "s"
        self.admin_socket = folder / "a"
        self.unix = f"unix://{self.socket}"
        self.admin = f"unix://{self.admin_socket}"
        self.tcp = f"127.0.0.1:{free_port()}"
        self.store = folder / "store"
        document: dict[str, Any] = {
            "listen": [self.unix, self.tcp],
            "admin": {"listen": self.admin},
            "store": {"path": str(self.store), "max_bytes": "64MiB"},
            "drain": {"grace": "5s"},
        }
        for name, value in settings.items():
            merged = isinstance(value, dict) and isinstance(document.get(name), dict)
            document[name] = {**document[name], **value} if merged else value
        self.config_file = folder / "askonce.yaml"
        self.config_file.write_text(yaml.safe_dump(document))

    def load(self, environ: Mapping[str, str] | None = None) -> Any:
        return load(self.config_file, environ or {})


class Running:
    """A sidecar in this process, with a gateway and an operator."""

    def __init__(self, place: Place, environ: Mapping[str, str] | None = None) -> None:
        self.place = place
        self.sidecar = Sidecar(place.load(environ))
        self.sidecar.start()
        self.gateway = Gateway(place.unix)
        self.operator = Gateway(place.admin)

    def stop(self) -> None:
        self.gateway.close()
        self.operator.close()
        self.sidecar.stop()

    def stats(self) -> Any:
        from askonce.v1 import admin_service_pb2  # noqa: PLC0415

        return self.operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=DEADLINE_SECONDS)


@contextmanager
def running(folder: Path | None = None, **settings: Any) -> Iterator[Running]:
    """A sidecar with `settings`, in `folder` or in one of its own."""
    if folder is None:
        with short_folder() as own, running(own, **settings) as server:
            yield server
        return
    server = Running(Place(folder, **settings))
    try:
        yield server
    finally:
        server.stop()
