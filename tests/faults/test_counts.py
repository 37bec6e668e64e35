"""Everything is counted once, over workers, restarts and kills, and told alike everywhere."""

from __future__ import annotations

import os
import signal
import time
from collections import Counter

import pytest

from faults.crew import WORKERS, Crew, wait_until
from faults.sidecar_process import sidecar
from faults.tallying import RULES, Tally, kept, of_metrics, run_all, stats_of, tallied
from rpc.harness import Place, free_port
from telemetry.collector import Collector, pushed, scraped


@pytest.fixture
def collector():
    started = Collector()
    yield started
    started.close()


@pytest.mark.timeout(600)
@pytest.mark.parametrize("calls", [600, pytest.param(3_400, marks=pytest.mark.thorough)])
def test_what_clients_counted_is_what_everybody_tells(folder, collector, calls):
    """Calls to two workers in three lives of the server, each ended in order; 10,200 of them if thorough."""
    address = f"127.0.0.1:{free_port()}"
    place = Place(folder, workers=WORKERS, rules=RULES, telemetry={"listen": address})
    environ = {
        **os.environ,
        "OTEL_EXPORTER_OTLP_ENDPOINT": collector.endpoint,
        "OTEL_METRIC_EXPORT_INTERVAL": "200",
    }
    began, ever = time.time(), Counter()
    for life in range(3):
        with sidecar(place, environ) as process:
            crew = Crew(process)
            crew.wait_until_serving()
            now = run_all([crew.of(number) for number in range(WORKERS)], calls=calls, seed=life)
            ever += now
            assert {name.partition(".")[0] for name in now} == {
                *("hit", "miss", "bypass", "refresh", "stored", "refusal")
            }
            for number in range(WORKERS):  # each tells of all
                assert tallied(stats_of(f"{place.admin}.{number}")) == now
                assert tallied(stats_of(f"{place.admin}.{number}", since=began)) == ever
            assert [of_metrics(scraped(address)) for _ in range(4)] == [now] * 4
            assert process.terminate() == 0
        assert of_metrics(pushed(collector.received[-1])) == now
        assert kept(place.store) == ever
    assert sum(ever.values()) == 3 * calls


def test_a_worker_that_is_killed_takes_no_count_with_it(folder):
    """Whichever of them keeps the counts."""
    place = Place(folder, workers=WORKERS, rules=RULES)
    began, ever = time.time(), Counter()
    with sidecar(place) as process:
        crew = Crew(process)
        for number in range(WORKERS):
            crew.wait_until_serving()
            ever += run_all([crew.of(at) for at in range(WORKERS)], calls=600, seed=number)
            os.kill(crew.pid_of(number), signal.SIGKILL)
            other = f"{place.admin}.{1 - number}"
            assert tallied(stats_of(other)) == ever
            assert tallied(stats_of(other, since=began)) == ever
        crew.wait_until_serving()
        assert tallied(crew.stats()) == ever
        assert process.terminate() == 0
    assert kept(place.store) == ever


def test_a_worker_that_is_killed_amid_calls_loses_none_that_was_answered(folder):
    place = Place(folder, workers=WORKERS, rules=RULES)
    with sidecar(place) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        victim, other = (Tally(crew.of(at), calls=1_500, seed=at) for at in range(WORKERS))
        victim.start()
        other.start()
        wait_until(lambda: victim.finished > 300)
        os.kill(crew.pid_of(0), signal.SIGKILL)
        victim.join()
        other.join()
        assert other.broken == 0
        assert victim.broken > 0
        crew.wait_until_serving()
        counted, told = tallied(crew.stats()), victim.told + other.told
        assert not told - counted, "what was answered is counted"
        assert (counted - told).total() <= victim.broken, "and no more than what was asked"
        assert process.terminate() == 0
    assert kept(place.store) == counted


@pytest.mark.parametrize("workers", [1, WORKERS])
def test_a_server_that_is_killed_loses_no_more_than_was_not_kept_yet_and_doubles_none(folder, workers):
    place = Place(folder, workers=workers, rules=RULES, stats={"flush": "200ms"})
    addresses = [place.unix] if workers == 1 else [f"{place.unix}.{at}" for at in range(workers)]
    least, most = Counter(), Counter()
    for life in range(3):
        with sidecar(place) as process:
            if workers == 1:
                process.wait_until_serving().close()
            else:
                Crew(process, workers=workers).wait_until_serving()
            before = kept(place.store)
            assert not least - before
            assert not before - most
            now = run_all(addresses, calls=400, seed=life)
            wait_until(lambda before=before, now=now: kept(place.store) == before + now)
            least, most = before + now, before + now + run_all(addresses, calls=200, seed=-life)
            pids = [process.pid] if workers == 1 else [*Crew(process).pids(), process.pid]
            for pid in pids:
                os.kill(pid, signal.SIGKILL)
            process.process.wait(timeout=60)
    after = kept(place.store)
    assert not least - after
    assert not after - most
