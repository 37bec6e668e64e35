"""A model of what must hold, and callers that do everything at once and check it."""

from __future__ import annotations

import os
import random
import signal
import struct
import threading
import time
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path

import grpc

from askonce.v1 import admin_service_pb2, decision_service_pb2
from faults.sidecar_process import SidecarProcess
from rpc.answers import answer_for
from rpc.harness import Gateway, Place
from rpc.replies import filed, outcome
from rpc.requests import seconds
from rpc.semantic import DIM, asking

TENANTS, QUESTIONS = 4, 60
DEADLINE = 2.0
GRACE = 0.05
"""How much later than its deadline a call may end; the caller's own thread has to come to its turn too."""


@dataclass
class Key:
    """What one question of one tenant may be answered with."""

    acknowledged: int = 0
    """The newest version whose Store was acknowledged; it may only be replaced by a newer one."""
    tried: int = 0
    forever: bool = False
    """Whether that version has a ttl far beyond the run."""


@dataclass
class Truth:
    """Everything that was acknowledged, and what was found wrong."""

    lock: threading.Lock = field(default_factory=threading.Lock)
    keys: dict[tuple[int, int], Key] = field(default_factory=dict)
    looked_up: dict[int, tuple[int, int]] = field(default_factory=dict)
    """When the Lookup of each version began and ended, on the clock below: in between the server saw it."""
    purged: dict[int, tuple[int, int]] = field(default_factory=dict)
    """When the last purge of each tenant began and ended, on the clock below."""
    clock: int = 0
    counts: Counter[str] = field(default_factory=Counter)
    wrong: list[str] = field(default_factory=list)

    def tick(self) -> int:
        """Return a number that no other event has; later events have greater ones."""
        with self.lock:
            self.clock += 1
            return self.clock

    def count(self, name: str) -> None:
        with self.lock:
            self.counts[name] += 1

    def blame(self, what: str) -> None:
        with self.lock:
            self.wrong.append(what)


def vector(question: int) -> bytes:
    choice = random.Random(question)
    return struct.pack(f"<{DIM}f", *(choice.gauss(0, 1) for _ in range(DIM)))


def asked(tenant: int, question: int, *, reworded: bool = False):
    text = f"What of subject number {question}?"
    return asking(f"Please say: {text}" if reworded else text, vector(question), tenant=f"t{tenant}")


