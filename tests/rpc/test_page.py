"""The page's interface: the numbers of GetStats, digests alone, and only for those who may ask."""

from __future__ import annotations

import json
import re
from importlib.resources import files
from typing import Any

import pytest
import urllib3

from askonce.v1 import admin_service_pb2
from askonce_server.core.reasons import BypassReason, DenyReason, RefusalReason
from askonce_server.rpc.plain import plain
from askonce_server.web.pacing import Pacer
from askonce_server.web.page import FOLDER, POLICY
from rpc.answers import answer
from rpc.harness import DEADLINE_SECONDS, Running
from rpc.replies import filed, outcome
from rpc.requests import describe, turns
from rpc.semantic import asking, at, semantic

LISTEN = {"listen": "127.0.0.1:0"}
SECRETS = ("acme-secret-tenant", "the secret question", "secret-header-value", "The secret answer.")


@pytest.fixture
def watched(start):
    return start(telemetry=LISTEN)


def ask(server: Running, path: str, method: str = "GET", **rest: Any) -> urllib3.BaseHTTPResponse:
    assert server.sidecar.web is not None
    url = f"http://127.0.0.1:{server.sidecar.web.port}{path}"
    return urllib3.request(method, url, retries=False, timeout=DEADLINE_SECONDS, **rest)


def told(server: Running, path: str) -> Any:
    response = ask(server, path)
    assert response.status == 200, response.data
    return response.json()


def stats(server: Running, **rest: Any) -> Any:
    request = admin_service_pb2.GetStatsRequest(**rest)
    return plain(server.operator.admin.GetStats(request, timeout=DEADLINE_SECONDS))


def of_one_moment(counts: Any) -> Any:
    """Without what a second reading has otherwise."""
    return {
        name: value for name, value in counts.items() if name not in ("uptime", "counted_since", "commits")
    }


def test_the_numbers_are_those_of_getstats(start):
    rules = [{"id": "first", "match": {"scope": {"tenant": "first"}}}, {"id": "rest"}]
    server = start(rules=rules, telemetry=LISTEN)
    server.gateway.fill(describe("first"), cost_usd=0.25)
    for _ in range(3):
        server.gateway.ask(describe("first"))
    server.gateway.ask(describe("other"), mode=2)
    server.gateway.ask(describe(None))
    assert filed(server.gateway.store(describe("other"), answer(status_code=500))) == "upstream_error"
    overview = told(server, "/api/stats")
    assert of_one_moment(overview["stats"]) == of_one_moment(stats(server))
    assert overview["stats"]["hits"] == 3
    assert overview["stats"]["cost_avoided_usd"] == 0.75
    assert [rule["id"] for rule in overview["rules"]] == ["first", "rest"]
    for rule in overview["rules"]:
        assert of_one_moment(rule["stats"]) == of_one_moment(stats(server, rule_id=rule["id"]))
    assert sum(overview["durations"]["hit"]) == 3
    lately = told(server, "/api/stats?since_seconds=3600")["stats"]
    assert lately["hits"] == 3
    assert lately["tallies"] == overview["stats"]["tallies"]


def test_similarities_come_with_the_thresholds_of_their_rule(start):
    server = start(**semantic(), telemetry=LISTEN)
    server.gateway.fill(asking("how do refunds work", at(1)))
    for cosine in (0.97, 0.9, 0.9, 0.6):
        server.gateway.ask(asking(f"how do refunds really work {'so ' * int(cosine * 100)}", at(cosine)))
    (rule,) = told(server, "/api/stats")["rules"]
    zones = rule["semantic"]
    assert (zones["threshold"], zones["low_threshold"]) == (0.95, 0.85)
    assert [sum(zones[zone]) for zone in ("above", "gray", "below")] == [1, 2, 1]
    assert zones["gray"][40] + zones["gray"][39] == 2


def test_the_latest_decisions_are_told_newest_first(watched):
    gateway = watched.gateway
    missed = gateway.ask(describe())
    stored = gateway.store(missed.fill_token, answer())
    hit = gateway.ask(describe())
    left = gateway.ask(describe(None))
    decisions = told(watched, "/api/decisions")["decisions"]
    assert [one["decision_id"] for one in decisions] == [
        left.decision_id,
        hit.decision_id,
        missed.decision_id,
    ]
    assert [one["outcome"] for one in decisions] == ["bypass", "hit", "miss"]
    assert [one["reason"] for one in decisions] == ["scope_missing", None, None]
    assert decisions[1]["kind"] == "exact"
    assert decisions[1]["entry_id"] == hit.candidate.entry_id == stored.entries[0].entry_id
    assert decisions[1]["scope_sha7"] == hit.candidate.scope_sha7
    assert decisions[1]["rule"] == hit.rule_id
    assert 0 < decisions[1]["took_us"] < DEADLINE_SECONDS * 1e6
    assert len(told(watched, "/api/decisions?limit=2")["decisions"]) == 2


