"""Several workers over one store: each sees what the others stored, and none takes the others down."""

from __future__ import annotations

import os
import shutil
import signal
import threading
import time
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack

import grpc
import pytest

from askonce_server.healthcheck import main as healthcheck
from faults.crew import WORKERS, Crew, gone, wait_until
from faults.sidecar_process import START_SECONDS, SidecarProcess, sidecar
from rpc.answers import answer, chat_body
from rpc.harness import Gateway, Place, short_folder
from rpc.replies import filed, outcome, verdict
from rpc.requests import describe, seconds, turns
from rpc.semantic import asking, at, semantic


@pytest.fixture(scope="module")
def shared():
    key = {"ASKONCE_KEY_OF_WORKERS": bytes(range(32)).hex()}  # to other servers it is no setting
    with short_folder() as folder:
        room = {"max_bytes": "512MiB"}  # a full store refuses while a stopped worker holds its free pages
        room["encryption"] = {"keys": [{"key_env": "ASKONCE_KEY_OF_WORKERS"}]}
        rules = semantic(guards="off", coalesce={"lease": "10s"})
        place = Place(folder, workers=WORKERS, store=room, **rules)
        with sidecar(place, key) as process:
            yield Crew(process)


@pytest.fixture
def crew(shared):
    shared.wait_until_serving()
    return shared


@pytest.fixture
def each(crew):
    """A gateway to each worker."""
    with ExitStack() as stack:
        yield [stack.enter_context(Gateway(crew.of(number))) for number in range(WORKERS)]


@pytest.fixture
def tenant(request):
    return request.node.name


def test_what_one_stored_is_a_hit_of_the_other_at_once(each, tenant):
    for number in range(50):
        asked = describe(tenant, turns(f"question {number}"))
        mine, other = each[number % 2], each[1 - number % 2]
        token = mine.ask(asked).fill_token
        assert filed(other.store(token, answer(f"answer {number}"))) == "stored", "a token is good everywhere"
        for gateway in (mine, other):
            found = gateway.ask(asked)
            assert verdict(found) == "hit exact"
            assert found.candidate.body.data == chat_body(f"answer {number}")


def test_what_one_encrypted_is_read_by_the_other(crew, each, tenant):
    secret = f"nobody finds {tenant} in the file"
    each[0].fill(describe(tenant), secret)
    assert each[1].ask(describe(tenant)).candidate.body.data == chat_body(secret)
    assert secret.encode() not in (crew.place.store / "data.mdb").read_bytes()


def test_what_one_replaced_is_the_others_answer_at_once(each, tenant):
    for number in range(50):
        assert filed(each[number % 2].store(describe(tenant), answer(f"answer {number}"))) == "stored"
        for _ in range(2):
            for gateway in each:
                found = gateway.ask(describe(tenant))
                assert found.candidate.body.data == chat_body(f"answer {number}")


def test_what_one_stored_is_near_for_the_other_at_once(each, tenant):
    for number in range(20):
        own = f"{tenant} {number}"
        mine, other = each[number % 2], each[1 - number % 2]
        assert verdict(other.ask(asking("first words", at(1), tenant=own))) == "miss"
        mine.fill(asking("first words", at(1), tenant=own), f"answer {number}")
        for gateway in (other, mine):
            found = gateway.ask(asking("other words", at(0.97), tenant=own))
            assert verdict(found) == "hit semantic"
            assert f"answer {number}".encode() in found.candidate.body.data


def waiting(crew, asked, count):
    """Callers that wait for an answer to `asked`, through all workers in turn."""

    def call(number):
        with Gateway(crew.of(number % WORKERS)) as gateway:
            return gateway.ask(asked, wait_for_fill=seconds(20))

    pool = ThreadPoolExecutor(count)
    try:
        return [pool.submit(call, number) for number in range(count)]
    finally:
        pool.shutdown(wait=False)


def test_of_all_who_miss_on_all_workers_one_leads_and_the_others_hit(crew, each, tenant):
    asked = describe(tenant, turns("the same question"))
    calls = waiting(crew, asked, 40)
    wait_until(lambda: any(call.done() for call in calls))
    time.sleep(0.5)
    (leader,) = [call.result() for call in calls if call.done()]
    assert leader.lease_holder
    began = time.monotonic()
    assert filed(each[0].store(leader.fill_token, answer("for all"))) == "stored"
    others = [call.result(20) for call in calls]
    assert time.monotonic() - began < 5
    assert sorted(map(verdict, others)) == ["hit exact"] * 39 + ["miss"]
    assert {one.candidate.body.data for one in others if not one.lease_holder} == {chat_body("for all")}


