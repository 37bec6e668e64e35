"""Without a usable store everything passes through: Lookup answers, health says which part is missing."""

from __future__ import annotations

import functools
import os
import random
import subprocess
import time

import pytest

from askonce.v1 import admin_service_pb2
from askonce_server import app, assembly, watching
from askonce_server.store import ReopeningStore
from rpc.answers import answer, chat_body
from rpc.harness import Place, Running
from rpc.replies import filed, verdict
from rpc.requests import describe, turns


@pytest.fixture(autouse=True)
def impatient(monkeypatch):
    """A store that cannot be opened is tried again soon."""
    soon = functools.partial(ReopeningStore, interval_seconds=0.1)
    monkeypatch.setattr(assembly, "ReopeningStore", soon)
    monkeypatch.setattr(watching, "_STORE_WATCH_SECONDS", 0.05)


def wait_for(what, *, seconds=20.0):
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline:
        if what():
            return
        time.sleep(0.02)
    raise AssertionError("it did not come true in time")


def assert_passes_through(server: Running) -> None:
    gateway = server.gateway
    assert gateway.serving() == "SERVING"
    assert gateway.serving("askonce.v1.DecisionService") == "SERVING"
    assert gateway.serving("askonce.store") == "NOT_SERVING"
    decision = gateway.ask(describe(), timeout=5)
    assert verdict(decision) == "bypass store_failed"
    assert decision.cache_status == "askonce; fwd=bypass; detail=store_failed"
    assert not decision.fill_token
    assert {verdict(r.decision) for r in gateway.ask_all([describe()] * 3)} == {"bypass store_failed"}
    assert filed(gateway.store(describe(), answer())) == "store_failed"
    assert verdict(gateway.ask(describe(""))) == "bypass scope_missing"
    stats = server.stats()
    assert stats.bypasses >= 5
    assert stats.hits == stats.misses == stats.stores == stats.entries == 0
    info = server.operator.admin.GetServerInfo(app.admin.admin_service_pb2.GetServerInfoRequest(), timeout=9)
    assert not info.store_serving


def assert_serves(server: Running, tenant: str = "served") -> None:
    assert server.gateway.serving("askonce.store") == "SERVING"
    server.gateway.fill(describe(tenant))
    assert verdict(server.gateway.ask(describe(tenant))) == "hit exact"


def test_where_the_folder_is_a_file(start, folder):
    (folder / "store").write_text("mine")
    server = start(folder)
    assert_passes_through(server)
    assert str(folder / "store") in server.sidecar.store.problem()
    assert (folder / "store").read_text() == "mine"
    (folder / "store").unlink()
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server)


def test_where_the_folder_cannot_be_made(start, folder):
    (folder / "file").write_text("")
    server = start(folder, store={"path": str(folder / "file" / "store")})
    assert_passes_through(server)
    assert "store.path" in server.sidecar.store.problem() or "cannot be" in server.sidecar.store.problem()


def test_where_the_folder_cannot_be_written(start, folder, disk):
    path = disk("8m")
    subprocess.run(["mount", "-o", "remount,ro", str(path)], check=True)
    server = start(folder, store={"path": str(path / "store")})
    assert_passes_through(server)
    assert f"the store at {path / 'store'} cannot be written" in server.sidecar.store.problem()
    subprocess.run(["mount", "-o", "remount,rw", str(path)], check=True)
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server)


def test_where_the_folder_belongs_to_somebody_else(start, folder):
    if os.geteuid() == 0:
        pytest.skip("root may write everywhere")
    (folder / "store").mkdir(mode=0o500)
    assert_passes_through(start(folder))


def test_where_the_disk_is_full_at_the_start(start, folder, disk):
    path = disk("1m")
    (path / "filler").write_bytes(b"x" * (1024 - 12) * 1024)
    server = start(folder, store={"path": str(path / "store")})
    assert_passes_through(server)
    assert "no space left" in server.sidecar.store.problem()
    (path / "filler").unlink()
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server)


