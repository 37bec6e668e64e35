"""A real gRPC server whose answers a test writes, and descriptors to ask it about."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from typing import Any, NamedTuple

import grpc
from grpc_health.v1 import health_pb2_grpc
from grpc_health.v1.health import HealthServicer

import askonce
from askonce.v1 import admin_service_pb2, admin_service_pb2_grpc, decision_pb2, decision_service_pb2_grpc
from askonce.v1 import decision_service_pb2 as pb

GPT = askonce.Target("openai", "gpt-4o")
BODY = {"model": "gpt-4o", "temperature": 0, "messages": [{"role": "user", "content": "hi"}]}
CHAT = askonce.Descriptor.openai_chat(BODY, served=GPT, scope={"tenant": "acme"})
ANSWER = askonce.UpstreamResponse(body=b'{"ok":1}', status_code=200, finish_reasons=["stop"])

Handler = Callable[[Any, grpc.ServicerContext], Any]


class Received(NamedTuple):
    method: str
    request: Any
    metadata: dict[str, Any]


def hit(data: bytes = b'{"cached":1}', **fields: Any) -> decision_pb2.Decision:
    body = decision_pb2.Body(data=data, content_type="application/json")
    candidate = decision_pb2.Candidate(entry_id="ab" * 32, entry_sha7="ababab7", body=body)
    kind = fields.pop("kind", "MATCH_KIND_EXACT")
    return decision_pb2.Decision(outcome="OUTCOME_HIT", kind=kind, candidate=candidate, **fields)


def miss(token: bytes = b"token", **fields: Any) -> decision_pb2.Decision:
    return decision_pb2.Decision(outcome="OUTCOME_MISS", store_answer=True, fill_token=token, **fields)


class Scripted(
    decision_service_pb2_grpc.DecisionServiceServicer, admin_service_pb2_grpc.AdminServiceServicer
):
    """Answers with whatever the test put into `handlers`; records what it was asked."""

    def __init__(self) -> None:
        self.received: list[Received] = []
        self.arrived = threading.Event()
        self.released = threading.Event()
        self.handlers: dict[str, Handler] = {
            "Lookup": lambda request, context: pb.LookupResponse(decision=hit()),
            "BatchLookup": lambda request, context: pb.BatchLookupResponse(
                results=[pb.BatchLookupResult(decision=hit()) for _ in request.items]
            ),
            "Store": lambda request, context: pb.StoreResponse(outcome="STORE_OUTCOME_STORED"),
            "BatchStore": lambda request, context: pb.BatchStoreResponse(
                results=[
                    pb.BatchStoreResult(response=pb.StoreResponse(outcome="STORE_OUTCOME_STORED"))
                    for _ in request.items
                ]
            ),
            "Abandon": lambda request, context: pb.AbandonResponse(released=True),
            "RecordFeedback": lambda request, context: pb.RecordFeedbackResponse(recorded=True),
            "GetServerInfo": lambda request, context: admin_service_pb2.GetServerInfoResponse(),
        }

    def decide(self, decision: decision_pb2.Decision) -> None:
        self.handlers["Lookup"] = lambda request, context: pb.LookupResponse(decision=decision)

    def decide_batch(self, *results: decision_pb2.Decision | pb.ItemError) -> None:
        items = [
            pb.BatchLookupResult(error=result)
            if isinstance(result, pb.ItemError)
            else pb.BatchLookupResult(decision=result)
            for result in results
        ]
        self.handlers["BatchLookup"] = lambda request, context: pb.BatchLookupResponse(results=items)

    def fail(self, method: str, code: grpc.StatusCode, message: str = "", details: bytes = b"") -> None:
        def handler(request: Any, context: grpc.ServicerContext) -> None:
            if details:
                context.set_trailing_metadata([("grpc-status-details-bin", details)])
            context.abort(code, message)

        self.handlers[method] = handler

    def hang(self, method: str) -> None:
        """Answer only when `released` is set."""
        answer = self.handlers[method]

        def handler(request: Any, context: grpc.ServicerContext) -> Any:
            self.released.wait(30)
            return answer(request, context)

        self.handlers[method] = handler

    def rules(self, **strategies: Sequence[str]) -> None:
        """Have rules, with these strategies."""
        rules = [
            admin_service_pb2.RuleSummary(id=rule, strategy=[f"MATCH_KIND_{kind.upper()}" for kind in kinds])
            for rule, kinds in strategies.items()
        ]
        self.handlers["GetServerInfo"] = lambda request, context: admin_service_pb2.GetServerInfoResponse(
            rules=rules
        )

    def last(self) -> Any:
        return self.received[-1].request

    def _answer(self, method: str, request: Any, context: grpc.ServicerContext) -> Any:
        self.received.append(Received(method, request, dict(context.invocation_metadata())))
        self.arrived.set()
        return self.handlers[method](request, context)

    def Lookup(self, request, context):  # noqa: N802
        return self._answer("Lookup", request, context)

    def BatchLookup(self, request, context):  # noqa: N802
        return self._answer("BatchLookup", request, context)

    def Store(self, request, context):  # noqa: N802
        return self._answer("Store", request, context)

    def BatchStore(self, request, context):  # noqa: N802
        return self._answer("BatchStore", request, context)

    def Abandon(self, request, context):  # noqa: N802
        return self._answer("Abandon", request, context)

    def RecordFeedback(self, request, context):  # noqa: N802
        return self._answer("RecordFeedback", request, context)

    def GetServerInfo(self, request, context):  # noqa: N802
        return self._answer("GetServerInfo", request, context)


class Sidecar(NamedTuple):
    target: str
    script: Scripted


@contextmanager
def serving(address: str, script: Scripted | None = None, **options: Any) -> Iterator[Sidecar]:
    """Serve on `address`; a TCP address may have port 0."""
    script = script or Scripted()
    settings = [("grpc.so_reuseport", 0), ("grpc.max_receive_message_length", 16 << 20)]
    with ThreadPoolExecutor(8) as pool:
        server = grpc.server(pool, options=settings)
        decision_service_pb2_grpc.add_DecisionServiceServicer_to_server(script, server)
        admin_service_pb2_grpc.add_AdminServiceServicer_to_server(script, server)
        if options.get("health"):
            health_pb2_grpc.add_HealthServicer_to_server(HealthServicer(), server)
        credentials = options.get("credentials")
        if credentials is None:
            port = server.add_insecure_port(address)
        else:
            port = server.add_secure_port(address, credentials)
        server.start()
        target = address if address.startswith("unix:") else address.replace(":0", f":{port}")
        try:
            yield Sidecar(target, script)
        finally:
            script.released.set()
            server.stop(0).wait(5)
