"""The page as a person has it: in Chromium, with eyes, a keyboard or a screen reader."""

from __future__ import annotations

import json
import os
import re
import shutil
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from askonce_server.store import ReopeningStore
from rpc.harness import Running
from rpc.requests import describe, turns
from rpc.semantic import asking, at, semantic_rule
from rpc.test_page import LISTEN, stats

CHROMIUM = os.environ.get("CHROMIUM") or shutil.which("chromium") or shutil.which("google-chrome")
MISSING = [name for name in ("playwright", "axe_playwright_python") if find_spec(name) is None]
pytestmark = [
    pytest.mark.skipif(CHROMIUM is None, reason="no Chromium: install the package chromium, or set CHROMIUM"),
    pytest.mark.skipif(bool(MISSING), reason="no playwright: `make browser` installs it"),
]
OPTIONS = ["--no-sandbox", "--disable-gpu", "--disable-background-networking", "--disable-component-update"]
WAIT_MS = 60_000
RULES = [
    {"id": "plain", "match": {"scope": {"tenant": "acme"}}},
    semantic_rule(id="near", match={"scope": {"tenant": "globex"}, "endpoint": ["chat"]}),
    semantic_rule(id="trial", mode="shadow", match={"scope": {"tenant": "initech"}, "endpoint": ["chat"]}),
]
SETTINGS = {"rules": RULES, "telemetry": LISTEN, "embedders": {"own": {"kind": "provided", "dim": 8}}}


@pytest.fixture(scope="module")
def chromium():
    from playwright.sync_api import sync_playwright  # noqa: PLC0415 - not everywhere

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=CHROMIUM, args=OPTIONS)
        yield browser
        browser.close()


class Sight:
    """A page that is looked at, and what went wrong in it."""

    def __init__(self, browser: Any, server: Running, **context: Any) -> None:
        assert server.sidecar.web is not None
        self.base = f"http://127.0.0.1:{server.sidecar.web.port}/"
        self.outside: list[str] = []
        self.errors: list[str] = []
        self._context = browser.new_context(**context)
        self._context.set_default_timeout(WAIT_MS)
        self._context.route("**/*", self._pass)
        self.page = self._context.new_page()
        self.page.on("pageerror", lambda error: self.errors.append(str(error)))
        self.page.on("console", self._said)
        self.page.goto(self.base)
        self.page.wait_for_selector("#connection.live")

    def _pass(self, route: Any) -> None:
        if route.request.url.startswith(self.base):
            route.continue_()
        else:
            self.outside.append(route.request.url)
            route.abort()

    def _said(self, message: Any) -> None:
        if message.type in ("error", "warning"):
            self.errors.append(message.text)

    def text(self, selector: str) -> str:
        return str(self.page.text_content(selector))

    def shows(self, selector: str, text: str) -> None:
        """Wait until it does."""
        self.page.wait_for_function(
            "([where, what]) => document.querySelector(where)?.textContent.includes(what)",
            arg=[selector, text],
        )

    def row(self, selector: str) -> list[str]:
        return [" ".join(cell.split()) for cell in self.page.locator(f"{selector} > *").all_text_contents()]

    def close(self) -> None:
        self._context.close()


@pytest.fixture
def see(chromium, start):
    """Open the page of a server, which all went well in, unless said otherwise."""
    seen: list[Sight] = []

    def see(server: Running, **context: Any) -> Sight:
        seen.append(Sight(chromium, server, **context))
        return seen[-1]

    yield see
    for one in seen:
        one.close()
    assert [one.outside for one in seen] == [[]] * len(seen)
    assert [one.errors for one in seen] == [[]] * len(seen)


def used(start: Any) -> Running:
    """A server with some of everything."""
    server = start(**SETTINGS)
    gateway = server.gateway
    for number in range(4):
        gateway.fill(describe("acme", turns(f"question {number}")), cost_usd=0.25 if number else None)
        for _ in range(number + 1):
            gateway.ask(describe("acme", turns(f"question {number}")))
    gateway.ask(describe("acme", turns("question  3")))
    gateway.ask(describe("acme", params={"temperature": 0.7}))
    gateway.ask(describe(None))
    gateway.ask(describe("acme", turns("question 1")), mode=3)
    for tenant in ("globex", "initech"):
        gateway.fill(asking("how do refunds work", at(1), tenant=tenant))
        for word, cosine in (("really", 0.97), ("even", 0.9), ("always", 0.6)):
            gateway.ask(asking(f"how do refunds {word} work", at(cosine), tenant=tenant))
    gateway.store(describe("acme", turns("never")), None, ttl=None)
    return server


