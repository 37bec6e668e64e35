"""Simulated streams: what is counted, and that the vote policy keeps its bound."""

from __future__ import annotations

import csv
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from askonce_server.core.ruling import Outcome
from askonce_server.core.voting import VotePolicy
from benchmarks.quality.requests import Corpus, Nearest, corpus, plain, zipf
from benchmarks.quality.simulate import Cache, Drift, Noise, Run, fixed, repeats, voted

ROOT = Path(__file__).parents[2]
INTENTS, EACH, DIM = 12, 150, 24


@pytest.fixture(scope="module")
def made():
    """Texts around one point an intent, some of them on the wrong side; the guards see one word alone."""
    chance = np.random.default_rng(3)
    centres = np.linalg.qr(chance.normal(size=(DIM, DIM)))[0][:INTENTS]
    rows = np.repeat(centres, EACH, axis=0) + chance.normal(scale=0.12, size=(INTENTS * EACH, DIM))
    rows /= np.linalg.norm(rows, axis=1, keepdims=True)
    intents = [f"intent {at // EACH}" for at in range(len(rows))]
    for at in chance.choice(len(rows), len(rows) // 50, replace=False):  # 2 % look like another
        intents[at] = f"intent {chance.integers(INTENTS)}"
    texts = tuple(f"please{'e' * at}" for at in range(len(rows)))
    of = Corpus("made", texts, tuple(intents), ())
    nearest = Nearest(of, dict(zip(texts, rows.astype(np.float32), strict=True)))
    nearest.vetoed = lambda _asked, _stored: False
    return of, nearest


def cache(made):
    return Cache(made[0].intents, made[1])


def test_recall_is_exact_whatever_is_stored(made):
    of, nearest = made
    stored = np.zeros(len(of.texts), dtype=bool)
    for few in (3, 40, len(of.texts)):
        stored[np.random.default_rng(few).permutation(len(stored))[:few]] = True
        stored[7] = False
        found, cosines = nearest.recall(7, stored, 10)
        among = np.flatnonzero(stored)
        best = among[np.argsort(-(nearest.vectors[among] @ nearest.vectors[7]), kind="stable")[:10]]
        assert found == best.tolist()
        assert cosines == pytest.approx(nearest.vectors[best] @ nearest.vectors[7], abs=1e-6)


def test_a_fixed_threshold_is_counted_by_hand(made):
    of, nearest = made
    one, other = 0, EACH  # of two intents
    twin = max(range(1, EACH), key=lambda at: nearest.vectors[at] @ nearest.vectors[one])
    near = float(nearest.vectors[twin] @ nearest.vectors[one])
    run = fixed([one, one, other, twin], cache(made), near - 1e-6)
    assert (run.asked, run.exact, run.served) == (3, 1, 1)
    assert run.wrong == (of.intents[one] != of.intents[twin])
    assert fixed([one, twin], cache(made), near + 1e-6).served == 0


@pytest.mark.parametrize("target", [0.05, 0.1])
def test_the_vote_keeps_its_bound_where_a_fixed_threshold_serves_less(made, target):
    of, _ = made
    policy = VotePolicy(max_wrong=target, min_labels=200)
    runs = [voted(plain(of, seed), cache(made), policy, seed=seed) for seed in range(3)]
    assert all(0 < run.wrong_share <= target for run in runs)
    assert all(run.served > 0.3 * run.asked for run in runs)
    for run in runs:
        assert run.outcomes[Outcome.SERVE] == run.served
        assert sum(run.outcomes.values()) <= run.asked == len(of.texts)
        assert sum(run.curve()) / 10 == pytest.approx(run.hits)
    assert min(run.hits for run in runs) > 1.5 * fixed(plain(of, 0), cache(made), 0.9).hits


def test_a_run_is_the_same_whenever_it_is_played(made):
    policy = VotePolicy(max_wrong=0.05, min_labels=100)
    runs = [voted(zipf(made[0], 4), cache(made), policy, seed=4) for _ in range(2)]
    assert runs[0] == runs[1]


def test_an_answer_that_changed_is_served_nineteen_times_at_most(made):
    of, _ = made
    policy = VotePolicy(max_wrong=0.1, min_labels=100)
    for at in range(INTENTS):
        drift = Drift(f"intent {at}", 900)
        run = voted(plain(of, 1), cache(made), policy, seed=1, drift=drift)
        assert max(run.stale.values(), default=0) <= 19


def test_a_comparison_that_errs_costs_hits_and_not_the_bound(made):
    policy = VotePolicy(max_wrong=0.1, min_labels=100)
    clean, noisy = (
        voted(plain(made[0], 2), cache(made), policy, seed=2, noise=Noise(false_different=share))
        for share in (0.0, 0.05)
    )
    assert noisy.served < clean.served
    assert noisy.wrong_share <= 0.1


@pytest.mark.parametrize("planted", [0.0, 0.1])
def test_repeated_questions_measure_the_noise(made, planted):
    said = list(repeats(cache(made), Noise(false_different=planted), 2000))
    assert said.count(False) / len(said) == pytest.approx(planted, abs=0.02)
    assert len(list(repeats(cache(made), Noise(unknown=0.5), 2000))) < 1200


def test_nothing_served_is_nothing_wrong():
    assert (Run().hits, Run().wrong_share) == (0.0, 0.0)


@pytest.fixture
def bank(tmp_path):
    folder = tmp_path / "bank"
    folder.mkdir()
    words = {"card": "where is my card {}", "phone": "my phone {} was stolen", "fee": "what is fee {}"}
    for half in ("train", "test"):
        with (folder / f"{half}.csv").open("w", newline="") as file:
            rows = [[text.format(f"{half}{at}"), intent] for intent, text in words.items() for at in range(9)]
            csv.writer(file).writerows([["text", "category"], *rows])
    return folder


def test_a_corpus_holds_each_text_once_in_an_order_of_its_own(bank):
    of = corpus(bank)
    assert len(of.texts) == len(set(of.texts)) == 54
    assert corpus(bank) == of
    assert sorted(plain(of, 1)) == list(range(54))
    assert len(corpus(bank, most=10).texts) == 10
    assert len(set(zipf(of, 1))) < len(zipf(of, 1)) == 54


def test_questions_out_of_scope_are_a_fifth_and_no_two_have_one_answer(tmp_path):
    folder = tmp_path / "scoped"
    folder.mkdir()
    lists = {
        "train": [[f"text {at}", "in"] for at in range(100)],
        "test": [],
        "val": [],
        "oos_test": [[f"strange {at}", "oos"] for at in range(5)],
        "oos_val": [["stranger", "oos"]],
    }
    (folder / "data_full.json").write_text(json.dumps(lists))
    of = corpus(folder)
    assert len(of.outside) == 6
    assert len({of.intents[at] for at in of.outside}) == 6
    stream = plain(of, 0)
    assert len(stream) == 30
    assert set(of.outside) <= set(stream)


def test_the_benchmark_prints_its_tables(bank):
    pytest.importorskip("wordllama", reason="the extra static is not installed")
    command = [sys.executable, "-m", "benchmarks.quality.streams", str(bank), "--quick", "--seeds", "1"]
    command += ["--embedder", "wordllama"]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stderr
    for title in ("bank, plain", "bank, zipf", "one intent has another answer", "is called different"):
        assert title in done.stdout


def test_what_holds_no_questions_is_one_line(tmp_path):
    command = [sys.executable, "-m", "benchmarks.quality.streams", str(tmp_path)]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)
    assert done.returncode == 1
    assert "train.csv cannot be read" in done.stderr
    assert done.stderr.count("\n") == 1
