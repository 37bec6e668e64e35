"""`askonce stats` and `askonce top`: what a server counted, for people and for machines."""

from __future__ import annotations

import json
import os
import pty
import re
import select
import subprocess
import sys
import time
from datetime import UTC, datetime, timedelta

import pytest

from askonce.v1.admin_service_pb2 import GetStatsResponse
from askonce_server.cli import top_screen
from askonce_server.cli.counts import stats_of
from rpc.answers import answer
from rpc.harness import running
from rpc.requests import describe, turns

RULES = [{"id": "chat", "match": {"scope": {"tenant": "acme"}}}, {"id": "rest"}]


@pytest.fixture(scope="module")
def counted():
    """A server with a hit of each kind, misses, a bypass, a refusal, and money."""
    with running(rules=RULES) as server:
        gateway = server.gateway
        gateway.fill(describe("acme", turns("a  b")), cost_usd=0.25)
        gateway.ask(describe("acme", turns("a  b")))
        gateway.ask(describe("acme", turns("a b")))
        gateway.ask(describe("acme", turns("new")))
        gateway.ask(describe("other"), mode=2)
        gateway.store(describe("other"), answer(status_code=500))
        yield server


def lines(out):
    """What stands beside each name."""
    return {
        name.strip(): value for name, value in re.findall(r"^ {0,2}(\S.*?)  +(\S.*?) *$", out, re.MULTILINE)
    }


def test_stats_show_what_was_counted(askonce, counted):
    ran = askonce("stats", "--admin", counted.place.admin)
    assert (ran.code, ran.err) == (0, "")
    told = lines(ran.out)
    assert told["hit rate"] == "50.0 % (2 of 4 hits and misses)"
    assert told["hits"] == "2: exact 1, normalized 1"
    assert told["misses"] == "2: no_entry 2"
    assert told["bypasses"] == "1: caller_bypass 1"
    assert told["refusals"] == "1: upstream_error 1"
    assert told["decisions"] == "5"
    assert told["cost avoided"] == "$0.5000"
    assert told["entries"] == "2 in 0 partitions"
    assert told["store"].endswith("%)")
    assert re.fullmatch(r"p50 ≤ \S+ ms, p95 ≤ \S+ ms, p99 ≤ \S+ ms \(mean \S+ ms\)", told["hits took"])


def test_stats_of_one_rule_and_since_a_time(askonce, counted):
    ran = askonce("stats", "--admin", counted.place.admin, "--rule", "rest", "--since", "24h", "--json")
    told = json.loads(ran.out)
    assert told["bypasses"] == told["decisions"] == told["refusals"] == "1"
    hour = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    began = datetime.fromisoformat(told["counted_since"])  # nothing was counted before
    assert hour - timedelta(hours=1) <= began <= hour
    ran = askonce("stats", "--admin", counted.place.admin, "--rule", "none")
    assert ran.code == 1
    assert "there is no rule 'none'" in ran.err


NOW = datetime(2026, 3, 2, 12, tzinfo=UTC)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("24h", NOW - timedelta(days=1)),
        ("1h30m", NOW - timedelta(minutes=90)),
        ("2026-03-01T09:00Z", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01T09:00", datetime(2026, 3, 1, 9, tzinfo=UTC)),
        ("2026-03-01 09:00+02:00", datetime(2026, 3, 1, 7, tzinfo=UTC)),
        ("2026-03-01", datetime(2026, 3, 1, tzinfo=UTC)),
    ],
)
def test_since_takes_a_time_or_how_long_ago(text, told):
    assert stats_of("", text, now=NOW).since.ToDatetime(UTC) == told


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("24", "askonce: --since needs a unit: did you mean 24s? Units are d, h, m, s and ms"),
        ("yesterday", "askonce: --since must be a number with a unit, such as 15m, 35ms or 1h30m"),
        ("2026-13-01", "askonce: --since is no time: '2026-13-01'; write 2026-03-01T09:00Z"),
    ],
)
def test_a_since_that_is_no_time_is_misuse(askonce, text, line):
    ran = askonce("stats", "--admin", "127.0.0.1:1", "--since", text)
    assert (ran.code, ran.err) == (2, line + "\n")


def test_top_shows_one_interval(askonce, counted):
    ran = askonce("top", "--admin", counted.place.admin, "--interval", "100ms", "--once")
    assert (ran.code, ran.err) == (0, "")
    told = lines(ran.out)
    assert told["hits"] == told["misses"] == "0.0"
    assert told["hit rate now"] == "none asked"
    assert told["hit rate"] == "50.0 % (2 of 4 hits and misses)"
    ran = askonce("top", "--admin", counted.place.admin, "--interval", "10ms")
    assert (ran.code, ran.err) == (2, "askonce: --interval must be at least 100ms\n")


def glance(at, uptime, **counts):
    stats = GetStatsResponse(**counts)
    stats.uptime.FromMilliseconds(int(uptime * 1000))
    return top_screen.Glance(stats, at)


def test_rates_are_differences_by_the_second():
    before = glance(10.0, 60, hits=5, misses=1, tallies={"miss.no_entry": 1})
    now = glance(12.0, 62, hits=9, misses=2, tallies={"miss.no_entry": 1, "miss.expired": 1})
    told = top_screen.since(before, now)
    assert (told["hits"], told["misses"]) == (2.0, 0.5)
    assert (told["miss.no_entry"], told["miss.expired"]) == (0.0, 0.5)
    anew = top_screen.since(before, glance(12.0, 1, hits=4))
    assert anew["hits"] == 2.0


def test_top_ends_with_q_and_gives_the_terminal_back(counted):
    ours, theirs = pty.openpty()
    command = [sys.executable, "-m", "askonce_server", "top", "--admin", counted.place.admin]
    process = subprocess.Popen(
        [*command, "--interval", "100ms"],
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
        env={**os.environ, "TERM": "xterm", "COLUMNS": "100", "LINES": "40"},
    )
    os.close(theirs)
    try:
        shown = _read_until(ours, "hit rate")
        assert "\x1b[?1049h" in shown
        counted.gateway.ask(describe("acme", turns("while it watches")), mode=2)
        os.write(ours, b"q")
        assert "\x1b[?1049l" in shown + _read_until(ours, "\x1b[?1049l")
        assert process.wait(timeout=30) == 0
    finally:
        process.kill()
        process.wait(timeout=30)
        os.close(ours)


def _read_until(terminal, text):
    shown, deadline = "", time.monotonic() + 60
    while text not in shown:
        assert time.monotonic() < deadline, shown
        if select.select([terminal], [], [], 1)[0]:
            shown += os.read(terminal, 4096).decode(errors="replace")
    return shown