def test_the_numbers_are_those_of_getstats(start, see):
    server = used(start)
    now = stats(server)
    sight = see(server)
    asked = now["hits"] + now["misses"]
    sight.shows("#note-now", f"{now['decisions']} in all, {now['bypasses']} left alone")
    assert sight.text("#tile-rate") == f"{now['hits'] / asked * 100:.1f} %"
    assert sight.text("#note-rate") == f"{now['hits']} of {asked} looked up"
    assert sight.text("#tile-money") == f"${now['cost_avoided_usd']:.2f}"
    assert sight.text("#note-money") == f"{now['unpriced_hits']} hits of unknown price"
    assert sight.text("#note-store") == f"{now['entries']} entries, 0 evicted"
    assert sight.row("#latency tbody tr:nth-child(1)")[1] == str(now["hit_latency"]["count"])
    assert sight.row("#latency tbody tr:nth-child(2)")[1] == str(now["miss_latency"]["count"])
    for rule in RULES:
        told = stats(server, rule_id=rule["id"])
        kinds = [told["tallies"].get(f"hit.{kind}", 0) for kind in ("exact", "normalized", "semantic")]
        rest = [told[name] for name in ("misses", "bypasses", "stores", "refusals", "entries")]
        row = sight.row(f'#rules tr[data-rule="{rule["id"]}"]')
        assert row[0:2] == [rule["id"], rule.get("mode", "serve")]
        assert row[4] == str(told["decisions"])
        assert [int(cell) for cell in row[7:15]] == [*kinds, *rest]
    would = stats(server, rule_id="trial")
    share = would["tallies"]["shadow.would_hit"] / would["misses"] * 100
    assert sight.row('#rules tr[data-rule="trial"]')[5] == f"would be {share:.1f} %"
    for name, count in now["tallies"].items():
        if name.startswith(("bypass.", "refusal.", "skipped.")) or name == "miss.gray_unverified":
            assert sight.text(f'[data-reason="{name}"] .num').split(" · ")[0] == str(count)
    assert sight.page.locator("#recent tbody tr").count() == now["decisions"]


def test_it_follows_what_happens(start, see):
    server = start(**SETTINGS)
    sight = see(server)
    assert sight.page.is_visible("#empty")
    command = sight.text("#command")
    assert f"--target {server.place.unix}" in command
    assert "--scope tenant=demo" in command
    server.gateway.fill(describe("acme"))
    sight.shows("#note-now", "1 in all")
    assert not sight.page.is_visible("#empty")
    server.gateway.ask(describe("acme"))
    sight.shows("#note-rate", "1 of 2 looked up")
    sight.shows("#recent tbody tr:first-child", "hit")
    sight.page.select_option("#recent-outcome", "miss")
    assert sight.page.locator("#recent tbody tr").count() == 1
    sight.page.select_option("#since", "3600")
    sight.shows("#note-now", "2 in all")
    assert sight.errors == []


def test_everything_is_reached_by_keyboard(start, see):
    server = used(start)
    sight = see(server)
    page = sight.page
    page.keyboard.press("Tab")
    assert page.evaluate("document.activeElement.textContent") == "Skip to the numbers"
    for wanted in ("since", "theme"):
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == wanted
    page.keyboard.press("ArrowDown")
    page.keyboard.press("ArrowDown")
    assert page.evaluate("document.documentElement.dataset.theme") == "light"
    reason = '[data-reason="bypass.sampled_request"]'
    page.focus(f"{reason} summary")
    page.keyboard.press("Enter")
    page.wait_for_function("document.querySelectorAll('details[open]').length === 1")
    server.gateway.ask(describe("acme", params={"temperature": 0.7}))
    sight.shows(f"{reason} .num", "2 ·")
    assert page.get_attribute(reason, "open") is not None
    assert page.evaluate(f"document.activeElement === document.querySelector('{reason} summary')")
    assert page.is_visible(f"{reason} p")
    page.locator("#recent button.link").first.focus()
    page.keyboard.press("Enter")
    sight.shows("#entry-answer", "Expires")
    assert page.evaluate("document.activeElement.id") == "entry-id"
    page.keyboard.press("Control+A")
    page.keyboard.type("f" * 64)
    page.keyboard.press("Enter")
    sight.shows("#entry-answer", "no entry has that id")
    sight.errors[:] = [error for error in sight.errors if "404" not in error]  # which Chromium says of itself