def test_a_leader_that_fails_through_another_worker_makes_exactly_one_next_leader(crew, each, tenant):
    calls = waiting(crew, describe(tenant, turns("the same question")), 10)
    failed: list[bytes] = []
    for turn in range(3):
        wait_until(lambda turn=turn: sum(call.done() for call in calls) == turn + 1)
        time.sleep(0.3)
        led = [call.result() for call in calls if call.done()]
        assert [one.lease_holder for one in led] == [True] * (turn + 1)
        (token,) = [one.fill_token for one in led if one.fill_token not in failed]
        failed.append(token)
        refused = each[turn % WORKERS].store(token, answer(status_code=500))
        assert filed(refused) == "upstream_error"
    wait_until(lambda: sum(call.done() for call in calls) == 4)
    (token,) = [
        call.result().fill_token for call in calls if call.done() and call.result().fill_token not in failed
    ]
    assert filed(each[1].store(token, answer("at last"))) == "stored"
    assert sorted(verdict(call.result(20)) for call in calls) == ["hit exact"] * 6 + ["miss"] * 4


def test_counts_add_up_and_are_told_by_each(crew, each, tenant):
    before = crew.stats()
    each[0].fill(describe(tenant))
    for gateway in each:
        assert verdict(gateway.ask(describe(tenant))) == "hit exact"
        assert verdict(gateway.ask(describe(None))) == "bypass scope_missing"
    for number in (0, 1, None):
        after = crew.stats(number)
        assert after.hits - before.hits == 2
        assert after.misses - before.misses == 1
        assert after.bypasses - before.bypasses == 2
        assert after.stores - before.stores == 1
        assert after.commits - before.commits == 1
        assert after.tallies["hit.exact"] - before.tallies["hit.exact"] == 2
        assert after.uptime.ToSeconds() >= before.uptime.ToSeconds()


def test_clients_of_the_configured_addresses_reach_every_worker(crew, tenant):
    """A socket is a link to one of them; a port is shared."""
    with ExitStack() as stack:
        deadline = time.monotonic() + START_SECONDS
        reached = set()
        while len(reached) < WORKERS and time.monotonic() < deadline:
            gateway = stack.enter_context(Gateway(crew.place.unix))
            reached.add(crew.place.socket.readlink().name)
            assert gateway.serving() == "SERVING"
            time.sleep(0.3)  # then clients are led to whom has fewer
        assert reached == {"s.0", "s.1"}
    with Gateway(crew.place.tcp) as gateway:
        gateway.fill(describe(tenant))
    assert healthcheck([crew.place.unix]) == 0
    assert healthcheck([crew.place.tcp]) == 0


def test_each_line_of_the_log_says_whose_it_is(crew):
    lines = crew.said()
    own = {line.get("worker") for line in lines if line["message"].startswith("listening on unix://")}
    assert own == {0, 1, None}
    said = {line["message"] for line in lines}
    assert {
        f"listening on {crew.place.unix} with 2 workers",
        f"listening for operators on {crew.place.admin}",
    } <= said