class Caller(threading.Thread):
    """A gateway that looks up, stores, abandons and purges until it is told to end."""

    def __init__(self, place: Place, truth: Truth, done: threading.Event, seed: int) -> None:
        super().__init__(daemon=True)
        self._place, self._truth, self._done = place, truth, done
        self._choice = random.Random(seed)

    def run(self) -> None:
        while not self._done.is_set():
            address = self._choice.choice(addresses(self._place))
            with Gateway(address) as gateway, Gateway(self._place.admin) as operator:
                for _ in range(50):
                    if self._done.is_set():
                        return
                    if not self._turn(gateway, operator):
                        time.sleep(0.05)
                        break

    def _turn(self, gateway: Gateway, operator: Gateway) -> bool:
        """Do something; return whether the connection is still good."""
        tenant, question = self._choice.randrange(TENANTS), self._choice.randrange(QUESTIONS)
        try:
            if self._choice.random() < 0.003:
                self._purge(operator, tenant)
            else:
                self._ask(gateway, tenant, question)
        except grpc.RpcError as error:
            self._truth.count(f"rpc {error.code().name.lower()}")
            return error.code() is not grpc.StatusCode.UNAVAILABLE
        return True

    def _ask(self, gateway: Gateway, tenant: int, question: int) -> None:
        truth, reworded = self._truth, self._choice.random() < 0.3
        with truth.lock:
            key = truth.keys.setdefault((tenant, question), Key())
            before, forever = key.acknowledged, key.forever
        began = truth.tick()
        started = time.monotonic()
        mode = 3 if self._choice.random() < 0.05 else 0
        wait = seconds(0.3) if self._choice.random() < 0.3 else None
        try:
            decision = gateway.ask(
                asked(tenant, question, reworded=reworded), timeout=DEADLINE, mode=mode, wait_for_fill=wait
            )
        finally:
            if time.monotonic() - started > DEADLINE + GRACE:
                truth.count("late calls")
        truth.count(outcome(decision))
        if outcome(decision) == "hit":
            self._check(decision, tenant, question, began, before)
        elif outcome(decision) == "miss":
            if forever and not reworded and mode == 0 and self._should_be_there(tenant, question, before):
                truth.blame(f"lost: t{tenant} question {question} version {before}")
            if decision.store_answer:
                self._store(gateway, decision, tenant, question, began, reworded=reworded)

    def _should_be_there(self, tenant: int, question: int, version: int) -> bool:
        """Whether a version that was there before the Lookup cannot have been replaced or purged since."""
        with self._truth.lock:
            key = self._truth.keys[tenant, question]
            if (key.acknowledged, key.tried, key.forever) != (version, version, True):
                return False
        return not self._purged_since(tenant, version)

    def _purged_since(self, tenant: int, version: int) -> bool:
        with self._truth.lock:
            purge = self._truth.purged.get(tenant)
            return purge is not None and self._truth.looked_up.get(version, (0, 0))[0] < purge[1]

    def _check(self, decision, tenant: int, question: int, began: int, before: int) -> None:
        truth = self._truth
        text = decision.candidate.body.data.decode()
        said = text[text.index("<") + 1 : text.index(">")].split("/")
        if said[:2] != [str(tenant), str(question)]:
            truth.blame(f"wrong answer: {said} for t{tenant} question {question}")
            return
        version = int(said[2])
        with truth.lock:
            purge = truth.purged.get(tenant)
            looked_up = truth.looked_up.get(version, (1 << 60, 1 << 60))[1]
        if purge is not None and began > purge[1] and looked_up < purge[0]:
            truth.blame(f"resurrected: t{tenant} question {question} version {version}")
        if before and version < before and decision.kind == 1:
            truth.count("older version")

    def _store(self, gateway: Gateway, decision, tenant: int, question: int, began: int, *, reworded) -> None:
        truth, choice = self._truth, self._choice.random()
        if choice < 0.1:
            given_up = decision_service_pb2.AbandonRequest(fill_token=decision.fill_token)
            gateway.stub.Abandon(given_up, timeout=DEADLINE)
            truth.count("abandoned")
            return
        looked_up = truth.tick()
        version = truth.tick()
        with truth.lock:
            truth.looked_up[version] = (began, looked_up)
            key = truth.keys[tenant, question]
            key.tried, key.forever = version, False  # whatever becomes of it, the one before may be gone
        forever = choice < 0.8
        one = asked(tenant, question, reworded=reworded)
        answer = answer_for(one, f"<{tenant}/{question}/{version}> " + "x" * self._choice.randrange(3000))
        stored = gateway.store(decision.fill_token, answer, ttl=None if forever else seconds(1))
        truth.count(filed(stored))
        if filed(stored) == "stored" and not reworded:
            with truth.lock:
                key = truth.keys[tenant, question]
                # Two that store at once may be filed in either order: then nothing is expected of them.
                alone = key.tried == version
                key.acknowledged, key.forever = version, forever and alone

    def _purge(self, operator: Gateway, tenant: int) -> None:
        truth = self._truth
        began = truth.tick()
        with truth.lock:
            old = truth.purged.get(tenant, (0, 0))
            truth.purged[tenant] = (old[0], 1 << 60)  # while it runs nothing is called lost
        wanted = admin_service_pb2.PurgeRequest(dim={"name": "tenant", "value": f"t{tenant}"})
        try:
            operator.admin.Purge(wanted, timeout=DEADLINE)
        except grpc.RpcError:
            with truth.lock:
                truth.purged[tenant] = (old[0], truth.clock + 1)
            raise
        ended = truth.tick()
        with truth.lock:
            truth.purged[tenant] = (began, ended)
            truth.counts["purged"] += 1


def addresses(place: Place) -> list[str]:
    return [place.unix, place.tcp]


def workers_of(server: SidecarProcess) -> list[int]:
    listed = Path(f"/proc/{server.pid}/task/{server.pid}/children").read_text().split()
    return [int(pid) for pid in listed]


def disturb(server: SidecarProcess, truth: Truth, done: threading.Event, seed: int) -> None:
    """Kill and stop workers now and then; let all of them go on in the end."""
    choice = random.Random(seed)
    while not done.wait(choice.uniform(1.0, 3.0)):
        pids = workers_of(server)
        if not pids:
            continue
        what = choice.choice(["kill", "stop", "nothing"])
        try:
            if what == "kill":
                os.kill(choice.choice(pids), signal.SIGKILL)
            elif what == "stop":
                os.kill(choice.choice(pids), signal.SIGSTOP)
        except ProcessLookupError:
            continue
        truth.count(f"worker {what}")
    for pid in workers_of(server):
        os.kill(pid, signal.SIGCONT)