def fill_up(server: Running, body: bytes, *, most: int = 3000) -> tuple[list[str], str]:
    """Store until it is refused; return whose answers were kept and the reason."""
    kept: list[str] = []
    for at in range(most):
        said = filed(server.gateway.store(describe(f"t{at}"), answer(body)))
        if said != "stored":
            return kept, said
        kept.append(f"t{at}")
    raise AssertionError("it was never full")


def test_where_the_disk_fills_up_while_running(start, folder, disk):
    path = disk("6m")
    server = start(folder, store={"path": str(path / "store")})
    assert_serves(server)
    (path / "filler").write_bytes(b"x" * (3 << 20))
    kept, said = fill_up(server, b"x" * 60_000)
    assert said == "store_full"
    assert len(kept) >= 5
    wait_for(lambda: server.gateway.serving("askonce.store") == "NOT_SERVING")
    assert server.gateway.serving() == "SERVING"
    assert "no space left" in server.sidecar.store.problem()
    for name in kept:
        found = server.gateway.ask(describe(name))
        assert verdict(found) == "hit exact"
        assert found.candidate.body.data == b"x" * 60_000
    assert verdict(server.gateway.ask(describe("never stored"))) == "miss"
    (path / "filler").unlink()
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server, "after")


def use_up(disk):
    """Leave no byte of a disk to anybody."""
    with (disk / "filler").open("ab") as filler:
        size = 1 << 16
        while size:
            try:
                os.write(filler.fileno(), b"x" * size)
            except OSError:
                size //= 2


@pytest.mark.parametrize("durability", ["commit", "periodic"])
def test_a_full_disk_keeps_nobody_from_purging_and_deleting(start, folder, disk, durability):
    """Stores of all sizes use up what disk and file have left; a purge finds room all the same."""
    path, sizes = disk("8m"), random.Random(3)
    server = start(folder, store={"path": str(path / "store"), "durability": durability})
    stored = {}
    for at in range(300):
        asked = describe(f"t{at}")
        entry = server.gateway.store(asked, answer(b"x" * sizes.choice((10, 1000, 5000, 20_000))))
        if filed(entry) == "stored":
            stored[at] = entry.entries[0].entry_id
    assert len(stored) >= 100
    use_up(path)
    refused = 0
    for at in range(100):
        for size in (3, 3000, 9000):
            said = filed(server.gateway.store(describe(f"more {at} {size}"), answer(b"x" * size)))
            refused += said == "store_full"
    assert refused >= 200
    for at in list(stored)[:50]:
        purge = admin_service_pb2.PurgeRequest(dim=admin_service_pb2.DimValue(name="tenant", value=f"t{at}"))
        server.operator.admin.Purge(purge, timeout=10)
        assert verdict(server.gateway.ask(describe(f"t{at}"))) == "miss"
        server.gateway.store(describe(f"again {at}"), answer(b"x" * 3000))
    for at in list(stored)[50:70]:
        deletion = admin_service_pb2.DeleteEntryRequest(entry_id=stored[at])
        assert server.operator.admin.DeleteEntry(deletion, timeout=10).entries
        assert verdict(server.gateway.ask(describe(f"t{at}"))) == "miss"
    (path / "filler").unlink()
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server, "after")


def test_where_the_store_has_reached_its_limit(start):
    """What nobody asks for makes room; only what is too large for the store is refused."""
    server = start(store={"max_bytes": "1MiB"})
    server.gateway.fill(describe("asked"), "kept")
    for at in range(60):
        said = filed(server.gateway.store(describe(f"t{at}"), answer(b"x" * 50_000)))
        assert said == "stored"
        assert verdict(server.gateway.ask(describe("asked"))) == "hit exact"
    assert verdict(server.gateway.ask(describe("t59"))) == "hit exact"
    assert verdict(server.gateway.ask(describe("t0"))) == "miss"
    decision = server.gateway.ask(describe("more"))
    assert filed(server.gateway.store(decision.fill_token, answer(b"x" * 600_000))) == "store_full"
    assert server.gateway.serving("askonce.store") == "SERVING"
    assert filed(server.gateway.store(describe("t59"), answer("small"))) == "stored", "in place of another"
    assert server.gateway.ask(describe("t59")).candidate.body.data == chat_body("small")