class Load:
    """Callers of one worker that store and look up until they are stopped; what they saw."""

    def __init__(self, address: str, tenant: str, *, callers: int = 4) -> None:
        self.address, self.tenant = address, tenant
        self.stored: dict[str, str] = {}
        self.wrong: list[str] = []
        self.refusals: list[str] = []
        self.errors: list[grpc.StatusCode] = []
        self.longest = 0.0
        self._done = threading.Event()
        self._until = time.monotonic() + 3 * START_SECONDS  # a test that fails leaves nobody running
        self._pool = ThreadPoolExecutor(callers)
        self._running = [self._pool.submit(self._run, caller) for caller in range(callers)]

    def _run(self, caller: int) -> None:
        with Gateway(self.address) as gateway:
            for number in range(1_000_000):
                if self._done.is_set() or time.monotonic() > self._until:
                    return
                try:
                    self._one(gateway, f"{caller}-{number}")
                except grpc.RpcError as error:
                    self.errors.append(error.code())
                    time.sleep(0.05)

    def _one(self, gateway: Gateway, name: str) -> None:
        asked = describe(self.tenant, turns(f"{self.address} {name}"))
        began = time.monotonic()
        said = filed(gateway.store(asked, answer(name)))
        self.longest = max(self.longest, time.monotonic() - began)
        if said == "stored":
            self.stored[name] = name
        else:
            self.refusals.append(said)
        self.check(gateway, name)

    def check(self, gateway: Gateway, name: str) -> None:
        """What was acknowledged is found; nothing else is."""
        found = gateway.ask(describe(self.tenant, turns(f"{self.address} {name}")), timeout=10)
        hit = outcome(found) == "hit"
        if hit and found.candidate.body.data != chat_body(name):
            self.wrong.append(name)
        if not hit and name in self.stored:
            self.wrong.append(name)

    def wait_for(self, count: int) -> None:
        """Until so many more have been stored."""
        wanted = len(self.stored) + count
        deadline = time.monotonic() + START_SECONDS
        while len(self.stored) < wanted:
            assert time.monotonic() < deadline, (self.refusals, self.errors)
            time.sleep(0.005)

    def stop(self) -> None:
        self._done.set()
        for one in self._running:
            one.result(timeout=60)
        self._pool.shutdown()


def test_a_killed_worker_comes_back_and_the_other_goes_on(crew, tenant):
    killed, other = Load(crew.of(0), tenant), Load(crew.of(1), tenant)
    killed.wait_for(20)
    other.wait_for(20)
    pid, before = crew.pid_of(0), crew.stats(1).stores
    stored = len(killed.stored) + len(other.stored)
    os.kill(pid, signal.SIGKILL)
    other.wait_for(50)
    crew.wait_until_serving()
    assert crew.pid_of(0) != pid
    killed.wait_for(20)
    killed.stop()
    other.stop()
    assert killed.wrong == other.wrong == []
    assert (other.errors, other.refusals) == ([], [])
    assert killed.refusals == []
    assert set(killed.errors) <= {grpc.StatusCode.UNAVAILABLE}
    assert crew.stats(1).stores - before >= len(killed.stored) + len(other.stored) - stored - 8
    assert f"worker 0 (process {pid}) was killed by SIGKILL" in crew.process.log.read_text()
    with Gateway(crew.of(1)) as gateway:
        for name in killed.stored:
            killed.check(gateway, name)
    assert killed.wrong == [], "what the killed worker acknowledged is there"


def stop_one(crew, tenant) -> float:
    """Stop worker 0 in the middle of its writing; return after how many seconds it was gone."""
    stopped, other = Load(crew.of(0), tenant), Load(crew.of(1), tenant)
    stopped.wait_for(20)
    other.wait_for(20)
    pid = crew.pid_of(0)
    os.kill(pid, signal.SIGSTOP)
    took = wait_until(lambda: gone(pid))
    other.wait_for(20)
    crew.wait_until_serving()
    stopped.wait_for(20)
    stopped.stop()
    other.stop()
    assert stopped.wrong == other.wrong == []
    assert other.errors == [], "calls of the other worker are answered"
    assert set(other.refusals) <= {"store_failed"}, "while the stopped one holds the write lock"
    assert other.longest < 2.0 + 1.5, "store.write_timeout, and some room"
    return took


def test_a_stopped_worker_is_killed_and_replaced(crew, tenant):
    took = stop_one(crew, tenant)
    assert 2.4 < took < 8, "3 s after it was heard of last"
    assert "has not been heard of for 3 s: killing it" in crew.process.log.read_text()


@pytest.mark.thorough
def test_workers_that_stop_over_and_over_hold_up_nobody(crew, tenant):
    for number in range(10):
        assert 2.4 < stop_one(crew, f"{tenant} {number}") < 8


def test_clients_are_not_led_to_a_worker_that_is_stopped(crew):
    number = int(crew.place.socket.readlink().name.removeprefix("s."))
    pid = crew.pid_of(number)
    os.kill(pid, signal.SIGSTOP)
    wait_until(lambda: crew.place.socket.readlink().name != f"s.{number}")
    assert healthcheck([crew.place.unix]) == 0
    assert not gone(pid), "the link moves before it is killed"
    wait_until(lambda: gone(pid))