def test_two_requests_are_compared(start, see):
    sight = see(start(**SETTINGS))
    page = sight.page
    body = {"model": "m", "temperature": 0, "messages": [{"role": "user", "content": "<b>hi</b>"}]}
    page.fill("[name=first-body]", json.dumps(body))
    page.fill("[name=second-body]", json.dumps({**body, "seed": 7}))
    for name in ("first", "second"):
        page.fill(f"[name={name}-scope]", "tenant=acme")
    page.click("#explain-form button")
    sight.shows("#explain-answer", "They share no key: params.seed.")
    assert sight.row("#explain-answer .scroll:first-of-type tbody tr:first-child") == [
        "material",
        "params.seed",
        "absent ↔ 7",
        "exact, normalized",
    ]
    page.fill("[name=second-body]", json.dumps(body))
    page.click("#explain-form button")
    sight.shows("#explain-answer", "Both have the same keys")
    page.fill("[name=first-scope]", "tenant")
    page.click("#explain-form button")
    sight.shows("#explain-answer", "A scope is written as tenant=acme, not tenant.")


def test_a_store_that_cannot_be_used_is_told(start, see, monkeypatch):
    problems = [None]
    monkeypatch.setattr(ReopeningStore, "problem", lambda _: problems[-1])
    server = start(**SETTINGS)
    sight = see(server)
    assert not sight.page.is_visible("#problem")
    problems.append("the disk is on fire")
    sight.shows("#problem", "since the store cannot be used: the disk is on fire")
    assert sight.page.is_visible("#problem")


def test_a_lost_server_is_told(start, see):
    server = used(start)
    sight = see(server)
    sight.shows("#note-now", " in all")
    before = sight.text("#note-now")
    server.sidecar.web.close()
    sight.shows("#connection", "Connection lost, trying again")
    assert sight.page.locator("main.stale").count() == 1
    assert sight.text("#note-now") == before
    assert not [error for error in sight.errors if "ERR_CONNECTION" not in error]
    sight.errors.clear()


@pytest.mark.parametrize(("theme", "width"), [("dark", 1280), ("light", 1280), ("light", 390)])
@pytest.mark.parametrize("filled", [True, False], ids=["used", "empty"])
def test_nothing_keeps_people_out(start, see, theme, width, filled):
    """By the rules of axe-core; what is in code type, small or gray is read as well."""
    axe = Path(find_spec("axe_playwright_python").submodule_search_locations[0], "axe.min.js").read_text()
    server = used(start) if filled else start(**SETTINGS)
    sight = see(server, color_scheme=theme, viewport={"width": width, "height": 800})
    assert sight.page.evaluate("document.documentElement.dataset.theme") == theme
    if filled:
        sight.shows("#note-now", " in all")
        sight.page.click("#reasons summary >> nth=0")
        sight.page.click("#recent button.link >> nth=0")
        sight.shows("#entry-answer", "Expires")
    sight.page.evaluate(f"() => {{ {axe} }}")  # by the debugger: no policy of the page allows a script
    found = sight.page.evaluate("axe.run()")
    wrong = {
        f"{one['id']}: {node['html'][:200]} {node['failureSummary'][:300]}"
        for one in found["violations"]
        for node in one["nodes"]
        if one["impact"] in ("serious", "critical")
    }
    assert wrong == set()
    assert len(found["passes"]) > 20


@pytest.mark.parametrize("width", [360, 768, 1440])
def test_it_fits_the_screen(start, see, width):
    sight = see(used(start), viewport={"width": width, "height": 800})
    sight.shows("#note-now", " in all")
    assert sight.page.evaluate("document.documentElement.scrollWidth") <= width
    cut = """[...document.querySelectorAll('.tile .figure, .tile .note, h2, td, th')]
        .filter((one) => one.offsetParent && !one.closest('.scroll') && one.scrollWidth > one.clientWidth + 1)
        .map((one) => one.textContent)"""
    assert sight.page.evaluate(cut) == []


def test_no_script_or_style_stands_in_the_page(start, see):
    sight = see(start(**SETTINGS))
    sight.page.evaluate(
        "document.body.insertAdjacentHTML('beforeend', '<img src=x onerror=\"window.ran = 1\">')"
    )
    sight.page.wait_for_timeout(300)
    assert sight.page.evaluate("window.ran") is None
    assert any(re.search("Content Security Policy", error) for error in sight.errors)
    sight.errors.clear()
