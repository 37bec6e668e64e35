"""A store whose files are taken away under the running server: said, never written on, opened anew."""

from __future__ import annotations

import functools
import os
import shutil
import signal
import time

import pytest

from askonce_server import assembly, watching
from askonce_server.core.reasons import RefusalReason
from askonce_server.ports import StoreUnavailable
from askonce_server.store import ReopeningStore, open_store
from askonce_server.store.commits import commit_transaction
from ports.entries import body_at, key, write
from ports.store_process import settings
from rpc.answers import answer, chat_body
from rpc.harness import Place, Running
from rpc.replies import filed, verdict
from rpc.requests import describe
from rpc.semantic import asking, at, semantic

INTERVAL_SECONDS = 0.5


@pytest.fixture
def watched(monkeypatch):
    """A lost store is noticed, and opened anew, soon but one after the other."""
    soon = functools.partial(ReopeningStore, interval_seconds=INTERVAL_SECONDS, watch_seconds=0.05)
    monkeypatch.setattr(assembly, "ReopeningStore", soon)
    monkeypatch.setattr(watching, "_STORE_WATCH_SECONDS", 0.05)


def wait_for(what, *, seconds=60.0):
    deadline = time.monotonic() + seconds
    while not what():
        assert time.monotonic() < deadline
        time.sleep(0.02)


def restored(folder):
    """Put a copy in the place of the data file, as a backup that is played back does."""
    copy = folder / "copy"
    with (folder / "data.mdb").open("rb") as data:
        copy.write_bytes(data.read(1 << 20))  # the rest of the file is a hole
    copy.replace(folder / "data.mdb")


TAKEN = {
    "the data file is deleted": (lambda folder: (folder / "data.mdb").unlink(), "deleted"),
    "the lock file is deleted": (lambda folder: (folder / "lock.mdb").unlink(), "deleted"),
    "the folder is deleted": (shutil.rmtree, "deleted"),
    "the folder is moved away": (lambda folder: folder.rename(folder.parent / "away"), "deleted"),
    "a file stands in the folder's place": (
        lambda folder: (shutil.rmtree(folder), folder.write_text("")),
        "deleted",
    ),
    "the data file is replaced": (restored, "replaced"),
}


@pytest.mark.parametrize("how", TAKEN)
def test_it_is_said_and_nothing_is_served_or_kept(start, folder, watched, caplog, how):
    server = start(folder)
    server.gateway.fill(describe("before"))
    take, word = TAKEN[how]
    take(folder / "store")
    wait_for(lambda: server.gateway.serving("askonce.store") == "NOT_SERVING")
    problem = server.sidecar.store.problem() or ""
    assert f"was {word} under the running server" in problem or "cannot be" in problem
    assert str(folder / "store") in problem
    assert verdict(server.gateway.ask(describe("before"))) == "bypass store_failed"
    assert filed(server.gateway.store(describe("lost"), answer())) == "store_failed"
    assert server.gateway.serving() == "SERVING"
    said = [record.getMessage() for record in caplog.records]
    assert any("stop the server before its files are touched" in text for text in said)


@pytest.mark.parametrize("how", [how for how in TAKEN if "stands" not in how])
def test_it_is_opened_anew_and_keeps_what_is_stored_from_then_on(start, folder, watched, how):
    server = start(folder)
    server.gateway.fill(describe("before"))
    TAKEN[how][0](folder / "store")
    wait_for(lambda: server.gateway.serving("askonce.store") == "NOT_SERVING")
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    kept = "replaced" in how or "lock" in how
    assert verdict(server.gateway.ask(describe("before"))) == ("hit exact" if kept else "miss")
    server.gateway.fill(describe("after"), "after")
    server.sidecar.stop()
    again = Running(Place(folder))
    assert again.gateway.ask(describe("after")).candidate.body.data == chat_body("after")
    again.stop()


