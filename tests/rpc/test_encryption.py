"""A sidecar whose store is encrypted, as gateways and operators see it."""

from __future__ import annotations

import logging
import time
from contextlib import contextmanager
from functools import partial

import pytest

from askonce.v1 import reason_pb2
from askonce_server import assembly
from askonce_server.store import ReopeningStore
from askonce_server.store.keyring import key_id
from ports.test_lmdb_verification import change
from rpc.answers import chat_body
from rpc.harness import Place, Running, short_folder
from rpc.replies import outcome, verdict
from rpc.requests import describe, turns

KEYS = {"OLD_KEY": bytes(range(1, 33)).hex(), "NEW_KEY": bytes(range(2, 34)).hex()}
ANSWER = "an answer that nobody may find on the disk"


@pytest.fixture(autouse=True)
def keys(monkeypatch):
    for name, key in KEYS.items():
        monkeypatch.setenv(name, key)


@pytest.fixture
def folder():
    with short_folder() as place:
        yield place


@contextmanager
def sidecar(folder, *names, enabled=True):
    encryption = {"keys": [{"key_env": name} for name in names], "enabled": enabled} if names else None
    server = Running(
        Place(folder, store={"path": str(folder / "store"), "encryption": encryption}, rules=[{"id": "only"}])
    )
    try:
        yield server
    finally:
        server.stop()


def asked(text="where is it?"):
    return describe(messages=turns(text), scope={"tenant": "acme"})


def unreadable(decision):
    """Whether it is a miss that says that something was there which could not be read, and shows nothing."""
    reasons = {reason_pb2.BypassReason.Name(skip.reason) for skip in decision.skipped}
    nothing = not decision.candidate.entry_id and not decision.candidate.body.data
    return outcome(decision) == "miss" and reasons == {"BYPASS_REASON_STORE_FAILED"} and nothing


def eventually(holds, seconds=30.0):
    deadline = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.1)
    return True


def on_disk(folder):
    return b"".join(file.read_bytes() for file in (folder / "store").rglob("*") if file.is_file())


@pytest.mark.parametrize("names", [("NEW_KEY",), ()], ids=["encrypted", "plain"])
def test_answers_are_served_and_are_not_in_the_file(folder, names, caplog):
    caplog.set_level(logging.INFO)
    with sidecar(folder, *names) as server:
        server.gateway.fill(asked(), ANSWER)
        for _ in range(3):  # from the file, then as it is remembered
            found = server.gateway.ask(asked())
            assert verdict(found) == "hit exact"
            assert found.candidate.body.data == chat_body(ANSWER)
    assert (ANSWER.encode() in on_disk(folder)) is (not names)
    said = f"are encrypted under key {key_id(bytes.fromhex(KEYS['NEW_KEY'])).hex()}"
    assert (said in caplog.text) is bool(names), "an operator can show that it is so"


def test_a_rotation_serves_old_answers_and_writes_new_ones(folder):
    with sidecar(folder, "OLD_KEY") as server:
        server.gateway.fill(asked("old"), ANSWER)
    with sidecar(folder, "NEW_KEY", "OLD_KEY") as server:
        server.gateway.fill(asked("new"), ANSWER)
        assert verdict(server.gateway.ask(asked("old"))) == "hit exact"
    with sidecar(folder, "NEW_KEY") as server:
        assert verdict(server.gateway.ask(asked("new"))) == "hit exact"


def test_an_answer_whose_key_is_missing_is_a_miss_that_says_so_and_is_filled_anew(folder):
    with sidecar(folder, "OLD_KEY") as server:
        server.gateway.fill(asked(), ANSWER)
    with sidecar(folder, "NEW_KEY") as server:
        found = server.gateway.ask(asked())
        assert unreadable(found)
        assert server.stats().entries == 2
    with sidecar(folder, "OLD_KEY") as server:  # nothing was lost for having been looked at
        assert verdict(server.gateway.ask(asked())) == "hit exact"
    with sidecar(folder, "NEW_KEY") as server:
        server.gateway.fill(asked(), "another")
        assert server.gateway.ask(asked()).candidate.body.data == chat_body("another")


def test_a_changed_answer_is_a_miss_that_says_so(folder):
    with sidecar(folder, "NEW_KEY") as server:
        server.gateway.fill(asked(), ANSWER)

    def flip(txn, cursor, database):
        assert cursor.first()
        value = bytearray(cursor.value())
        value[-20] ^= 1
        txn.put(cursor.key(), bytes(value), db=database)

    change(folder / "store", "bodies", flip)
    with sidecar(folder, "NEW_KEY") as server:
        found = server.gateway.ask(asked())
        assert unreadable(found)


def test_a_key_that_is_not_there_yet_makes_every_lookup_a_bypass_until_it_comes(folder, monkeypatch):
    monkeypatch.delenv("NEW_KEY")
    soon = partial(ReopeningStore, interval_seconds=0.1)
    monkeypatch.setattr(assembly, "ReopeningStore", soon)
    with sidecar(folder, "NEW_KEY") as server:
        assert verdict(server.gateway.ask(asked())) == "bypass store_failed"
        assert not (folder / "store" / "data.mdb").exists()
        monkeypatch.setenv("NEW_KEY", KEYS["NEW_KEY"])
        assert eventually(lambda: verdict(server.gateway.ask(asked())) == "miss")
        server.gateway.fill(asked(), ANSWER)
    assert ANSWER.encode() not in on_disk(folder)


def test_a_setting_that_got_lost_does_not_write_plain_answers_into_an_encrypted_store(folder):
    with sidecar(folder, "NEW_KEY") as server:
        server.gateway.fill(asked(), ANSWER)
    with sidecar(folder) as server:
        assert verdict(server.gateway.ask(asked())) == "bypass store_failed"
        assert "no key is given" in server.sidecar.store.problem()
    with sidecar(folder, "NEW_KEY", enabled=False) as server:
        assert verdict(server.gateway.ask(asked())) == "hit exact"
