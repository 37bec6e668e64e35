"""A Lookup that is sent after a Purge returned never finds what was purged, at whichever worker.

Hits are given again while no row changes, so that each worker has to see the commits of the others at once.
A Lookup that was under way while the Purge was may still hit: one that waits in a socket had been sent, too.
"""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import deque
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field

import grpc
import pytest

from askonce.v1 import admin_service_pb2
from faults.crew import Crew, gone
from faults.sidecar_process import START_SECONDS, sidecar
from rpc.answers import answer
from rpc.harness import Gateway, Place
from rpc.replies import filed, verdict
from rpc.requests import describe, request, turns

WORKERS = 3
IN_FLIGHT = 4
"""How many calls the traffic of one worker has under way."""
ASKED = request(describe("acme", turns("the same question")))
SECONDS = 20.0


@dataclass
class Rounds:
    """An answer says in which round it was stored; a Purge ends each."""

    purged: int = 0
    """The last round whose Purge has returned."""
    hits: int = 0
    wrong: list[str] = field(default_factory=list)

    def judge(self, decision, *, purged: int, who: str) -> None:
        """`purged` is what had been purged before the Lookup was sent."""
        if verdict(decision) != "hit exact":
            return
        self.hits += 1
        text = decision.candidate.body.data.decode()
        number = int(text[text.index("<") + 1 : text.index(">")])
        if number <= purged:
            self.wrong.append(f"{who}: the answer of round {number} after the Purge of round {purged}")


class Traffic(threading.Thread):
    """Asks one worker over and over, with many calls under way."""

    def __init__(self, address: str, rounds: Rounds) -> None:
        super().__init__(daemon=True)
        self._address, self._rounds = address, rounds
        self.done = threading.Event()

    def run(self) -> None:
        calls: deque = deque()
        with Gateway(self._address) as gateway:
            while not self.done.is_set():
                while len(calls) < IN_FLIGHT:
                    purged = self._rounds.purged
                    calls.append((purged, gateway.stub.Lookup.future(ASKED, timeout=SECONDS)))
                self._end(*calls.popleft())
            for purged, call in calls:
                self._end(purged, call)

    def _end(self, purged: int, call) -> None:
        try:
            decision = call.result().decision
        except grpc.RpcError:  # its worker was stopped for too long, and is gone
            time.sleep(0.02)
            return
        self._rounds.judge(decision, purged=purged, who=f"traffic of {self._address}")


class Fleet:
    """A client of every worker of a sidecar, and the rounds that they go through."""

    def __init__(self, crew: Crew, stack: ExitStack) -> None:
        self.crew = crew
        self.each = [stack.enter_context(Gateway(crew.of(number))) for number in range(WORKERS)]
        self.operators = [
            stack.enter_context(Gateway(f"{crew.place.admin}.{number}")) for number in range(WORKERS)
        ]
        self.rounds = Rounds()
        self.number = 0

    @contextmanager
    def traffic(self):
        """Callers that keep every worker's memory of its hits warm."""
        busy = [Traffic(self.crew.of(number), self.rounds) for number in range(WORKERS)]
        for one in busy:
            one.start()
        try:
            yield
        finally:
            for one in busy:
                one.done.set()
            for one in busy:
                one.join(60)
                assert not one.is_alive()

    def fill(self) -> None:
        """Store the answer of the next round, and let each worker give it twice: the second time again."""
        self.number += 1
        decision = self.each[self.number % WORKERS].stub.Lookup(ASKED, timeout=SECONDS).decision
        assert verdict(decision) == "miss", decision
        stored = self.each[(self.number + 1) % WORKERS].store(decision.fill_token, answer(f"<{self.number}>"))
        assert filed(stored) == "stored"
        for gateway in 2 * self.each:
            found = gateway.stub.Lookup(ASKED, timeout=SECONDS).decision
            assert verdict(found) == "hit exact"

    def purge(self, operator: Gateway) -> None:
        """Purge; return when it has returned."""
        wanted = admin_service_pb2.PurgeRequest(dim={"name": "tenant", "value": "acme"})
        operator.admin.Purge(wanted, timeout=SECONDS)
        self.rounds.purged = self.number

    def purge_at_last(self) -> None:
        """Purge as soon as it can be done: when a worker that stopped inside a write goes on, or is gone."""
        deadline = time.monotonic() + START_SECONDS
        while True:
            try:
                return self.purge(self.operators[1])
            except grpc.RpcError:
                assert time.monotonic() < deadline
                time.sleep(0.05)

    def look(self) -> None:
        """Ask all workers at once: nobody may hit."""
        calls = [gateway.stub.Lookup.future(ASKED, timeout=SECONDS) for gateway in self.each]
        for number, call in enumerate(calls):
            self.rounds.judge(call.result().decision, purged=self.number, who=f"worker {number}")


@pytest.fixture
def fleet(folder):
    place = Place(folder, workers=WORKERS, rules=[{"id": "chat", "ttl": "1h"}], drain={"grace": "20s"})
    with sidecar(place) as process, ExitStack() as stack:
        crew = Crew(process, workers=WORKERS)
        crew.wait_until_serving()
        yield Fleet(crew, stack)


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [25, pytest.param(3_000, marks=pytest.mark.thorough)])
def test_what_one_worker_purged_no_worker_gives_again(fleet, count):
    with fleet.traffic():
        for number in range(count):
            fleet.fill()
            fleet.purge(fleet.operators[number % WORKERS])
            fleet.look()
            assert fleet.rounds.wrong == []
    assert fleet.rounds.wrong == []
    assert fleet.rounds.hits > 0, "the traffic hits in between"
    assert fleet.crew.process.terminate() == 0


@pytest.mark.timeout(900)
@pytest.mark.parametrize("count", [10, pytest.param(500, marks=pytest.mark.thorough)])
def test_a_worker_that_was_stopped_meanwhile_does_not_either(fleet, count):
    """Stopped anywhere between taking a call and answering it, while another worker purges."""
    sound = tries = 0
    with fleet.traffic():
        while sound < count:
            tries += 1
            assert tries < 5 * count, "a worker cannot be stopped for a moment without being given up"
            fleet.crew.wait_until_serving()
            try:
                fleet.fill()
                sound += stop_purge_go_on(fleet, after=0.0005 * (tries % 20))
            except grpc.RpcError:  # on a machine this busy it was stopped for 3 s, and given up
                fleet.purge_at_last()
            assert fleet.rounds.wrong == []
    assert fleet.rounds.wrong == []
    assert fleet.rounds.hits > 0


def stop_purge_go_on(fleet, *, after: float) -> bool:
    """Stop worker 0 with calls under way, purge, send it more; return whether it was purged meanwhile."""
    stopped, pid = fleet.each[0], fleet.crew.pid_of(0)
    under_way = [stopped.stub.Lookup.future(ASKED, timeout=SECONDS) for _ in range(40)]
    time.sleep(after)
    os.kill(pid, signal.SIGSTOP)
    try:
        fleet.purge(fleet.operators[1])
        sent = [stopped.stub.Lookup.future(ASKED, timeout=SECONDS) for _ in range(10)]
        time.sleep(0.02)  # so that they are in its socket
    except grpc.RpcError:  # it was stopped inside a write, so that nobody can purge
        sent = []
    finally:
        if not gone(pid):
            os.kill(pid, signal.SIGCONT)
    if not sent:
        fleet.purge_at_last()
    for call in under_way:
        call.result()
    for call in sent:
        fleet.rounds.judge(call.result().decision, purged=fleet.number, who="the stopped worker")
    fleet.look()
    return bool(sent)
