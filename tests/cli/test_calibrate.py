"""`askonce calibrate` says which threshold keeps a share of wrong answers."""

from __future__ import annotations

import json
import re

import numpy as np
import pytest

from askonce_server import assembly
from askonce_server.ports import Embedded

SURE = [{"similarity": 0.97, "right": True}] * 700 + [{"similarity": 0.85, "right": False}] * 100


class Letters:
    """Gives texts of one first letter one vector, and others an orthogonal one."""

    name, dim, max_tokens, fingerprint = "letters", 26, None, bytes(32)

    def embed(self, text, *, deadline):
        vector = np.zeros(self.dim, dtype=np.float32)
        vector[ord(text[0].lower()) - ord("a")] = 1
        return Embedded(vector, None, None)

    def close(self):
        pass


@pytest.fixture
def file(tmp_path):
    def write(rows):
        path = tmp_path / "labels.jsonl"
        path.write_text("\n".join(row if isinstance(row, str) else json.dumps(row) for row in rows))
        return str(path)

    return write


def test_the_threshold_that_holds_is_advised_with_yaml_to_paste(askonce, file):
    done = askonce("calibrate", "--pairs", file(SURE), "--max-wrong", "1%")
    assert done.code == 0
    assert "cosine 0.96: serves 87.5 %, 0 of 700 wrong, at most 0.78 % (wanted: 1 %)" in done.out
    assert "semantic:\n  policy: fixed\n  threshold: 0.96" in done.out


def test_votes_have_a_table_of_their_own(askonce, file):
    rows = [{**row, "vote": 0.9 if row["right"] else 0.2} for row in SURE]
    done = askonce("calibrate", "--pairs", file(rows), "--max-wrong", "0.01", "--json")
    made = json.loads(done.out)
    assert set(made["curves"]) == {"cosine", "vote"}
    assert made["labels"] == 800
    assert made["advice"]["score"] in made["curves"]
    assert [point["served"] for point in made["curves"]["vote"]][:2] == [700, 700]


def test_texts_are_embedded_and_judged_by_the_guards(askonce, file, monkeypatch):
    monkeypatch.setattr(assembly, "embedder", lambda *_: Letters())
    rows = [
        {"a": "pay my bill", "b": "pay the bill", "same": True},
        {"a": "pay 5 euros", "b": "pay 9 euros", "same": False},
        {"a": "where is it", "b": "pay the bill", "same": False},
    ]
    done = askonce("calibrate", "--pairs", file(rows), "--json")
    points = json.loads(done.out)["curves"]["cosine"]
    assert {(point["served"], point["wrong"]) for point in points} == {(1, 0)}


def test_the_page_needs_nothing_else(askonce, file, tmp_path):
    page = tmp_path / "report.html"
    assert askonce("calibrate", "--pairs", file(SURE), "--html", str(page)).code == 0
    text = page.read_text()
    assert text.count("<svg") == 3
    assert text.count("<tr") == 13
    assert "<script" not in text
    assert not re.search(r"(src|href|url)\s*[=(]", text)


@pytest.mark.parametrize(
    ("rows", "arguments", "says"),
    [
        ([], (), "holds no labels"),
        (["{"], (), "line 1: needs `a`, `b` and `same`"),
        ([{"similarity": 0.9, "right": "yes"}], (), "line 1: needs"),
        ([{"similarity": True, "right": True}], (), "line 1: needs"),
        ([{"a": "x", "right": True}], (), "line 1: needs"),
        (SURE, ("--max-wrong", "0"), "--max-wrong 0 is no share"),
        (SURE, ("--max-wrong", "few"), "--max-wrong few is no share"),
        (SURE, ("--html", "/nowhere/at/all.html"), "cannot be written"),
    ],
)
def test_what_makes_no_sense_is_one_line(askonce, file, rows, arguments, says):
    done = askonce("calibrate", "--pairs", file(rows), *arguments)
    assert done.code != 0
    assert says in done.err
    assert done.err.count("\n") == 1


def test_a_file_that_is_not_there_is_one_line(askonce, tmp_path):
    done = askonce("calibrate", "--pairs", str(tmp_path / "none.jsonl"))
    assert done.code == 1
    assert "cannot be read" in done.err
