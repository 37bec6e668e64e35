"""Reads labelled data: pairs of texts, or questions with the intent that each has.

- pairs, JSON Lines: `a`, `b`, and `same` or `same_answer`; `kind` or `category` where there is one
- questions, CSV with a heading: `text` and `category` (or `intent`, `label`); of `train.csv` and `test.csv`
  in one folder the first is stored and the second asked (the layout of Banking77)
- questions, JSON: lists of [text, intent] under `train` and `test`, and under `oos_test` texts that no
  stored answer is for (the layout of CLINC150)
"""

from __future__ import annotations

import csv
import json
import random
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

OUTSIDE = "oos"
STORED_PER_INTENT, ASKED = 20, 2000
"""How much of a CSV a draw takes."""
STORED_OF_SCOPED, ASKED_OF_SCOPED, ASKED_OUTSIDE = 3000, 1500, 500
"""How much of a JSON file with questions out of scope a draw takes."""
_INTENTS = ("category", "intent", "label")


class UnreadableData(Exception):
    """The file is not labelled data; the message says why."""


class Pair(NamedTuple):
    """Two texts, and whether one answer serves both."""

    a: str
    b: str
    same: bool
    kind: str


class Question(NamedTuple):
    """A text and what it is about."""

    text: str
    intent: str


@dataclass(frozen=True, slots=True)
class Pairs:
    """Labelled pairs; those with different answers are traps."""

    name: str
    pairs: tuple[Pair, ...]
    skipped: int = 0
    """Rows that are conversations: their contexts are parts of the key, and no guard's matter."""

    def texts(self) -> Iterator[str]:
        """Yield every text that is to be embedded."""
        for pair in self.pairs:
            yield from (pair.a, pair.b)


@dataclass(frozen=True, slots=True)
class Draw:
    """Questions whose answers are stored, and questions that are asked then."""

    stored: tuple[Question, ...]
    asked: tuple[Question, ...]


@dataclass(frozen=True, slots=True)
class Questions:
    """Questions with intents, from which many streams may be drawn; those out of scope are traps."""

    name: str
    train: tuple[Question, ...]
    test: tuple[Question, ...]
    outside: tuple[Question, ...] = ()

    def texts(self) -> Iterator[str]:
        """Yield every text that is to be embedded."""
        yield from (one.text for one in (*self.train, *self.test, *self.outside))

    def draw(self, seed: int) -> Draw:
        """Return a stream, always the same for one seed."""
        chance = random.Random(seed)
        if self.outside:
            stored = _sample(chance, self.train, STORED_OF_SCOPED)
            asked = _sample(chance, self.test, ASKED_OF_SCOPED) + _sample(chance, self.outside, ASKED_OUTSIDE)
            return Draw(stored, asked)
        by_intent: dict[str, list[Question]] = defaultdict(list)
        for one in self.train:
            by_intent[one.intent].append(one)
        stored = tuple(
            one
            for intent in sorted(by_intent)
            for one in _sample(chance, by_intent[intent], STORED_PER_INTENT)
        )
        rest = self.test if self.test is not self.train else _without(self.train, stored)
        return Draw(stored, _sample(chance, rest, ASKED))


Labelled = Pairs | Questions


def read_all(paths: Sequence[Path]) -> list[Labelled]:
    """Read every file or folder; one that is named twice, or as both of its halves, is read once."""
    found: dict[Path, Labelled] = {}
    for path in paths:
        for file in _files(path):
            found.setdefault(_whole(file), read(file))
    return list(found.values())


def read(path: Path) -> Labelled:
    """Read one file. Raises UnreadableData."""
    try:
        if path.suffix == ".jsonl":
            return _pairs(path)
        if path.suffix == ".csv":
            return _csv(path)
        if path.suffix == ".json":
            return _json(path)
    except (OSError, ValueError, KeyError, TypeError) as error:
        raise UnreadableData(f"{path} cannot be read: {type(error).__name__}: {error}") from error
    raise UnreadableData(f"{path} is neither .jsonl (pairs) nor .csv or .json (questions)")


def _files(path: Path) -> list[Path]:
    if not path.is_dir():
        return [path]
    names = ("train.csv", "data_full.json", "pairs.jsonl")
    found = [path / name for name in names if (path / name).is_file()]
    if not found:
        raise UnreadableData(f"{path} holds none of {', '.join(names)}")
    return found


def _whole(file: Path) -> Path:
    """Return what two files that are halves of one set have in common."""
    return file.parent if file.name in {"train.csv", "test.csv"} else file


def _pairs(path: Path) -> Pairs:
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    texts = [row for row in rows if isinstance(row["a"], str) and isinstance(row["b"], str)]
    pairs = tuple(
        Pair(
            row["a"],
            row["b"],
            bool(row["same"] if "same" in row else row["same_answer"]),
            str(row.get("kind") or row.get("category") or ""),
        )
        for row in texts
    )
    if not pairs:
        raise UnreadableData(f"{path} holds no pair of texts")
    return Pairs(f"{path.parent.name}/{path.stem}", pairs, skipped=len(rows) - len(texts))


def _csv(path: Path) -> Questions:
    halves = [path.with_name(name) for name in ("train.csv", "test.csv")]
    if path in halves and all(half.is_file() for half in halves):
        train, test = (_rows(half) for half in halves)
        return Questions(path.parent.name, train, test)
    rows = _rows(path)
    return Questions(path.stem, rows, rows)


def _rows(path: Path) -> tuple[Question, ...]:
    with path.open(encoding="utf-8", newline="") as file:
        reader = csv.DictReader(file)
        column = next((name for name in _INTENTS if name in (reader.fieldnames or ())), None)
        if column is None or "text" not in (reader.fieldnames or ()):
            raise UnreadableData(f"{path} needs the columns text and one of {', '.join(_INTENTS)}")
        return tuple(Question(row["text"].strip(), row[column]) for row in reader)


def _json(path: Path) -> Questions:
    lists = json.loads(path.read_text(encoding="utf-8"))
    train, test, outside = (
        tuple(Question(text, intent) for text, intent in lists[name])
        for name in ("train", "test", "oos_test")
    )
    return Questions(path.parent.name, train, test, outside)


def _sample(chance: random.Random, of: Sequence[Question], size: int) -> tuple[Question, ...]:
    return tuple(chance.sample(of, min(size, len(of))))


def _without(all_: Sequence[Question], some: Sequence[Question]) -> tuple[Question, ...]:
    left = set(some)
    return tuple(one for one in all_ if one not in left)
