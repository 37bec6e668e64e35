"""What was exported from one sidecar's store is served by another sidecar: all tiers, ids and times kept."""

from __future__ import annotations

import io
import time
from contextlib import contextmanager

import pytest

from askonce_server import upkeep
from askonce_server.upkeep import Fate, Told
from rpc.answers import answer, chat_body
from rpc.harness import Place, Running, short_folder
from rpc.replies import outcome, verdict
from rpc.requests import describe, seconds, turns
from rpc.semantic import asking, at, semantic

FIRST = "How do I reset my password?"
AGAIN = "How can I reset my password?"


@contextmanager
def serving(folder, **settings):
    server = Running(Place(folder, **{**semantic(), **settings}))
    try:
        yield server
    finally:
        server.stop()


@pytest.fixture
def folders():
    with short_folder() as old, short_folder() as new:
        yield old, new


def exported(folder):
    written = []
    upkeep.export_store(Place(folder, **semantic()).load(), written.append, lambda *_: None)
    return b"".join(written)


def imported(folder, data):
    told = Told(lambda _: None, lambda *_: None)
    return upkeep.import_store(Place(folder, **semantic()).load(), io.BytesIO(data), told, strict=True)


def spaced(text):
    return asking(text.replace(" ", "  "), at(0), tenant="acme")


def test_after_import_every_tier_hits_under_the_old_ids_with_what_was_left_of_the_ttl(folders):
    old, new = folders
    with serving(old) as server:
        stored = server.gateway.fill(asking(FIRST, at(1), tenant="acme"), "Like this.", ttl=seconds(500))
        ids = {entry.kind: entry.entry_id for entry in stored.entries}
        before = server.gateway.ask(asking(FIRST, at(1), tenant="acme")).candidate
    data = exported(old)
    time.sleep(1.1)
    assert imported(new, data).fates == {Fate.IMPORTED: 1}
    with serving(new) as server:
        asked = {
            "hit exact": asking(FIRST, at(0), tenant="acme"),
            "hit normalized": spaced(FIRST),
            "hit semantic": asking(AGAIN, at(0.97), tenant="acme"),
        }
        for kind, (want, one) in enumerate(asked.items(), start=1):
            found = server.gateway.ask(one)
            assert verdict(found) == want
            candidate = found.candidate
            assert candidate.entry_id == ids[kind]
            assert candidate.body.data == chat_body("Like this.")
            assert candidate.expire_time == before.expire_time
            assert candidate.store_time == before.store_time
            assert 490 < candidate.ttl_left.seconds < before.ttl_left.seconds
        assert outcome(server.gateway.ask(asking(FIRST, at(1), tenant="other"))) == "miss"


def pairs(start, gap=" "):
    """Two hundred requests."""
    return [describe("acme", turns(f"question{gap}{n}")) for n in range(start, start + 200)]


def test_a_thousand_pairs_hit_in_every_tier_that_holds_them(folders):
    old, new = folders
    with serving(old) as server:
        for start in range(0, 1000, 200):
            decisions = [result.decision for result in server.gateway.ask_all(pairs(start))]
            for number, one in enumerate(decisions, start):
                server.gateway.store(one.fill_token, answer(f"answer {number}"))
    assert imported(new, exported(old)).fates == {Fate.IMPORTED: 1000}
    with serving(new) as server:
        for start in range(0, 1000, 200):
            for gap, want in ((" ", "hit exact"), ("  ", "hit normalized")):
                for number, one in enumerate(server.gateway.ask_all(pairs(start, gap)), start):
                    assert verdict(one.decision) == want
                    assert one.decision.candidate.body.data == chat_body(f"answer {number}")
