"""What models do wrong costs a hit, never a Lookup."""

from __future__ import annotations

import statistics
import threading
import time

import pytest

from embed.fakes import closed_port, gives, says, serving
from rpc.answers import answer_for
from rpc.harness import running
from rpc.replies import filed, outcome, verdict
from rpc.requests import describe, request, seconds, turns
from rpc.semantic import semantic_rule

MISS = "miss"
BUDGET = 0.035
GRACE = 0.02
"""How much later than its budget an answer may come."""


def http(url, **changes):
    rule = semantic_rule(embedder="far", **changes)
    return {
        "embedders": {"far": {"kind": "http", "url": url, "model": "m", "dim": 4, "retries": 0}},
        "rules": [rule],
    }


def asking(text, **changes):
    return describe(messages=[{"role": "user", "content": text}], **changes)


def skipped(decision):
    return [(skip.matcher, skip.reason) for skip in decision.skipped]


OVER_BUDGET, EMBEDDER_FAILED = (3, 20), (3, 18)


@pytest.fixture
def hanging():
    """An embeddings service that answers after the test."""
    over = threading.Event()

    def sleeps(handler):
        over.wait(10)
        handler.close_connection = True

    with serving(*[sleeps] * 64) as service, running(**http(service.url)) as server:
        yield server
        over.set()


def test_a_hanging_embedder_is_answered_within_the_budget_and_exact_hits_go_on(hanging):
    gateway = hanging.gateway
    known = asking("Known already")
    gateway.store(known, answer_for(known))
    quiet = [timed(gateway, known)[0] for _ in range(200)]
    late, busy = [], []

    def ask(number):
        late.append(timed(gateway, asking(f"Question number {number}")))

    threads = [threading.Thread(target=ask, args=(number,)) for number in range(24)]
    for one in threads:
        one.start()
    busy += [timed(gateway, known)[0] for _ in range(200)]
    for one in threads:
        one.join()
    assert all(outcome(decision) == MISS and decision.fill_token for _, decision in late)
    assert {skip for _, decision in late for skip in skipped(decision)} <= {OVER_BUDGET, EMBEDDER_FAILED}
    one_by_one = [timed(gateway, asking(f"Later question {number}"))[0] for number in range(10)]
    assert statistics.median(one_by_one) < BUDGET + GRACE
    assert statistics.median(busy) < 10 * statistics.median(quiet) + 0.005


def timed(gateway, asked):
    started = time.perf_counter()
    decision = gateway.ask(asked)
    return time.perf_counter() - started, decision


def test_the_callers_time_is_the_limit_where_it_is_shorter(hanging):
    waits, why = [], []
    for number in range(10):
        started = time.perf_counter()
        decision = hanging.gateway.stub.Lookup(
            request(asking(f"In haste {number}"), budget=seconds(0.02)), timeout=5
        ).decision
        waits.append(time.perf_counter() - started)
        assert outcome(decision) == MISS
        why += skipped(decision)
    assert statistics.median(waits) < 0.02 + GRACE
    assert why[:5] == [OVER_BUDGET] * 5
    assert set(why[5:]) <= {OVER_BUDGET, EMBEDDER_FAILED}, "five that got nothing may be enough to skip it"


def test_the_texts_of_a_batch_share_the_smallest_budget():
    """Each text takes a tenth of a second: after a quarter of one no further text is begun."""

    def takes_its_time(handler):
        time.sleep(0.1)
        gives([1, 0, 0, 0])(handler)

    with serving(takes_its_time) as service, running(**http(service.url, budget="5s")) as server:
        asked = [request(asking(f"Question number {number}"), budget=seconds(9)) for number in range(12)]
        asked[7].budget.CopyFrom(seconds(0.25))
        decided = [result.decision for result in server.gateway.ask_all(asked)]
        assert len(service.asked) <= 3
    assert [outcome(decision) for decision in decided] == [MISS] * 12
    assert all(decision.fill_token for decision in decided)
    assert [skipped(decision) for decision in decided[3:]] == [[OVER_BUDGET]] * 9


@pytest.mark.parametrize(
    "answering",
    [
        says(500, b"no"),
        says(200, b"nonsense"),
        gives([0, 0, 0, 0]),
        gives([1, 2]),
        says(200, b'{"data": []}'),
    ],
    ids=["error", "nonsense", "zero", "other size", "empty"],
)
def test_what_is_no_vector_skips_the_matcher_and_is_never_stored(answering):
    with serving(*[answering] * 20) as service, running(**http(service.url, budget="2s")) as server:
        asked = asking("What is this?")
        decision = server.gateway.ask(asked)
        assert (outcome(decision), skipped(decision)) == (MISS, [EMBEDDER_FAILED])
        stored = server.gateway.store(decision.fill_token, answer_for(asked))
        assert [entry.kind for entry in stored.entries] == [1, 2]
        assert verdict(server.gateway.ask(asked)) == "hit exact"


def test_an_embedder_that_is_not_there_skips_the_matcher():
    url = f"http://127.0.0.1:{closed_port()}/v1/embeddings"
    with running(**http(url, budget="2s")) as server:
        decision = server.gateway.ask(asking("Anyone there?"))
        assert (outcome(decision), skipped(decision)) == (MISS, [EMBEDDER_FAILED])


def test_a_text_is_embedded_once_for_a_miss_and_its_store():
    with serving(*[gives([1, 0, 0, 0])] * 4) as service, running(**http(service.url, budget="2s")) as server:
        asked = asking("Embed me once")
        decision = server.gateway.ask(asked)
        assert filed(server.gateway.store(decision.fill_token, answer_for(asked))) == "stored"
        assert len(service.asked) == 1
        assert verdict(server.gateway.ask(asking("Embed me once, please"))) == "hit semantic"
        assert len(service.asked) == 2


def test_an_exact_hit_embeds_nothing():
    with serving(*[gives([1, 0, 0, 0])] * 4) as service, running(**http(service.url, budget="2s")) as server:
        asked = asking("Once is enough")
        server.gateway.fill(asked)
        before = len(service.asked)
        assert verdict(server.gateway.ask(asked)) == "hit exact"
        assert len(service.asked) == before


def test_a_judge_that_fails_is_a_miss():
    judge = {"url": f"http://127.0.0.1:{closed_port()}/v1/chat/completions", "model": "m"}
    settings = http(
        "http://127.0.0.1:1/", verifier="judge", store_text=True, threshold=1.0, low_threshold=0.1
    )
    with serving(gives([1, 0, 0, 0]), gives([0.9, 0.1, 0, 0])) as service:
        settings["embedders"]["far"]["url"] = service.url
        settings["rules"][0]["semantic"]["budget"] = "2s"
        with running(**settings, judge=judge) as server:
            server.gateway.fill(asking("How do I reset my password?"))
            decision = server.gateway.ask(asking("How can I reset my password?"))
            assert verdict(decision) == "miss verifier_failed"
            assert decision.candidate.verifier == "judge"
            assert not decision.candidate.verified


def test_an_embedder_that_cannot_be_loaded_skips_the_matcher(tmp_path):
    rule = semantic_rule(embedder="gone")
    embedders = {"gone": {"kind": "onnx", "path": str(tmp_path)}}
    with running(embedders=embedders, rules=[rule]) as server:
        asked = describe(messages=turns("Where is the model?"))
        decision = server.gateway.ask(asked)
        assert (outcome(decision), skipped(decision)) == (MISS, [EMBEDDER_FAILED])
        server.gateway.store(decision.fill_token, answer_for(asked))
        assert verdict(server.gateway.ask(asked)) == "hit exact"
