"""Another configuration while the server runs: at SIGHUP or when the file changes, whole or not at all."""

from __future__ import annotations

import json
import os
import signal
import time
from pathlib import Path

import pytest
import yaml

from faults.sidecar_process import START_SECONDS, Served, sidecar
from rpc.answers import answer
from rpc.harness import Gateway, Place
from rpc.replies import filed, verdict
from rpc.requests import describe
from rpc.semantic import asking, at, semantic

RULE = {"id": "chat", "ttl": "1h"}


def wait_until(what, told=lambda: ""):
    began = time.monotonic()
    while not what():
        assert time.monotonic() - began < START_SECONDS, told()
        time.sleep(0.02)


def said(process: Served) -> list[str]:
    lines = process.log.read_text().splitlines()
    return [json.loads(line)["message"] for line in lines if line.startswith("{")]


def rewrite(place: Place, **settings) -> None:
    """Put another file in the place of the configuration, at once."""
    document = {**yaml.safe_load(place.config_file.read_text()), **settings}
    fresh = place.config_file.with_suffix(".new")
    fresh.write_text(yaml.safe_dump(document))
    fresh.replace(place.config_file)


def wait_for_line(process: Served, text: str) -> str:
    wait_until(lambda: any(text in line for line in said(process)), process.log.read_text)
    return next(line for line in said(process) if text in line)


@pytest.fixture
def place(folder: Path) -> Place:
    return Place(folder, rules=[RULE])


@pytest.mark.parametrize("number", [signal.SIGHUP, None], ids=["at SIGHUP", "when it changes"])
def test_rules_are_exchanged_while_calls_go_on(forked, place, number):
    with forked.sidecar(place) as process:
        gateway = process.wait_until_serving()
        gateway.fill(describe())
        rewrite(place, rules=[{**RULE, "id": "renamed", "mode": "shadow"}])
        if number is not None:
            os.kill(process.pid, number)
        wait_until(lambda: gateway.ask(describe()).rule_id == "renamed", process.log.read_text)
        decision = gateway.ask(describe())
        assert (verdict(decision), decision.shadow) == ("miss", True)
        assert {"rule renamed is new", "rule chat is gone"} <= set(said(process))
        rewrite(place, rules=[RULE])
        if number is not None:
            os.kill(process.pid, number)
        wait_until(lambda: verdict(gateway.ask(describe())) == "hit exact", process.log.read_text)
        gateway.close()
        assert process.stop(signal.SIGTERM) == "exit 0"


def test_a_file_with_mistakes_changes_nothing_and_says_so(forked, place):
    with forked.sidecar(place) as process:
        gateway = process.wait_until_serving()
        gateway.fill(describe())
        rewrite(place, rules=[{"id": "chat", "mode": "off"}, {"id": "chat", "ttl": "soon"}])
        line = wait_for_line(process, "has mistakes, and the one before it stays")
        assert "rules[1].id" in line
        assert "rules[1].ttl" in line
        assert verdict(gateway.ask(describe())) == "hit exact"
        place.config_file.unlink()
        wait_for_line(process, "cannot be read")
        assert verdict(gateway.ask(describe())) == "hit exact"
        assert sum("has mistakes" in line for line in said(process)) == 2
        gateway.close()
        assert process.stop(signal.SIGTERM) == "exit 0"


def test_what_starts_cold_is_told_with_its_count_and_what_takes_a_start_is_named(forked, place):
    with forked.sidecar(place) as process:
        gateway = process.wait_until_serving()
        for tenant in ("a", "b"):
            gateway.fill(describe(scope={"tenant": tenant, "user": "ann"}))
        token = gateway.ask(describe(scope={"tenant": "c", "user": "ann"})).fill_token
        rewrite(place, rules=[{**RULE, "scope": ["tenant", "user"]}], threads=3, drain={"grace": "6s"})
        os.kill(process.pid, signal.SIGHUP)
        line = wait_for_line(process, "starts cold")
        assert "rule chat makes other keys for exact and normalized and starts cold there" in line
        assert "of the 4 entries that it stored before" in line
        wait_for_line(process, "changed, but taken over at the next start alone: threads, drain")
        assert verdict(gateway.ask(describe(scope={"tenant": "a", "user": "ann"}))) == "miss"
        assert filed(gateway.store(token, answer())) == "token_expired"
        os.kill(process.pid, signal.SIGHUP)
        wait_for_line(process, "says what it said before")
        gateway.close()
        assert process.stop(signal.SIGTERM) == "exit 0"


