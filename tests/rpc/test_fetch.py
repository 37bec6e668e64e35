"""The SDK's fetch against a real sidecar: one call for lookup, wait, fill, store and abandon."""

from __future__ import annotations

import asyncio
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from threading import Event, Lock

import pytest

import askonce
from rpc.answers import chat_body
from rpc.harness import running

RULE = {"id": "one", "match": {"endpoint": "chat"}, "coalesce": {"lease": "30s", "max_waiters": 128}}
GPT = askonce.Target("openai", "gpt-4o")
PATIENT = 30.0
"""Seconds of budget, so that a slow machine does not look like a slow sidecar."""


class Broken(Exception):
    pass


class Provider:
    """Answers after some seconds; the first `failing` calls fail."""

    def __init__(self, *, seconds=0.3, failing=0, text="once for all"):
        self.seconds = seconds
        self.failing = failing
        self.answer = askonce.UpstreamResponse.openai_chat(chat_body(text), status_code=200)
        self.calls = 0
        self._lock = Lock()

    def _begin(self):
        with self._lock:
            self.calls += 1
            return self.calls <= self.failing

    def fill(self):
        fails = self._begin()
        time.sleep(self.seconds)
        return self._end(fails)

    async def fill_async(self):
        fails = self._begin()
        await asyncio.sleep(self.seconds)
        return self._end(fails)

    def _end(self, fails):
        if fails:
            raise Broken
        return self.answer


@pytest.fixture(scope="module")
def server():
    with running(rules=[RULE]) as one:
        yield one


@pytest.fixture
def asked(request):
    return described(request.node.name)


def described(text):
    body = {"model": "gpt-4o", "temperature": 0, "messages": [{"role": "user", "content": text}]}
    return askonce.Descriptor.openai_chat(body, served=GPT, scope={"tenant": "acme"})


def caught(call):
    try:
        return call()
    except Broken as error:
        return error


def by_threads(target, asked, provider, *, size, clients):
    """What `size` threads fetch with `clients`; those that share one know of each other."""
    with ExitStack() as stack:
        made = [stack.enter_context(askonce.AskOnce(target, budget=PATIENT)) for _ in range(clients)]
        pool = stack.enter_context(ThreadPoolExecutor(size))

        def one(number):
            return caught(lambda: made[number % clients].fetch(asked, provider.fill))

        return list(pool.map(one, range(size)))


def by_tasks(target, asked, provider, *, size, clients):
    async def main():
        made = [askonce.AsyncAskOnce(target, budget=PATIENT) for _ in range(clients)]
        calls = [made[number % clients].fetch(asked, provider.fill_async) for number in range(size)]
        results = await asyncio.gather(*calls, return_exceptions=True)
        for one in made:
            await one.close()
        return results

    return asyncio.run(main())


def kinds(results):
    return Counter(
        type(one).__name__ if isinstance(one, Exception) else "hit" if one.decision.hit else "filled"
        for one in results
    )


everywhere = pytest.mark.parametrize(
    ("fetch", "clients"),
    [(by_threads, 1), (by_threads, 100), (by_tasks, 1), (by_tasks, 20)],
    ids=["threads", "threads of many gateways", "tasks", "tasks of many gateways"],
)


@everywhere
def test_a_hundred_fetches_of_one_new_request_call_fill_once(server, asked, fetch, clients):
    provider = Provider()
    results = fetch(server.place.unix, asked, provider, size=100, clients=clients)
    assert provider.calls == 1
    assert kinds(results) == {"filled": 1, "hit": 99}
    assert {one.body for one in results} == {provider.answer.body}


@everywhere
def test_a_fill_that_raises_makes_exactly_one_next_leader(server, asked, fetch, clients):
    provider = Provider(failing=1)
    results = fetch(server.place.unix, asked, provider, size=40, clients=min(clients, 40))
    assert provider.calls == 2
    assert kinds(results) == {"Broken": 1, "filled": 1, "hit": 38}


@pytest.mark.parametrize("clients", [1, 60])
def test_a_provider_of_three_seconds_makes_no_herd(server, asked, clients):
    provider = Provider(seconds=3.0)
    began = time.monotonic()
    results = by_threads(server.place.unix, asked, provider, size=60, clients=clients)
    assert time.monotonic() - began < 10
    assert (provider.calls, kinds(results)) == (1, {"filled": 1, "hit": 59})


def test_without_coalesce_gateways_do_not_wait_for_each_other_and_callers_of_one_do():
    with running() as server:
        provider = Provider(seconds=0.5)
        results = by_threads(server.place.unix, described("a"), provider, size=12, clients=3)
        assert provider.calls == 3
        assert kinds(results) == {"filled": 3, "hit": 9}


def test_each_request_was_decided_and_counted_once(server, asked):
    before = server.stats()
    by_threads(server.place.unix, asked, Provider(seconds=0.2), size=10, clients=1)
    after = server.stats()
    assert (after.hits - before.hits, after.misses - before.misses) == (9, 1)


def test_without_a_sidecar_fill_is_called_and_its_answer_returned(asked, tmp_path):
    provider = Provider(seconds=0)
    with askonce.AskOnce(f"unix://{tmp_path}/none.sock") as client:
        began = time.monotonic()
        fetched = client.fetch(asked, provider.fill)
        assert time.monotonic() - began < 3
    assert fetched.body == provider.answer.body
    assert fetched.decision.bypass_reason in {
        askonce.BypassReason.SIDECAR_UNREACHABLE,
        askonce.BypassReason.SIDECAR_TIMEOUT,
    }


def test_a_stale_answer_is_served_at_once_and_refreshed_by_one_caller():
    rule = {"id": "s", "match": {"endpoint": "chat"}, "ttl": "1s", "stale_while_revalidate": "60s"}
    asked = described("how old")
    with running(rules=[rule]) as server, askonce.AskOnce(server.place.unix, budget=PATIENT) as client:
        assert client.fetch(asked, Provider(seconds=0, text="old").fill).stored.stored
        time.sleep(1.1)
        provider, answering = Provider(seconds=0, text="new"), Event()

        def fill():
            answer = provider.fill()
            assert answering.wait(60)
            return answer

        served = [client.fetch(asked, fill) for _ in range(5)]  # nobody waits for the provider
        assert all(one.decision.stale and b"old" in one.body for one in served)
        assert provider.calls <= 1  # it is called beside them
        answering.set()
        until = time.monotonic() + 10
        while b"new" not in client.fetch(asked, provider.fill).body and time.monotonic() < until:
            time.sleep(0.01)
        assert provider.calls >= 1