DAMAGE = {
    "no LMDB file at all": lambda data: b"not a database" * 1000,
    "zeros": lambda data: bytes(len(data)),
    "cut short": lambda data: data[: 3 * 4096],
    "cut inside the first page": lambda data: data[:100],
    "both meta pages overwritten": lambda data: b"\xff" * 8192 + data[8192:],
    "every page overwritten": lambda data: data[:8192] + b"\xa5" * (len(data) - 8192),
}


@pytest.mark.parametrize("damage", DAMAGE)
def test_where_the_data_file_is_damaged(start, folder, damage):
    first = Running(Place(folder))
    first.gateway.fill(describe())
    first.stop()
    data_file = folder / "store" / "data.mdb"
    with data_file.open("rb") as file:
        head = file.read(1 << 20)
    data_file.write_bytes(DAMAGE[damage](head))
    server = start(folder)
    assert_passes_through(server)
    problem = server.sidecar.store.problem()
    assert str(folder / "store") in problem
    assert "damaged" in problem
    assert "move that folder away" in problem
    (folder / "store").rename(folder / "damaged")
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server)


def test_where_another_instance_has_the_store(start, folder):
    first = Running(Place(folder))
    first.gateway.fill(describe("kept"), "kept")
    other = folder / "other"
    other.mkdir()
    second = start(other, store={"path": str(folder / "store")})
    assert_passes_through(second)
    problem = second.sidecar.store.problem()
    assert str(folder / "store") in problem
    assert f"process {os.getpid()}" in problem
    assert_serves(first)
    first.stop()
    wait_for(lambda: second.gateway.serving("askonce.store") == "SERVING")
    assert second.gateway.ask(describe("kept")).candidate.body.data == chat_body("kept")
    assert_serves(second, "second")


def test_a_store_that_comes_late_is_read_by_its_own_time(start, folder, monkeypatch):
    """Entries are judged by the clock that they were stored by, also where the wall clock moved since."""
    first = Running(Place(folder))
    first.gateway.fill(describe("kept"))
    other = folder / "other"
    other.mkdir()
    real = time.time_ns
    monkeypatch.setattr(time, "time_ns", lambda: real() + 7_200 * 10**9)
    second = start(other, store={"path": str(folder / "store")})
    assert_passes_through(second)
    first.stop()
    wait_for(lambda: second.gateway.serving("askonce.store") == "SERVING")
    found = second.gateway.ask(describe("kept"))
    assert verdict(found) == "hit exact"
    assert found.candidate.age.ToSeconds() < 60


def test_where_opening_fails_in_a_way_that_nobody_thought_of(start, folder, monkeypatch):
    def fail(*_args, **_changes):
        raise OverflowError("what is this")

    with monkeypatch.context() as patch:
        patch.setattr(assembly, "open_store", fail)
        server = start(folder)
        assert_passes_through(server)
        assert str(folder / "store") in server.sidecar.store.problem()
        time.sleep(0.3)
        assert_passes_through(server)
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    assert_serves(server)


def test_a_problem_is_logged_when_it_comes_and_when_it_goes(start, folder, caplog):
    caplog.set_level("INFO")
    (folder / "store").write_text("")
    server = start(folder)
    (folder / "store").unlink()
    wait_for(lambda: server.gateway.serving("askonce.store") == "SERVING")
    said = [record.getMessage() for record in caplog.records if record.name.startswith("askonce")]
    assert any("usable again" in text or "could be opened" in text for text in said)
    for _ in range(5):
        server.gateway.ask(describe(messages=turns("quiet")))
    assert len([text for text in said if "store" in text]) < 10
