"""Under load everybody gets their own answer, and short-lived callers leave nothing behind."""

from __future__ import annotations

import random
import threading
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import pytest

from askonce.v1 import admin_service_pb2
from rpc.answers import answer, chat_body, storing
from rpc.harness import Gateway, Place, running
from rpc.replies import filed, outcome
from rpc.requests import describe, turns

THREADS = 64
CHANNELS = 16


class Crowd:
    """Callers whose answers are unique: to their tenant, question and version."""

    def __init__(self, gateways: list[Gateway], calls: int) -> None:
        self.gateways = gateways
        self.left = calls
        self.counts: Counter[str] = Counter()
        self.swapped: list[str] = []
        self.lock = threading.Lock()

    def take(self, calls: int) -> bool:
        with self.lock:
            self.left -= calls
            return self.left >= 0

    def run(self, worker: int) -> None:
        choice = random.Random(worker)
        gateway = self.gateways[worker % len(self.gateways)]
        counts: Counter[str] = Counter()
        mine: dict[str, str] = {}
        while self.take(2):
            name = f"question {choice.randrange(10)}"
            said = f"{worker}/{name}/{choice.getrandbits(64):x}"
            self.one(gateway, describe(f"tenant-{worker}", turns(name)), mine.get(name), said, counts)
            mine[name] = said
        with self.lock:
            self.counts += counts

    def one(self, gateway, asked, mine, said, counts) -> None:
        """Ask; compare a hit with what was stored last; store anew."""
        if counts.total() % 5 == 4:
            found = gateway.ask_all([asked, describe("nobody", turns("never"))])[0].decision
        else:
            found = gateway.ask(asked)
        counts[outcome(found)] += 1
        hit = outcome(found) == "hit"
        if hit and (mine is None or found.candidate.body.data != chat_body(mine)):
            with self.lock:
                self.swapped.append(said)
        source = asked if hit else found.fill_token
        assert filed(gateway.store(source, answer(said))) == "stored"
        counts["stored"] += 1


def crowd(calls: int) -> Crowd:
    with running(store={"max_bytes": "256MiB"}) as server:
        places = [server.place.unix, server.place.tcp]
        gateways = [Gateway(places[at % 2]) for at in range(CHANNELS)]
        people = Crowd(gateways, calls)
        with ThreadPoolExecutor(THREADS) as pool:
            for worker in [pool.submit(people.run, at) for at in range(THREADS)]:
                worker.result()
        for gateway in gateways:
            gateway.close()
        return people


def assert_nothing_swapped(people: Crowd, calls: int) -> None:
    told = ", ".join(f"{count} {name}" for name, count in sorted(people.counts.items()))
    print(f"\n{THREADS} threads, {calls} calls: {told}, {len(people.swapped)} swapped")  # noqa: T201
    assert people.swapped == []
    assert people.counts["hit"] > 0
    assert people.counts["miss"] > 0
    assert people.counts.total() >= calls - 2 * THREADS


def test_64_threads_get_their_own_answers(capsys):
    assert_nothing_swapped(crowd(2000), 2000)


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_64_threads_get_their_own_answers_for_long(capsys):
    people = crowd(50_000)
    with capsys.disabled():
        assert_nothing_swapped(people, 50_000)


def test_everybody_asks_for_the_same_at_once():
    """One request's bytes from all threads together: every decision is the same."""
    with running() as server:
        asked = describe(messages=turns("what everybody asks"))
        start = threading.Barrier(THREADS)

        def ask() -> str:
            start.wait()
            return server.gateway.ask(asked).fill_token

        with ThreadPoolExecutor(THREADS) as pool:
            tokens = [one.result() for one in [pool.submit(ask) for _ in range(THREADS)]]
        assert all(tokens)
        items = [storing(token, answer(f"{at}")) for at, token in enumerate(tokens)]
        results = server.gateway.store_all(items)
        assert len({result.response.entries[0].entry_id for result in results}) == 1


def short_lived(forked, folder, count: int) -> None:
    place = Place(folder)
    with forked.sidecar(place) as server:
        steady = server.wait_until_serving()
        steady.store(describe())

        def come_and_go(number: int) -> None:
            for at in range(number):
                with Gateway(place.unix if at % 2 else place.tcp) as gateway:
                    assert outcome(gateway.ask(describe())) == "hit"

        come_and_go(count // 5)
        files, threads, memory = server.open_files(), server.status("Threads"), server.status("VmRSS")
        come_and_go(count)
        stats = place.admin
        with Gateway(stats) as operator:
            decisions = operator.admin.GetStats(admin_service_pb2.GetStatsRequest(), timeout=30).decisions
        assert decisions >= count
        steady.ask(describe())
        assert server.open_files() <= files + 4
        assert server.status("Threads") <= threads + 4
        grown = server.status("VmRSS") - memory
        print(f"\n{count} channels: {server.open_files()} files, {grown} KiB more memory")  # noqa: T201
        assert grown < 8 * 1024
        steady.close()


def test_short_lived_channels_leave_nothing_behind(forked, folder):
    short_lived(forked, folder, 1000)


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_many_short_lived_channels_leave_nothing_behind(forked, folder, capsys):
    with capsys.disabled():
        short_lived(forked, folder, 10_000)