def test_decisions_of_near_requests_say_how_near(start):
    server = start(**semantic(mode="shadow"), telemetry=LISTEN)
    server.gateway.fill(asking("how do refunds work", at(1)))
    server.gateway.ask(asking("how do the refunds work", at(0.97)))
    server.gateway.ask(asking("how do my refunds work", at(0.9)))
    gray, near, _ = told(server, "/api/decisions")["decisions"]
    assert (near["similarity"], near["threshold"], near["zone"]) == (0.97, 0.95, "above")
    assert (near["outcome"], near["shadow"], near["would_hit"]) == ("miss", True, True)
    assert (gray["zone"], gray["reason"], gray["reason_kind"], gray["would_hit"]) == (
        "gray", "gray_unverified", "deny", False,
    )  # fmt: skip


def test_every_decision_is_in_the_pace(watched):
    for _ in range(5):
        watched.gateway.ask(describe())
    watched.gateway.ask(describe(None))
    watched.gateway.ask(describe(), mode=3)
    columns = {"misses": 5, "bypasses": 1, "refreshes": 1, "hits": 0}
    for _ in range(600):
        pace = told(watched, "/api/stats")["pace"]
        if sum(pace["misses"]) + sum(pace["bypasses"]) + sum(pace["refreshes"]) == 7:
            break
    assert {name: sum(pace[name]) for name in columns} == columns
    assert {len(pace[name]) for name in columns} == {600}


def test_an_entry_is_told_as_getentry_tells_it(watched):
    stored = watched.gateway.fill(describe())
    entry_id = stored.entries[0].entry_id
    request = admin_service_pb2.GetEntryRequest(entry_id=entry_id)
    entry = plain(watched.operator.admin.GetEntry(request, timeout=DEADLINE_SECONDS))
    found = told(watched, f"/api/entry/{entry_id}")
    assert found["entry"]["entry_id"] == entry_id
    assert found["rule_id"] == entry["rule_id"] == "default"
    assert found["entry"]["store_time"] == entry["entry"]["store_time"]
    assert "body" not in found["entry"] or found["entry"]["body"] is None
    assert ask(watched, f"/api/entry/{'0' * 64}").status == 404
    for wrong in ("", "0" * 63, entry_id.upper()):
        assert ask(watched, f"/api/entry/{wrong}").status in (400, 404)


def pasted(text: str = "hi", **more: Any) -> dict[str, Any]:
    body = json.dumps({"model": "m", "temperature": 0, "messages": [{"role": "user", "content": text}]})
    return {"dialect": "openai", "endpoint": "chat", "body": body, "scope": {"tenant": "acme"}, **more}


def compare(server: Running, first: Any, second: Any, **headers: str) -> urllib3.BaseHTTPResponse:
    body = json.dumps({"lookup": first, "other": second})
    return ask(
        server, "/api/explain", "POST", body=body, headers={"Content-Type": "application/json", **headers}
    )


def test_two_pasted_requests_are_compared(watched):
    before = stats(watched)["tallies"]
    found = compare(watched, pasted("hi"), pasted("ho")).json()
    assert [(one["segment"], one["path"]) for one in found["differences"]] == [
        ("material", "messages[0].content")
    ]
    assert found["summary"].startswith("they share no key")
    assert {one["same"] for one in found["keys"]} == {False}
    same = compare(watched, pasted(), pasted()).json()
    assert same["differences"] == []
    assert {one["same"] for one in same["keys"]} == {True}
    assert stats(watched)["tallies"] == before


def test_explain_is_bounded(watched):
    assert compare(watched, pasted(), None).status == 400
    assert compare(watched, pasted(endpoint=7), pasted()).json()["violations"] == [
        {"field": "lookup.endpoint", "description": "must be text"}
    ]
    assert compare(watched, pasted(other=1), pasted()).status == 400
    assert compare(watched, pasted(scope={"tenant": "\ud800"}), pasted()).status == 400
    assert ask(watched, "/api/explain", "POST", body=b"{").status == 415
    json_type = {"Content-Type": "application/json"}
    assert ask(watched, "/api/explain", "POST", body=b"{", headers=json_type).status == 400
    assert ask(watched, "/api/explain", "POST", body=b"[]", headers=json_type).status == 400
    assert ask(watched, "/api/explain").status == 405
    assert any(compare(watched, pasted(), pasted()).status == 429 for _ in range(300))


