"""`kill -9` under semantic load: index and store agree afterwards, and every acknowledged answer is near."""

from __future__ import annotations

import random
import struct
import threading
import time
from concurrent.futures import ThreadPoolExecutor

import grpc
import pytest

from askonce_server.store import StoreSettings, open_store
from faults.sidecar_process import Served
from rpc.answers import answer_for
from rpc.harness import Gateway, Place
from rpc.replies import filed, verdict
from rpc.requests import seconds
from rpc.semantic import DIM, asking, semantic

WORKERS = 4
TENANTS = 3
PATIENT_SECONDS = 120
"""How long a batch may take on a machine with other work: what is counted are answers, not time."""
THINGS = "kettle lamp carpet bicycle printer ladder jacket camera guitar blender".split()


def question(number: int) -> str:
    return f"Where is the {THINGS[number % 10]} with label {number}?"


def vector(number: int) -> bytes:
    """A direction of its own for each number, the same in every run."""
    choice = random.Random(number)
    return struct.pack(f"<{DIM}f", *(choice.gauss(0, 1) for _ in range(DIM)))


def asked(number: int, *, text: str = ""):
    tenant = f"t{number % TENANTS}"
    return asking(text or question(number), vector(number), tenant=tenant)


class Written:
    """Which numbers were acknowledged."""

    def __init__(self) -> None:
        self.acknowledged: set[int] = set()
        self.tried = 0
        self.checked = 0
        self.lost: list[int] = []
        self.wrong: list[int] = []


def load(place: Place, written: Written, done: threading.Event, seed: int) -> None:
    choice = random.Random(seed)
    with Gateway(place.unix) as gateway:
        try:
            while not done.is_set():
                number = choice.randrange(100_000)
                written.tried += 1
                one = asked(number)
                decision = gateway.ask(one, mode=3, timeout=10)
                ttl = seconds(1) if number % 10 == 0 else None
                stored = gateway.store(decision.fill_token, answer_for(one, f"about {number}."), ttl=ttl)
                if filed(stored) == "stored" and ttl is None:
                    written.acknowledged.add(number)
        except grpc.RpcError:
            return


def check(gateway: Gateway, written: Written) -> None:
    """Ask for what was acknowledged in other words, with the same vector."""
    numbers = sorted(written.acknowledged)
    for start in range(0, len(numbers), 128):
        some = numbers[start : start + 128]
        items = [asked(number, text=f"Please tell me: {question(number)}") for number in some]
        for number, result in zip(some, gateway.ask_all(items, timeout=PATIENT_SECONDS), strict=True):
            written.checked += 1
            if verdict(result.decision) != "hit semantic":
                written.lost.append(number)
            elif f"about {number}.".encode() not in result.decision.candidate.body.data:
                written.wrong.append(number)


def rounds(forked, folder, count: int) -> Written:
    """Start, check what the last round left, load, kill at a random moment; again and again."""
    place, written, choice = (
        Place(folder, **semantic(threshold=0.999, low_threshold=0)),
        Written(),
        random.Random(7),
    )
    for number in range(count + 1):
        if place.store.exists():
            verify(place)
        with forked.sidecar(place) as server:
            gateway = server.wait_until_serving()
            check(gateway, written)
            gateway.close()
            if number < count:
                load_and_kill(server, written, choice)
    return written


def verify(place: Place) -> None:
    """Every row that a killed server left agrees with the others: entries, vectors, partitions, bodies."""
    store = open_store(StoreSettings(path=place.store, max_bytes=64 << 20))
    try:
        assert store.verify() == []
    finally:
        store.close()


def load_and_kill(server: Served, written: Written, choice: random.Random) -> None:
    done = threading.Event()
    with ThreadPoolExecutor(WORKERS) as pool:
        for _ in range(WORKERS):
            pool.submit(load, server.place, written, done, choice.randrange(10**9))
        time.sleep(choice.uniform(0.02, 0.4))
        server.kill()
        done.set()


def assert_nothing_lost(written: Written, count: int) -> None:
    print(  # noqa: T201 - the counts are what the long form is run for
        f"\n{count} rounds of kill -9 under semantic load: {written.tried} Stores tried, {written.checked} "
        f"acknowledged answers asked for in other words, {len(written.lost)} lost, {len(written.wrong)} wrong"
    )
    assert written.lost == []
    assert written.wrong == []
    assert written.checked >= 2 * count  # a machine under load stores few in so short a time


def test_three_kills_lose_nothing_near(forked, folder):
    assert_nothing_lost(rounds(forked, folder, 3), 3)


@pytest.mark.thorough
@pytest.mark.timeout(3600)
def test_a_hundred_kills_lose_nothing_near(forked, folder, capsys):
    written = rounds(forked, folder, 100)
    with capsys.disabled():
        assert_nothing_lost(written, 100)