def test_workers_end_with_their_supervisor(folder):
    """Also one that is stopped, and cannot do anything about it."""
    with sidecar(Place(folder, workers=WORKERS)) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        pids = crew.pids()
        assert len(pids) == WORKERS
        os.kill(pids[0], signal.SIGSTOP)
        process.kill()
        wait_until(lambda: all(gone(pid) for pid in pids))
    with sidecar(Place(folder, workers=1)) as process:  # takes over what was left
        with process.wait_until_serving() as gateway:
            assert gateway.serving("askonce.store") == "SERVING"
        assert process.terminate() == 0


def test_workers_wait_for_a_store_that_another_server_has(folder):
    place = Place(folder, workers=WORKERS)
    (folder / "b").mkdir()
    first = Place(folder / "b", store={"path": str(place.store), "max_bytes": "64MiB"})
    with ExitStack() as stack:
        other = stack.enter_context(sidecar(first))
        other.wait_until_serving().close()
        crew = Crew(stack.enter_context(sidecar(place)))
        with crew.process.wait_until_serving() as gateway:
            assert gateway.serving("askonce.store") == "NOT_SERVING"
            assert verdict(gateway.ask(describe())) == "bypass store_failed"
        assert f"is in use by process {other.pid}" in crew.process.log.read_text()
        assert other.terminate() == 0
        wait_until(lambda: "is held now" in crew.process.log.read_text())
        wait_until(lambda: crew.process.log.read_text().count("answers are served from it again") == WORKERS)
        crew.wait_until_serving()
        assert crew.process.terminate() == 0


@pytest.mark.parametrize(
    ("settings", "said"),
    [
        ({"fill_token_key_env": "NOT_SET_ANYWHERE"}, "names the variable NOT_SET_ANYWHERE, which is not set"),
        ({"listen": ["unix:///proc/no/such"]}, "cannot listen on unix:///proc/no/such"),
    ],
    ids=["a secret is missing", "a socket cannot be made"],
)
def test_what_keeps_one_worker_from_starting_ends_the_server(folder, settings, said):
    process = SidecarProcess(Place(folder, workers=WORKERS, **settings))
    assert process.process.wait(timeout=START_SECONDS) == 1
    assert said in process.log.read_text()
    assert "Traceback" not in process.log.read_text()


def test_a_worker_that_is_stopped_does_not_hold_up_the_end(folder):
    """It is killed as at any time, also inside a write; what was acknowledged is kept, the end in order."""
    place = Place(folder, workers=WORKERS, store={"max_bytes": "512MiB"}, drain={"grace": "20s"})
    with sidecar(place) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        loads = [Load(crew.of(number), "acme") for number in range(WORKERS)]
        for load in loads:
            load.wait_for(20)
        pid = crew.pid_of(0)
        os.kill(pid, signal.SIGSTOP)
        assert process.terminate() == 0, process.log.read_text()
        for load in loads:
            load.stop()
        log = process.log.read_text()
        assert f"worker 0 (process {pid}) has not been heard of for 3 s: killing it" in log
        assert f"worker 0 (process {pid}) was killed by SIGKILL" in log
        assert "worker 1 (" not in log.split("SIGTERM: draining")[1], "the other ended by itself"
    with sidecar(place) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        for load in loads:
            assert load.stored
            with Gateway(crew.of(1)) as gateway:
                for name in load.stored:
                    load.check(gateway, name)
            assert load.wrong == []


def test_a_worker_that_crashes_at_the_end_is_no_end_in_order(folder):
    with sidecar(Place(folder, workers=WORKERS, drain={"delay": "2s"})) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        pid = crew.pid_of(0)
        process.send(signal.SIGTERM)
        wait_until(lambda: "SIGTERM: draining" in process.log.read_text())
        os.kill(pid, signal.SIGKILL)
        assert process.process.wait(timeout=START_SECONDS) == 1
        assert f"worker 0 (process {pid}) was killed by SIGKILL" in process.log.read_text()


def test_a_store_that_is_taken_away_is_made_anew_by_all(folder):
    place = Place(folder, workers=WORKERS)
    with sidecar(place) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        with Gateway(crew.of(0)) as one, Gateway(crew.of(1)) as other:
            one.fill(describe("before"))
            shutil.rmtree(place.store)
            wait_until(lambda: process.log.read_text().count("answers are served from it again") == WORKERS)
            crew.wait_until_serving()
            one.fill(describe("after"))
            assert verdict(other.ask(describe("after"))) == "hit exact"
            assert verdict(other.ask(describe("before"))) == "miss"
