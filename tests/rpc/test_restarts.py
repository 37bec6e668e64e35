"""What a restart keeps, and what another configuration makes of what was stored."""

from __future__ import annotations

from contextlib import contextmanager

import pytest

from rpc.answers import chat_body
from rpc.harness import Place, Running, short_folder
from rpc.replies import outcome, verdict
from rpc.requests import describe, turns

SCOPE = {"tenant": "acme", "user": "ann"}


@contextmanager
def restarted(folder, **rule):
    """A sidecar over the store in `folder`, with one rule."""
    server = Running(Place(folder, rules=[{"id": "only", **rule}]))
    try:
        yield server
    finally:
        server.stop()


def asked():
    return describe(messages=turns("a  b"), scope=SCOPE, params={"temperature": 0, "user": "ann"})


def test_what_was_stored_is_found_after_a_restart():
    with short_folder() as folder:
        with restarted(folder) as server:
            stored = server.gateway.fill(asked(), "kept")
        for _ in range(3):
            with restarted(folder) as server:
                found = server.gateway.ask(asked())
                assert verdict(found) == "hit exact"
                assert found.candidate.body.data == chat_body("kept")
                assert found.candidate.entry_id == stored.entries[0].entry_id
                assert server.stats().entries == 2


@pytest.mark.parametrize(
    "rule",
    [
        {"scope": ["tenant", "user"]},
        {"scope": ["user"]},
        {"scope": [], "shared": True},
        {"key": {"ignore_params": ["user"]}},
        {"key": {"ignore_params": ["metadata"]}},
        {"key": {"stream": "shared"}},
        {"key": {"params": "class", "ignore_params": ["user"]}},
    ],
    ids=str,
)
def test_a_rule_that_keys_otherwise_starts_cold_and_the_old_entries_stay_for_the_old_rule(rule):
    with short_folder() as folder:
        with restarted(folder) as server:
            server.gateway.fill(asked(), "old")
        with restarted(folder, **rule) as server:
            assert verdict(server.gateway.ask(asked())) == "miss"
            server.gateway.fill(asked(), "new")
            assert server.gateway.ask(asked()).candidate.body.data == chat_body("new")
            assert server.stats().entries == 4
        with restarted(folder) as server:
            assert server.gateway.ask(asked()).candidate.body.data == chat_body("old")


@pytest.mark.parametrize(
    ("rule", "said"),
    [
        ({"ttl": "2h"}, "hit exact"),
        ({"strategy": ["exact"]}, "hit exact"),
        ({"strategy": ["normalized"]}, "hit normalized"),
        ({"strategy": ["normalized", "exact"]}, "hit normalized"),
        ({"eligibility": {"sampling": "all"}}, "hit exact"),
        ({"admission": {"max_body": "16"}}, "miss not_admitted"),
        ({"mode": "shadow"}, "miss"),
        ({"mode": "off"}, "bypass disabled"),
    ],
    ids=str,
)
def test_a_rule_that_keys_alike_finds_what_was_stored(rule, said):
    with short_folder() as folder:
        with restarted(folder) as server:
            server.gateway.fill(asked())
        with restarted(folder, **rule) as server:
            assert verdict(server.gateway.ask(asked())) == said


def test_case_folding_parts_normalized_entries_and_leaves_exact_ones():
    with short_folder() as folder:
        with restarted(folder) as server:
            server.gateway.fill(asked())
        with restarted(folder, normalized={"case_fold": True}) as server:
            assert verdict(server.gateway.ask(asked())) == "hit exact"
            other = describe(messages=turns("a b"), scope=SCOPE, params={"temperature": 0, "user": "ann"})
            assert verdict(server.gateway.ask(other)) == "miss"


def test_a_store_in_memory_serves_and_forgets(start):
    server = start(store={"engine": "memory"})
    server.gateway.fill(asked())
    assert verdict(server.gateway.ask(asked())) == "hit exact"
    assert server.gateway.serving("askonce.store") == "SERVING"
    assert server.stats().entries == 2
    assert not server.place.store.exists()
    again = start(store={"engine": "memory"})
    assert outcome(again.gateway.ask(asked())) == "miss"