def test_a_few_may_go_at_once_and_then_one_after_the_other():
    now = [100.0]
    pacer = Pacer(most=3, seconds=2.0, now=lambda: now[0])
    assert [pacer.take() for _ in range(5)] == [True, True, True, False, False]
    now[0] += 1.9
    assert not pacer.take()
    now[0] += 0.2
    assert [pacer.take(), pacer.take()] == [True, False]
    now[0] += 3600
    assert [pacer.take() for _ in range(4)] == [True, True, True, False]


def test_a_comparison_may_be_as_large_as_a_request(start):
    server = start(telemetry=LISTEN, max_request="64KiB")
    assert compare(server, pasted("x" * 20_000), pasted("y" * 20_000)).status == 200
    assert compare(server, pasted("x" * 40_000), pasted("y" * 40_000)).status == 413


def test_nobody_is_told_what_was_asked_or_answered(start):
    server = start(telemetry=LISTEN)
    tenant, question, header, text = SECRETS
    asked = describe(tenant, turns(question), headers={"anthropic-beta": header})
    stored = server.gateway.fill(asked, text)
    assert outcome(server.gateway.ask(asked)) == "hit"
    paths = ["/", "/api/stats", "/api/decisions", f"/api/entry/{stored.entries[0].entry_id}"]
    said = b"".join(ask(server, path).data for path in paths)
    said += compare(
        server,
        pasted(scope={"tenant": tenant}, headers={"anthropic-beta": header}),
        pasted(scope={"tenant": "b"}),
    ).data
    for secret in SECRETS:
        assert secret.encode() not in said


@pytest.mark.parametrize(
    "path", ["/", "/static/main.js", "/api/stats", "/api/decisions", f"/api/entry/{'0' * 64}"]
)
def test_another_sites_name_is_turned_away(watched, path):
    for host in ("evil.example", "evil.example:9464", "localhost.evil.example"):
        assert ask(watched, path, headers={"Host": host}).status == 421
    for host in ("localhost", "localhost:9464", "127.0.0.1:9464"):
        assert ask(watched, path, headers={"Host": host}).status in (200, 404)


def test_another_site_is_let_read_nothing(watched):
    for path in ("/", "/api/stats", "/static/main.js"):
        headers = ask(watched, path, headers={"Origin": "https://evil.example"}).headers
        assert not [name for name in headers if name.lower().startswith("access-control")]
        assert headers["Cross-Origin-Resource-Policy"] == "same-origin"
        assert headers["X-Content-Type-Options"] == "nosniff"
    assert ask(watched, "/api/explain", "OPTIONS").status == 405


def test_the_page_may_load_nothing_but_its_own_files(watched):
    page = ask(watched, "/")
    assert page.headers["Content-Security-Policy"] == POLICY
    assert "unsafe" not in POLICY
    assert "http" not in POLICY
    text = page.data.decode()
    loaded = re.findall(r'(?:src|href)="([^"#][^"]*)"', text)
    assert len(loaded) > 5
    for path in loaded:
        assert path.startswith("/")
        assert ask(watched, path).status == 200
    assert "style=" not in text
    assert not re.findall(r"<script(?! src)|\son[a-z]+=", text)


def test_there_is_no_page_where_none_is_wanted(start):
    server = start(telemetry={**LISTEN, "page": False})
    assert {ask(server, path).status for path in ("/", "/api/stats", "/static/main.js")} == {404}
    assert ask(server, "/metrics").status == 200


@pytest.mark.parametrize(
    "query", ["since_seconds=-1", "since_seconds=x", "since_seconds=9999999999", "since_seconds="]
)
def test_a_wrong_time_is_refused(watched, query):
    assert ask(watched, f"/api/stats?{query}").status == 400


def test_every_reason_has_its_sentences():
    texts = json.loads((FOLDER / "reasons.json").read_text())
    for kind, reasons in (("bypass", BypassReason), ("deny", DenyReason), ("refusal", RefusalReason)):
        assert set(texts[kind]) == {reason.name.lower() for reason in reasons}
        for text in texts[kind].values():
            assert text["says"].endswith(".")
            assert text["do"].endswith(".")


def test_the_files_are_part_of_the_package():
    names = {one.name for one in files("askonce_server.web").joinpath("static").iterdir()}
    assert {"index.html", "main.js", "uPlot.LICENSE", "reasons.json"} <= names
