"""`kill -9` at any point: what was acknowledged is there afterwards, and no answer is another's."""

from __future__ import annotations

import random
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from faults.sidecar_process import Served
from rpc.answers import answer, storing
from rpc.harness import Gateway, Place
from rpc.replies import filed, outcome
from rpc.requests import describe, turns

WORKERS = 8


class Written:
    """What each name may hold: the answer acknowledged last, or one that was tried after it."""

    def __init__(self) -> None:
        self.acknowledged: dict[str, int] = {}
        self.tried: dict[str, int] = {}
        self.lost: list[str] = []
        self.wrong: list[str] = []
        self.checked = 0

    def body(self, name: str, version: int) -> bytes:
        """An answer that tells itself apart; its size varies from bytes to pages."""
        return f"{name}:{version}:".encode() * (1 + (version * 37) % 900)

    def check(self, name: str, decision) -> None:
        """Judge what a restarted sidecar says of `name`."""
        self.checked += 1
        last, tried = self.acknowledged[name], self.tried[name]
        if outcome(decision) != "hit":
            self.lost.append(name)
            return
        found = decision.candidate.body.data
        if not any(found == self.body(name, version) for version in range(last, tried + 1)):
            self.wrong.append(name)
        self.acknowledged[name] = next(
            (version for version in range(last, tried + 1) if found == self.body(name, version)), last
        )


def asked(name: str):
    return describe(name, turns(f"question of  {name}"), dialect="custom")


def load(place, written, worker, done, seed) -> None:
    """Look up, store, replace, store in batches, until the sidecar is gone."""
    choice = random.Random(seed)
    with Gateway(place.unix if worker % 2 else place.tcp) as gateway:
        try:
            while not done.is_set():
                names = [f"{worker}-{choice.randrange(40)}" for _ in range(choice.choice((1, 1, 1, 4, 16)))]
                names = list(dict.fromkeys(names))
                if len(names) == 1:
                    store_one(gateway, written, names[0], by_token=choice.random() < 0.5)
                else:
                    store_many(gateway, written, names)
        except grpc.RpcError:
            return


def store_one(gateway: Gateway, written: Written, name: str, *, by_token: bool) -> None:
    version = written.tried[name] = written.tried.get(name, 0) + 1
    source = gateway.ask(asked(name), mode=3, timeout=10).fill_token if by_token else asked(name)
    if filed(gateway.store(source, answer(written.body(name, version)))) == "stored":
        written.acknowledged[name] = version


def store_many(gateway: Gateway, written: Written, names: list[str]) -> None:
    for name in names:
        written.tried[name] = written.tried.get(name, 0) + 1
    versions = {name: written.tried[name] for name in names}
    items = [storing(asked(name), answer(written.body(name, versions[name]))) for name in names]
    for name, result in zip(names, gateway.store_all(items), strict=True):
        if filed(result.response) == "stored":
            written.acknowledged[name] = versions[name]


def check(gateway: Gateway, written: Written) -> None:
    names = list(written.acknowledged)
    for start in range(0, len(names), 64):
        some = names[start : start + 64]
        for name, result in zip(some, gateway.ask_all([asked(name) for name in some]), strict=True):
            if result.WhichOneof("result") == "error":  # more bodies than one answer may have
                written.check(name, gateway.ask(asked(name)))
            else:
                written.check(name, result.decision)


def rounds(forked, folder, count: int) -> Written:
    """Start, check what the last round left, load, kill at a random moment; again and again."""
    place = Place(folder)
    written = Written()
    choice = random.Random(20)
    for number in range(count + 1):
        with forked.sidecar(place) as server:
            gateway = server.wait_until_serving()
            assert gateway.serving("askonce.store") == "SERVING", server.log.read_text()
            check(gateway, written)
            gateway.close()
            if number < count:
                load_and_kill(server, written, choice)
    return written


def load_and_kill(server: Served, written: Written, choice: random.Random) -> None:
    done = threading.Event()
    with ThreadPoolExecutor(WORKERS) as pool:
        for worker in range(WORKERS):
            pool.submit(load, server.place, written, worker, done, choice.randrange(10**9))
        time.sleep(choice.uniform(0.02, 0.4))
        server.kill()
        done.set()


def assert_nothing_lost(written: Written, count: int) -> None:
    print(  # noqa: T201 - the counts are what the long form is run for
        f"\n{count} rounds of kill -9: {sum(written.tried.values())} Stores tried, "
        f"{written.checked} acknowledged ones looked up, {len(written.lost)} lost, {len(written.wrong)} wrong"
    )
    assert written.lost == []
    assert written.wrong == []
    assert written.checked > 10 * count


def test_ten_kills_lose_nothing(forked, folder):
    assert_nothing_lost(rounds(forked, folder, 10), 10)


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_two_hundred_kills_lose_nothing(forked, folder, capsys):
    written = rounds(forked, folder, 200)
    with capsys.disabled():
        assert_nothing_lost(written, 200)


def test_what_is_acknowledged_is_visible_to_every_next_lookup(forked, folder):
    """Not only later, and not only to whom stored it: a killed server changes nothing about it either."""
    place = Place(folder)
    with forked.sidecar(place) as server:
        one = server.wait_until_serving()
        with Gateway(place.tcp) as other:
            for number in range(50):
                assert filed(one.store(asked(f"n{number}"), answer(f"answer {number}"))) == "stored"
                assert outcome(other.ask(asked(f"n{number}"))) == "hit"
        server.kill()
        one.close()
    with forked.sidecar(place) as server:
        gateway = server.wait_until_serving()
        results = gateway.ask_all([asked(f"n{number}") for number in range(50)])
        assert [outcome(result.decision) for result in results] == ["hit"] * 50
        gateway.close()
