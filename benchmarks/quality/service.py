"""The same streams through a real sidecar: its Lookup and Store, over gRPC, on LMDB and FAISS.

The gateway sends the vectors; the provider's answer names the intent, which the server's own comparison of
answers tells from every other. All that the vote knows is what the sidecar explored itself.
"""

from __future__ import annotations

import json
import tempfile
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import grpc

from askonce.v1 import decision_pb2, decision_service_pb2, decision_service_pb2_grpc, descriptor_pb2
from askonce_server import app
from askonce_server.config.load import load
from askonce_server.core.proposed import Method
from askonce_server.core.ruling import Outcome
from benchmarks.quality.requests import Corpus, Floats
from benchmarks.quality.simulate import Run

_DIALECT = {"dialect": "openai", "endpoint": "chat"}
_PAGE = 10_000


def through_service(stream: Sequence[int], corpus: Corpus, vectors: Floats, *, target: float) -> Run:
    """Play a stream under the vote policy with its defaults, on an empty store."""
    with tempfile.TemporaryDirectory(prefix="askonce-streams-", dir="/tmp") as name:
        sidecar = app.Sidecar(load(_configuration(Path(name), vectors.shape[1], target), {}))
        sidecar.start()
        try:
            with grpc.insecure_channel(
                f"unix://{name}/s", options=[("grpc.default_authority", "localhost")]
            ) as channel:
                return _Gateway(channel, sidecar, corpus, vectors).play(stream)
        finally:
            sidecar.stop()


def _configuration(folder: Path, dim: int, target: float) -> Path:
    semantic = {"embedder": "own", "threshold": 0.5, "policy": "vote", "max_wrong_hit_rate": target}
    rule = {
        "id": "stream",
        "match": {"endpoint": "chat"},
        "strategy": ["exact", "semantic"],
        "ttl": "24h",
        "semantic": semantic,
    }
    document = {
        "listen": [f"unix://{folder}/s"],
        "store": {"path": str(folder / "store"), "durability": "periodic"},
        "embedders": {"own": {"kind": "provided", "dim": dim}},
        "rules": [rule],
    }
    file = folder / "askonce.yaml"
    file.write_text(json.dumps(document))  # JSON is YAML
    return file


class _Gateway:
    """Asks, and answers what is missed."""

    def __init__(self, channel: grpc.Channel, sidecar: app.Sidecar, corpus: Corpus, vectors: Floats) -> None:
        self._stub = decision_service_pb2_grpc.DecisionServiceStub(channel)
        self._sidecar = sidecar
        self._corpus = corpus
        self._vectors = vectors

    def play(self, stream: Sequence[int]) -> Run:
        run = Run()
        for asked in stream:
            request = decision_service_pb2.LookupRequest(descriptor=self._descriptor(asked))
            request.budget.seconds = 5
            decision = self._stub.Lookup(request).decision
            hit = decision.outcome == decision_pb2.OUTCOME_HIT
            if hit and decision.kind == decision_pb2.MATCH_KIND_EXACT:
                run.exact += 1
                continue
            if hit:
                said = json.loads(decision.candidate.body.data)["choices"][0]["message"]["content"]
                run.served += 1
                run.served_at.append(run.asked)
                run.wrong += said != self._intent(asked)
            else:
                self._fill(asked, decision.fill_token)
            run.asked += 1
        run.outcomes = self._outcomes(run)
        return run

    def _intent(self, asked: int) -> str:
        return self._corpus.intents[asked].replace("_", "-")

    def _descriptor(self, asked: int) -> descriptor_pb2.RequestDescriptor:
        messages = [{"role": "user", "content": self._corpus.texts[asked]}]
        body = {"model": "m", "temperature": 0, "messages": messages}
        return descriptor_pb2.RequestDescriptor(
            **_DIALECT,
            served=descriptor_pb2.Target(provider="openai", model="m"),
            scope={"tenant": "acme"},
            body_json=json.dumps(body).encode(),
            embedding=descriptor_pb2.Embedding(embedder="own", values=self._vectors[asked].tobytes()),
        )

    def _fill(self, asked: int, token: bytes) -> None:
        message = {"role": "assistant", "content": self._intent(asked)}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        response = decision_service_pb2.UpstreamResponse(
            body=json.dumps({"object": "chat.completion", "choices": [choice]}).encode(),
            content_type="application/json",
            status_code=200,
            finish_reasons=["stop"],
        )
        stored = self._stub.Store(decision_service_pb2.StoreRequest(fill_token=token, response=response))
        if stored.outcome != decision_service_pb2.STORE_OUTCOME_STORED:
            raise RuntimeError(f"question {asked} was not stored: {stored}")
        self._sidecar.labelling.settle()

    def _outcomes(self, run: Run) -> Counter[Outcome]:
        """Count what was voted on, by the labels that there are."""
        found: Counter[Outcome] = Counter({Outcome.SERVE: run.served})
        after = 0
        while labels := (page := self._sidecar.store.labels(after, limit=_PAGE)).labels:
            after = page.last
            for label in labels:
                audit = label.method is Method.AUDIT
                found[Outcome.AUDIT if audit else Outcome.EXPLORE] += 1
        return found
