"""The comparison of answers errs no more than it may, with the packaged model and wordings made for it."""

from __future__ import annotations

import pytest

from askonce_server.embed import OnnxEmbedder
from askonce_server.ports import EmbedderUnavailable
from askonce_server.truth.compare import Comparator
from askonce_server.truth.verdict import Verdict
from benchmarks.quality.comparison import HALVES, count, pairs

INTENTS = ("card_arrival", "lost_or_stolen_card", "exchange_rate", "top_up_failed", "change_pin", "age_limit")
NEAR = [[(at + 1) % len(INTENTS)] for at in range(len(INTENTS))]
PAIRS = 20


@pytest.fixture(scope="module")
def comparator():
    try:
        return Comparator(OnnxEmbedder("minilm"))
    except EmbedderUnavailable:
        pytest.skip("the extra minilm is not installed")


@pytest.mark.parametrize("halves", HALVES.values(), ids=HALVES)
def test_the_same_is_not_called_different_and_what_is_different_is(comparator, halves):
    counts = count(comparator, pairs(INTENTS, NEAR, halves, PAIRS))
    assert counts["same"][Verdict.DIFFERENT] == 0
    assert counts["same"][Verdict.SAME] >= 0.4 * PAIRS
    for kind in ("other intent", "near intent", "one fact, same wording"):
        assert counts[kind][Verdict.DIFFERENT] >= 0.9 * PAIRS
        assert counts[kind][Verdict.SAME] == 0
