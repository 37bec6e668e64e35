"""`make quality` reads every format and counts right."""

from __future__ import annotations

import csv
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
CARD, PHONE = "where is my new card", "my phone was stolen yesterday"


@pytest.fixture
def data(tmp_path):
    """One small set of each format, in which every cosine is 1 or far from it."""
    pairs = [
        {"a": CARD, "b": CARD, "same": True, "kind": "repeat"},
        {"a": CARD, "b": PHONE, "same_answer": False, "category": "other"},
        {"a": "pay 15 euros now", "b": "pay 50 euros now", "same": False, "kind": "number"},
        {"a": [{"role": "user", "content": CARD}], "b": [], "same_answer": False},
    ]
    (tmp_path / "pairs.jsonl").write_text("\n".join(map(json.dumps, pairs)))
    (tmp_path / "bank").mkdir()
    for half in ("train", "test"):
        with (tmp_path / "bank" / f"{half}.csv").open("w", newline="") as file:
            csv.writer(file).writerows([["text", "category"], [CARD, "card"], [PHONE, "phone"]])
    (tmp_path / "clinc").mkdir()
    lists = {"train": [[CARD, "card"]], "test": [[CARD, "card"]], "oos_test": [[CARD, "oos"], [PHONE, "oos"]]}
    (tmp_path / "clinc" / "data_full.json").write_text(json.dumps(lists))
    return tmp_path


def run(*arguments):
    command = [sys.executable, "-m", "benchmarks.quality.run", *map(str, arguments)]
    return subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=False)


def test_every_format_is_counted_and_drawn(data):
    pytest.importorskip("wordllama", reason="the extra static is not installed")
    out = data / "out"
    files = (data / "pairs.jsonl", data / "bank", data / "bank" / "test.csv", data / "clinc")
    done = run(*files, "--embedders", "wordllama", "--draws", "2", "--out", out)

    assert done.returncode == 0, done.stderr
    assert "1 conversations left out" in done.stdout
    results = {one["data"]: one for one in json.loads((out / "quality.json").read_text())["results"]}
    assert len(results) == 3
    counts = {
        data: [
            one["curves"]["default"][10][name] for name in ("asked", "served", "right", "traps", "trapped")
        ]
        for data, one in results.items()
    }
    assert counts == {
        f"{data.name}/pairs": [1, 1, 1, 2, 0],
        "bank": [4, 4, 4, 0, 0],
        "clinc": [6, 4, 2, 4, 2],
    }
    unguarded = results[f"{data.name}/pairs"]["curves"]["off"][10]
    assert (unguarded["threshold"], unguarded["trapped"]) == (0.9, 1)
    page = (out / "quality.html").read_text()
    assert page.count("<svg") == 3
    assert not re.search(r'(src|href)="(?!#)', page)  # it needs nothing else
    assert {file.read_bytes()[:4] for file in out.glob("*.png")} == {b"\x89PNG"}


@pytest.mark.parametrize(
    ("name", "text", "says"),
    [
        ("a.jsonl", "{", "cannot be read"),
        ("a.jsonl", '{"a": [], "b": [], "same": true}', "holds no pair of texts"),
        ("a.csv", "question,answer\n", "needs the columns text and one of category, intent, label"),
        ("a.json", "{}", "cannot be read"),
        ("a.txt", "", "is neither"),
    ],
)
def test_what_is_no_labelled_data_is_one_line(tmp_path, name, text, says):
    (tmp_path / name).write_text(text)
    done = run(tmp_path / name)
    assert done.returncode == 1
    assert says in done.stderr
    assert done.stderr.count("\n") == 1
