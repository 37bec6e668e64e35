"""Callers that do everything at once, and check each answer against what must hold."""

from __future__ import annotations

import random
import struct
import threading
import time
from collections import deque
from dataclasses import dataclass, field

import grpc

from askonce.v1 import admin_service_pb2, decision_pb2, decision_service_pb2, reason_pb2
from askonce_server.storage.v1 import record_pb2
from embed.fakes import Handler, gives
from faults.crew import Crew
from faults.truth import Question, Truth
from rpc.answers import answer_for
from rpc.harness import Gateway
from rpc.replies import filed, outcome, verdict
from rpc.requests import seconds, target
from rpc.semantic import DIM, asking, semantic_rule

TENANTS, QUESTIONS = 4, 60
FAR_FROM = 40
"""Questions from here on are embedded by a service, the others come with their vectors."""
DEADLINE = 2.0
BUDGET = 0.5
GRACE = 0.05
"""How much later than its time a call may end."""
LEASE_SECONDS = 2.0
_TOKEN_HEAD, _TOKEN_TAIL = 5, 32
_EXACT_KINDS = (decision_pb2.MATCH_KIND_EXACT, decision_pb2.MATCH_KIND_NORMALIZED)
_REFRESH = reason_pb2.DENY_REASON_REFRESH


def settings(url: str) -> dict:
    """A sidecar with one rule whose vectors are sent, and one whose vectors a service at `url` gives."""
    common = {
        "threshold": 0.999,
        "low_threshold": 0,
        "coalesce": {"lease": f"{LEASE_SECONDS:g}s"},
        "ttl": "1h",
    }
    far = {"kind": "http", "url": url, "model": "m", "dim": DIM, "retries": 0, "timeout": "500ms"}
    return {
        "embedders": {"own": {"kind": "provided", "dim": DIM}, "far": far},
        "rules": [
            semantic_rule(id="far", match={"endpoint": ["chat"], "model": "far"}, embedder="far", **common),
            semantic_rule(**common),
        ],
    }


def vector(number: int) -> tuple[float, ...]:
    choice = random.Random(number)
    return tuple(choice.gauss(0, 1) for _ in range(DIM))


def asked(question: Question):
    text = f"What of subject number {question.number}?"
    text = f"Please say: {text}" if question.reworded else text
    tenant = f"t{question.tenant}"
    if question.number >= FAR_FROM:
        return asking(text, tenant=tenant, served=target("openai", "far"))
    return asking(text, struct.pack(f"<{DIM}f", *vector(question.number)), tenant=tenant)


def embeds(handler: Handler) -> None:
    """Answer, as the embeddings service, with the vector of the question that a text is about."""
    text = str(handler.asked["input"])
    number = int("".join(filter(str.isdigit, text)))
    gives(vector(number))(handler)


class Metronome(threading.Thread):
    """Measures for how long this very process did not come to its turn: by that much a call may look late."""

    BEAT = 0.01

    def __init__(self) -> None:
        super().__init__(daemon=True)
        self._late: deque[tuple[float, float]] = deque(maxlen=2_000)
        self._due = time.monotonic()
        self._done = threading.Event()

    def run(self) -> None:
        while not self._done.is_set():
            self._due = due = max(self._due + self.BEAT, time.monotonic())
            time.sleep(max(0.0, due - time.monotonic()))
            self._late.append((due, time.monotonic() - due))

    def stop(self) -> None:
        self._done.set()

    def stalled(self, since: float) -> float:
        """Return how many seconds since then were lost: also to a beat that is still to come."""
        now = max(0.0, time.monotonic() - self._due)  # first: what comes meanwhile counts twice, not never
        return now + sum(late for due, late in list(self._late) if due >= since - self.BEAT)


@dataclass
class Run:
    """What the callers of one run share."""

    crew: Crew
    truth: Truth = field(default_factory=Truth)
    done: threading.Event = field(default_factory=threading.Event)
    metronome: Metronome = field(default_factory=Metronome)
    calm: bool = False
    """Whether nothing is disturbed any more: then it is the server's own doing when a call takes long."""
    given_back: dict[bytes, float] = field(default_factory=dict)
    """Holders of a lease whose Store or Abandon was answered, with the time."""

    def count(self, name: str, *, calm: bool) -> None:
        self.truth.count(f"calm: {name}" if calm else name)

    def addresses(self) -> list[str]:
        """Return the configured addresses, and each worker's own."""
        crew = self.crew
        return [crew.place.unix, crew.place.tcp, *(crew.of(number) for number in range(crew.workers))]


