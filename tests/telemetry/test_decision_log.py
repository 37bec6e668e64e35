"""The log of decisions: a line each, nothing that was said, and nobody waits for it."""

from __future__ import annotations

import io
import json
import threading

import pytest

from askonce_server.core.decision import bypass
from askonce_server.core.reasons import BypassReason
from askonce_server.needs import CannotStart
from askonce_server.service.call import Call
from askonce_server.telemetry.decision_log import DecisionLog
from rpc.harness import running
from rpc.marked import MARKS, torture, use_everything
from rpc.requests import describe
from rpc.semantic import asking, at, semantic


def lines(path):
    return [json.loads(line) for line in path.read_bytes().splitlines()]


def logged(path, **changes):
    return {"telemetry": {"decision_log": {"path": str(path), **changes}}}


def test_each_decision_is_a_line(tmp_path):
    path = tmp_path / "decisions.jsonl"
    with running(**semantic(low_threshold=0.0), **logged(path)) as server:
        server.gateway.fill(asking("how tall is it", at(1)))
        hit = server.gateway.ask(asking("how tall is that", at(0.99)), request_id="r-1")
        server.gateway.ask(describe(None))
    miss, found, none = lines(path)
    assert (miss["outcome"], none["outcome"], none["bypass_reason"]) == ("miss", "bypass", "scope_missing")
    assert found.pop("time").endswith("+00:00")
    assert found.pop("took_us") >= 0
    assert found.pop("similarity") == pytest.approx(0.99)
    assert found == {
        "decision": hit.decision_id,
        "request_id": "r-1",
        "rule": "near",
        "outcome": "hit",
        "kind": "semantic",
        "entry": hit.candidate.entry_sha7,
        "scope": hit.candidate.scope_sha7,
        "zone": "above",
    }


def test_it_is_off_by_default_and_takes_a_share(tmp_path):
    path = tmp_path / "decisions.jsonl"
    with running(**logged(path, sample=0.0)) as server:
        server.gateway.ask(describe("none"))
    assert lines(path) == []
    assert path.stat().st_mode & 0o777 == 0o600


@pytest.mark.timeout(300)
def test_nothing_that_was_said_is_in_it(tmp_path):
    path = tmp_path / "decisions.jsonl"
    with running(**logged(path)) as server:
        use_everything(server.gateway)
        torture(server.gateway)
    written = path.read_text()
    assert written.count("\n") > 20
    for name, mark in MARKS.items():
        if name != "request":
            assert mark not in written, name


def test_a_file_that_cannot_be_written_is_named(tmp_path):
    with pytest.raises(CannotStart, match=r"telemetry\.decision_log"), running(**logged(tmp_path)):
        pass


def test_a_disk_that_hangs_costs_lines_and_no_call(caplog):
    held, dropped = threading.Event(), []

    class Hangs(io.BytesIO):
        def write(self, _):
            held.wait(60)

    log = DecisionLog(Hangs(), sample=1.0, dropped=lambda: dropped.append(1), trace_id=str, waiting=10)
    for _ in range(100):
        log.decided(bypass(BypassReason.NO_RULE, None, now_ms=0), Call())
    assert 89 <= len(dropped) <= 90
    assert len([one for one in caplog.records if "loses lines" in one.getMessage()]) == 1
    held.set()
    log.close()
