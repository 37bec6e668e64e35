"""What the guards cost: `python benchmarks/micro/guards.py`.

Microseconds per text whose features are made, hashed under a key as the server does it, and per pair of kept
features that is judged, over the project's own labelled pairs; and per text of 1,500 characters. The first
time meets words that no memo has yet.
"""

from __future__ import annotations

import json
import statistics
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import TypeVar

from askonce_server.core.guards import features, from_bytes, judge, to_bytes
from askonce_server.service.guard_key import GuardKey

PAIRS = Path(__file__).resolve().parents[2] / "tests" / "quality" / "pairs.jsonl"
ROUNDS = 30
TEXT_CHARACTERS = 1500
_KEY = bytes(range(32))
_T = TypeVar("_T")


def main() -> None:
    pairs = [json.loads(line) for line in PAIRS.read_text(encoding="utf-8").splitlines()]
    texts = [text for pair in pairs for text in (pair["a"], pair["b"])]
    token = GuardKey(_KEY)
    mean = statistics.mean(map(len, texts))
    print(f"{len(texts)} texts of {mean:.0f} characters, {ROUNDS} rounds")
    _show("features of a text", texts, lambda text: features(text, token))
    made = [(features(pair["a"], token), features(pair["b"], token)) for pair in pairs]
    kept = [to_bytes(one) for pair in made for one in pair]
    passages = _passages(texts)
    _show(f"features of {TEXT_CHARACTERS} characters", passages, lambda text: features(text, token))
    _show("judging a pair", made, lambda pair: judge(*pair))
    _show("reading kept features", kept, from_bytes)


def _passages(texts: Sequence[str]) -> list[str]:
    """Return long texts made of the short ones."""
    whole = " ".join(texts)
    return [
        whole[at : at + TEXT_CHARACTERS] for at in range(0, len(whole) - TEXT_CHARACTERS, TEXT_CHARACTERS)
    ]


def _show(name: str, subjects: Sequence[_T], work: Callable[[_T], object]) -> None:
    """Print the mean over the subjects of the least time that each took."""
    first, least = [], []
    for round_ in range(ROUNDS):
        times = [_seconds(work, subject) for subject in subjects]
        first = first or times
        least = [min(pair) for pair in zip(least, times, strict=True)] if round_ else times
    print(f"{name}: {statistics.mean(least) * 1e6:.1f} us (first time {statistics.mean(first) * 1e6:.1f})")


def _seconds(work: Callable[[_T], object], subject: _T) -> float:
    begun = time.perf_counter()
    work(subject)
    return time.perf_counter() - begun


if __name__ == "__main__":
    main()