def test_a_store_before_anybody_looked_is_not_acknowledged(start, folder, monkeypatch):
    monkeypatch.setattr(assembly, "ReopeningStore", functools.partial(ReopeningStore, watch_seconds=600))
    server = start(folder)
    decision = server.gateway.ask(describe())
    (folder / "store" / "data.mdb").unlink()
    assert filed(server.gateway.store(decision.fill_token, answer())) == "store_failed"
    assert "was deleted" in (server.sidecar.store.problem() or "")


def test_a_file_that_goes_while_it_is_written_acknowledges_nothing(tmp_path):
    folder = tmp_path / "store"
    taking = []

    def commit(txn):
        commit_transaction(txn)
        if taking:
            (folder / "data.mdb").unlink(missing_ok=True)

    store = open_store(settings(folder), commit=commit)
    assert store.put([write("kept")]) == [None]
    taking.append(True)
    assert store.put([write("a"), write("b")]) == [RefusalReason.STORE_FAILED] * 2
    assert "was deleted" in store.lost()
    with pytest.raises(StoreUnavailable, match="was deleted"):
        body_at(store, key("kept"))
    store.close()


@pytest.mark.parametrize("size", [0, 3 * 4096])
def test_a_file_that_is_cut_short_is_not_touched_again(forked, folder, size):
    with forked.sidecar(Place(folder)) as process:
        gateway = process.wait_until_serving()
        gateway.fill(describe("before"))
        os.truncate(folder / "store" / "data.mdb", size)
        said = filed(gateway.store(describe("cut"), answer()))
        assert said == "store_failed"
        wait_for(lambda: gateway.serving("askonce.store") == "NOT_SERVING")
        assert verdict(gateway.ask(describe("before"))) == "bypass store_failed"
        assert f"was cut short, to {size} bytes" in process.log.read_text()
        if size:
            wait_for(lambda: "move that folder away" in process.log.read_text())
            (folder / "store").rename(folder / "damaged")
        wait_for(lambda: gateway.serving("askonce.store") == "SERVING")
        gateway.fill(describe("after"))
        assert verdict(gateway.ask(describe("after"))) == "hit exact"
        assert "exit 0" in process.stop(signal.SIGTERM)
        gateway.close()


def test_a_store_that_comes_late_signs_tokens_with_its_own_key(start, folder, watched):
    """Whoever opens the store later takes them: another worker, or this one after a restart."""
    first = Running(Place(folder))
    other = folder / "other"
    other.mkdir()
    second = start(other, store={"path": str(folder / "store")})
    assert verdict(second.gateway.ask(describe())) == "bypass store_failed"
    granted = first.gateway.ask(describe("one")).fill_token
    first.stop()
    wait_for(lambda: second.gateway.serving("askonce.store") == "SERVING")
    assert filed(second.gateway.store(granted, answer())) == "stored"
    token = second.gateway.ask(describe("two")).fill_token
    second.stop()
    third = Running(Place(folder))
    assert filed(third.gateway.store(token, answer())) == "stored"
    assert verdict(third.gateway.ask(describe("two"))) == "hit exact"
    third.stop()


def test_an_index_of_the_lost_store_is_no_index_of_the_new_one(start, folder, watched):
    """Sequences begin anew there: what the old index has is not what it seems to be."""
    server = start(folder, **semantic(guards=False))

    def tell(tenant: str, text: str, cosine: float = 0.0) -> None:
        one = asking(text, at(cosine), tenant=tenant)
        assert filed(server.gateway.store(one, answer(text))) == "stored"

    def near() -> str:
        return verdict(server.gateway.ask(asking("anything", at(1), tenant="p")))

    for text in ("one", "two", "three"):
        tell("q", text)
    tell("p", "four", 1)
    assert near() == "hit semantic"
    tell("q", "five")
    tell("p", "six")
    tell("p", "seven")
    assert near() == "hit semantic"
    shutil.rmtree(folder / "store")
    wait_for(lambda: server.gateway.serving("askonce.store") == "NOT_SERVING")
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert near() == "miss"
    for text in ("one", "two", "three", "four"):
        tell("q", text)
    tell("p", "five", 1)
    assert near() == "hit semantic"
