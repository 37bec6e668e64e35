"""Counts that several processes share: none is lost, none is another's."""

from __future__ import annotations

import os
import subprocess
import sys

import pytest

from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, RefusalReason
from askonce_server.core.zones import Zone
from askonce_server.service.tallies import BOUNDS_US, RULE_ENDS, SIMILARITY_BINS, TIMED
from askonce_server.workers.counts import SharedCounts, make_memory

MOST = 131_072
"""How many names there is room for, one of them for the rest."""


@pytest.fixture
def memory():
    descriptor = make_memory(3)
    yield descriptor
    os.close(descriptor)


def test_each_sees_the_sum(memory):
    first, second = SharedCounts(memory, worker=0), SharedCounts(memory, worker=1)
    for _ in range(3):
        first.add("hit.exact")
    second.add("hit.exact")
    second.add("stored")
    assert first.totals() == second.totals() == {"hit.exact": 4, "stored": 1}
    assert SharedCounts(memory, worker=2).totals() == {"hit.exact": 4, "stored": 1}


def test_a_successor_goes_on_where_a_worker_ended(memory):
    SharedCounts(memory, worker=1).add("stored")
    successor = SharedCounts(memory, worker=1)
    successor.add("stored")
    successor.add("refresh")
    assert successor.totals() == {"stored": 2, "refresh": 1}


def test_what_finds_no_place_is_counted_all_the_same(memory):
    counts, other = SharedCounts(memory, worker=0), SharedCounts(memory, worker=1)
    for number in range(MOST + 90):
        counts.add(f"name-{number}")
        counts.add(f"name-{number}")
    other.add("n" * 500)
    other.add("hit.exact")
    totals = other.totals()
    assert totals["name-0"] == totals[f"name-{MOST - 2}"] == 2
    assert totals["other"] == 2 * 91 + 1
    assert totals["hit.exact"] == 1
    assert sum(totals.values()) == 2 * (MOST + 90) + 2


def test_two_hundred_rules_with_everything_that_can_be_said_of_them_have_room(memory):
    """As many names as a rule may have, each as long as it gets."""
    names = [
        *(f"miss.{reason.name.lower()}" for reason in DenyReason),
        *(f"bypass.{reason.name.lower()}" for reason in BypassReason),
        *(
            f"skipped.{matcher.name.lower()}.{why.name.lower()}"
            for matcher in Matcher
            for why in BypassReason
        ),
        *(f"hit.{matcher.name.lower()}" for matcher in Matcher),
        *(f"refusal.{reason.name.lower()}" for reason in RefusalReason),
        *(f"took.{what}.{at}" for what in TIMED for at in range(len(BOUNDS_US) + 1)),
        *(f"took_us.{what}" for what in TIMED),
        *(f"near.{zone.name.lower()}.{at}" for zone in Zone for at in range(SIMILARITY_BINS)),
        *("miss.no_entry", "refresh", "stored", "unpriced", "avoided.nano_usd", "embed.nano_usd"),
        *("collapsed", "stale", "shadow.would_hit"),
    ]
    counts = SharedCounts(memory, worker=0)
    for rule in range(200):
        for name in names:
            counts.add(f"{rule:064}{RULE_ENDS}{name}")
    totals = SharedCounts(memory, worker=1).totals()
    assert len(totals) == 200 * len(names)
    assert set(totals.values()) == {1}


COUNT = """
import sys
from askonce_server.workers.counts import SharedCounts
counts = SharedCounts(int(sys.argv[1]), worker=int(sys.argv[2]))
for number in range(20_000):
    counts.add(("hit.exact", "stored")[number % 2])
"""


def test_processes_that_count_at_once_lose_nothing(memory):
    commands = [[sys.executable, "-c", COUNT, str(memory), str(worker)] for worker in range(3)]
    children = [subprocess.Popen(command, pass_fds=(memory,)) for command in commands]
    assert [child.wait(timeout=60) for child in children] == [0, 0, 0]
    assert SharedCounts(memory, worker=0).totals() == {"hit.exact": 30_000, "stored": 30_000}