def test_an_embedder_that_a_rule_names_anew_is_asked_for_by_name(forked, folder):
    place = Place(folder, **semantic(), threads=2)
    document = yaml.safe_load(place.config_file.read_text())
    (rule,) = document.pop("rules")
    rewrite(place, rules=[{"id": "near"}])
    with forked.sidecar(place) as process:
        gateway = process.wait_until_serving()
        rewrite(place, rules=[rule])
        os.kill(process.pid, signal.SIGHUP)
        wait_for_line(process, "rule near skips the semantic matcher: its embedder own is loaded at the next")
        decision = gateway.ask(asking("Where is the kettle?", at(1)))
        assert [skip.matcher for skip in decision.skipped] == [3]
        assert verdict(decision).startswith("miss")
        gateway.close()


def test_a_hangup_of_the_terminal_does_not_end_a_server_without_a_file(folder, monkeypatch):
    place = Place(folder)
    place.config_file.unlink()
    monkeypatch.setenv("ASKONCE_LISTEN", place.unix)
    monkeypatch.setenv("ASKONCE_STORE", f"{{path: {place.store}}}")
    with sidecar(place) as process:
        gateway = process.wait_until_serving()
        os.kill(process.pid, signal.SIGHUP)
        wait_for_line(process, "there is no file to read again")
        gateway.fill(describe())
        gateway.close()
        assert process.terminate() == 0


def test_every_worker_takes_it_over(folder):
    place = Place(folder, rules=[RULE], workers=2)
    with sidecar(place) as process:
        process.wait_until_serving().close()
        wait_until(lambda: sum(line.endswith(") serves") for line in said(process)) == 2)
        rewrite(place, rules=[{**RULE, "id": "renamed"}])
        os.kill(process.pid, signal.SIGHUP)
        for number in range(2):
            with Gateway(f"{place.unix}.{number}") as gateway:
                wait_until(
                    lambda gateway=gateway: gateway.ask(describe()).rule_id == "renamed",
                    process.log.read_text,
                )
        assert process.terminate() == 0


def test_a_worker_that_starts_late_goes_by_what_the_others_took_over(folder):
    """Neither by what the server was started with, nor by mistakes that nobody took over."""
    place = Place(folder, rules=[RULE], workers=2)
    with sidecar(place) as process:
        process.wait_until_serving().close()
        wait_until(lambda: sum(line.endswith(") serves") for line in said(process)) == 2)
        rewrite(place, rules=[{**RULE, "id": "renamed"}], store={"path": f"{folder}/elsewhere"})
        wait_until(lambda: sum("was read again" in line for line in said(process)) == 2)
        place.config_file.write_text("rules: [{id: spoilt}")
        wait_until(lambda: sum("has mistakes" in line for line in said(process)) == 2)
        (pid,) = (line.split()[3].rstrip(")") for line in said(process) if line.startswith("worker 0 (proc"))
        os.kill(int(pid), signal.SIGKILL)
        wait_until(lambda: sum(line.endswith(") serves") for line in said(process)) == 3)
        with Gateway(f"{place.unix}.0") as gateway, Gateway(f"{place.unix}.1") as other:
            other.fill(describe())
            decision = gateway.ask(describe())
            assert (verdict(decision), decision.rule_id) == ("hit exact", "renamed")
        assert process.terminate() == 0
