"""Fetch of a stale answer: served at once, and refreshed by one caller behind its back."""

from __future__ import annotations

import asyncio
import inspect
import time
from collections import Counter

import askonce
from client.providers import Broken, Provider, fill_of
from client.scripted import ANSWER, CHAT, hit


def stale(client, script, **held):
    script.decide(hit(b"old", stale=True, fill_token=b"t", store_answer=True, **held))
    provider = Provider()
    return provider, fill_of(client, provider)


def methods(script, *, until):
    """What was called, once that is `until`."""
    end = time.monotonic() + 10
    while (said := [one.method for one in script.received]) != until and time.monotonic() < end:
        time.sleep(0.01)
    return said


def test_a_stale_answer_is_served_at_once_and_refreshed_in_the_background_by_a_thread(sidecar, script):
    with askonce.AskOnce(sidecar.target, budget=5) as client:
        provider, _ = stale(client, script, lease_holder=True)
        provider.release.clear()
        fetched = client.fetch(CHAT, provider.fill)
        assert (fetched.body, fetched.stored) == (b"old", None)
        assert provider.begun.wait(5)
        assert len(script.received) == 1
        provider.release.set()
        assert methods(script, until=["Lookup", "Store"]) == ["Lookup", "Store"]
        assert (script.last().fill_token, script.last().response.body) == (b"t", ANSWER.body)


def test_a_stale_answer_is_refreshed_in_the_background_by_a_task(sidecar, script):
    async def main():
        async with askonce.AsyncAskOnce(sidecar.target, budget=5) as client:
            provider = Provider(slow=True)
            script.decide(hit(b"old", stale=True, lease_holder=True, fill_token=b"t", store_answer=True))
            assert (await client.fetch(CHAT, provider.fill_async)).body == b"old"
            await asyncio.sleep(0.05)
            assert (provider.calls, len(script.received)) == (1, 1)
            provider.release.set()
            for _ in range(1000):
                if len(script.received) == 2:
                    break
                await asyncio.sleep(0.01)
            assert script.last().response.body == ANSWER.body

    asyncio.run(main())


def test_who_may_not_refresh_is_served_and_that_is_all(client, script):
    provider, fill = stale(client, script)
    assert client.fetch(CHAT, fill).body == b"old"
    assert (provider.calls, len(script.received)) == (0, 1)


def test_a_refresh_may_be_left_to_another_caller(client, script):
    provider, fill = stale(client, script, lease_holder=True)
    assert client.fetch(CHAT, fill, refresh=False).body == b"old"
    assert provider.calls == 0
    assert [one.method for one in script.received] == ["Lookup", "Abandon"]


def test_a_refresh_may_be_run_where_the_caller_likes(client, script):
    provider, fill = stale(client, script, lease_holder=True)
    jobs = []
    assert client.fetch(CHAT, fill, refresh=jobs.append).body == b"old"
    assert (provider.calls, len(script.received)) == (0, 1)
    outcome = jobs[0]()
    if inspect.iscoroutine(outcome):
        client._runner.run(outcome)
    assert [one.method for one in script.received] == ["Lookup", "Store"]


def test_a_refresh_that_cannot_begin_or_fails_gives_the_lease_back_and_says_so_once(client, script, log):
    def no_room(job):
        raise RuntimeError("SECRET")

    for _ in range(2):
        _, fill = stale(client, script, lease_holder=True)
        assert client.fetch(CHAT, fill, refresh=no_room).body == b"old"
    assert [one.method for one in script.received] == ["Lookup", "Abandon"] * 2
    jobs = []
    provider = Provider(Broken("SECRET"))
    assert client.fetch(CHAT, fill_of(client, provider), refresh=jobs.append).body == b"old"
    outcome = jobs[0]()
    if inspect.iscoroutine(outcome):
        client._runner.run(outcome)
    assert [one.method for one in script.received][-2:] == ["Lookup", "Abandon"]
    assert log() == [
        "a stale answer was served and not refreshed: RuntimeError (said once)",
        "a stale answer was served and not refreshed: Broken (said once)",
    ]


def test_refreshes_in_the_background_are_bounded(sidecar, script):
    with askonce.AskOnce(sidecar.target, budget=5) as client:
        provider, fill = stale(client, script, lease_holder=True)
        provider.release.clear()
        for _ in range(40):
            assert client.fetch(CHAT, fill).body == b"old"
        provider.release.set()
        end = time.monotonic() + 10
        while len(script.received) < 80 and time.monotonic() < end:
            time.sleep(0.01)
        assert Counter(one.method for one in script.received) == {"Lookup": 40, "Store": 32, "Abandon": 8}