class Sent:
    """A Lookup, made before it is sent, and judged by its decision."""

    def __init__(self, truth: Truth, question: Question) -> None:
        self._truth, self._question = truth, question
        self._before = truth.newest(question)
        self.began = truth.tick()
        self.at = time.monotonic()

    def judge(self, decision) -> None:
        truth, question, before = self._truth, self._question, self._before
        if outcome(decision) == "hit":
            number = version_of(decision.candidate.body.data)
            exact = decision.kind in _EXACT_KINDS
            truth.judge_hit(question, number, exact=exact, began=self.began, sent_at=self.at, before=before)
        elif outcome(decision) == "miss" and decision.deny_reason != _REFRESH:
            truth.judge_miss(question, before=before, ended=truth.tick())


class Caller(threading.Thread):
    """A gateway that looks up, stores, abandons and purges until it is told to end."""

    def __init__(self, run: Run, seed: int) -> None:
        super().__init__(daemon=True)
        self._run, self._truth, self._done = run, run.truth, run.done
        self._choice = random.Random(seed)

    def run(self) -> None:
        admin = self._run.crew.place.admin
        while not self._done.is_set():
            address = self._choice.choice(self._run.addresses())
            with Gateway(address) as gateway, Gateway(admin) as operator:
                for _ in range(50):
                    if self._done.is_set():
                        return
                    if not self._turn(gateway, operator):
                        time.sleep(0.05)
                        break

    def _turn(self, gateway: Gateway, operator: Gateway) -> bool:
        """Do something; return whether the connection is still good."""
        tenant = self._choice.randrange(TENANTS)
        number, reworded = self._choice.randrange(QUESTIONS), self._choice.random() < 0.3
        calm = self._run.calm
        try:
            if self._choice.random() < 0.003:
                self._purge(operator, tenant)
            else:
                self._ask(gateway, Question(tenant, number, reworded))
        except grpc.RpcError as error:
            self._run.count(f"rpc {error.code().name.lower()}", calm=calm)
            return error.code() is not grpc.StatusCode.UNAVAILABLE
        return True

    def _ask(self, gateway: Gateway, question: Question) -> None:
        truth, choice = self._truth, self._choice
        rest = {"mode": 3} if choice.random() < 0.05 else {}
        if choice.random() < 0.3:
            rest["wait_for_fill"] = seconds(0.3)
        elif choice.random() < 0.3:
            rest["budget"] = seconds(BUDGET)
        sent, calm = Sent(truth, question), self._run.calm
        try:
            decision = gateway.ask(asked(question), timeout=DEADLINE, **rest)
        finally:
            self._time(sent.at, BUDGET if "budget" in rest else DEADLINE, calm=calm)
        truth.count(verdict(decision))
        sent.judge(decision)
        if outcome(decision) == "miss" and decision.store_answer:
            self._fill(gateway, decision, question, sent.began)

    def _time(self, sent_at: float, limit: float, *, calm: bool) -> None:
        """Count the call, and whether it took longer than its time but for this process's own stalls."""
        self._run.count(f"calls of at most {limit:g} s", calm=calm)
        late = time.monotonic() - sent_at - limit - GRACE
        if late > 0 and late > self._run.metronome.stalled(sent_at):
            self._run.count(f"beyond {limit + GRACE:g} s", calm=calm)

    def _fill(self, gateway: Gateway, decision, question: Question, began: int) -> None:
        truth, choice = self._truth, self._choice.random()
        token = record_pb2.FillToken.FromString(decision.fill_token[_TOKEN_HEAD:-_TOKEN_TAIL])
        if choice < 0.1:
            given_up = decision_service_pb2.AbandonRequest(fill_token=decision.fill_token)
            gateway.stub.Abandon(given_up, timeout=DEADLINE)
            self._run.given_back[token.holder] = time.monotonic()
            truth.count("abandoned")
            return
        generations, lasting = tuple(token.generations), choice < 0.8
        version = truth.storing(question, generations, began=began, lasting=lasting)
        said = ""
        try:
            text = f"<{version.number}> " + "x" * self._choice.randrange(3000)
            ttl = None if lasting else seconds(1)
            stored = gateway.store(decision.fill_token, answer_for(asked(question), text), ttl=ttl)
            said = filed(stored)
            self._run.given_back[token.holder] = time.monotonic()
        finally:
            truth.stored(version, said)
        truth.count(said)

    def _purge(self, operator: Gateway, tenant: int) -> None:
        wanted = admin_service_pb2.PurgeRequest(dim={"name": "tenant", "value": f"t{tenant}"})
        with self._truth.purging(tenant):
            operator.admin.Purge(wanted, timeout=DEADLINE)


def version_of(body: bytes) -> int:
    """Return the number that an answer carries."""
    return int(body[body.index(b"<") + 1 : body.index(b">")])
