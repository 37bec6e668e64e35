"""What docs/semantic.md shows is so."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from askonce_server.config.load import load
from askonce_server.core.guards import NAMES, compare

PAGE = (Path(__file__).parents[2] / "docs" / "semantic.md").read_text()
ROWS = [
    [cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line[:2] == "| "
]
GUARDS = [row for row in ROWS if row[0].strip("`") in NAMES]
BEGUN = """
embedders:
  minilm: {kind: onnx}
rules:
  - id: support-bot
    match: {endpoint: chat}
    strategy: [exact, normalized, semantic]
"""
"""The rule that an example goes on with when it shows no more than `semantic`."""
TOGETHER = [row for row in ROWS if len(row) == 3 and re.fullmatch(r"0\.\d\d", row[2])]


@pytest.mark.parametrize("row", GUARDS, ids=lambda row: row[0].strip("`"))
def test_each_guard_tells_its_example_apart(row):
    guard, one, other, _ = row
    assert guard.strip("`") in [hit.name for hit in compare(one, other)]


@pytest.mark.parametrize("row", TOGETHER, ids=lambda row: row[0])
def test_other_words_for_the_same_are_left_alone(row):
    assert compare(row[0], row[1]) == []


def test_there_is_an_example_of_every_guard_that_compares_short_texts():
    assert {row[0].strip("`") for row in GUARDS} == set(NAMES) - {"template", "slot"}
    assert len(TOGETHER) == 6


@pytest.mark.parametrize(
    "example", re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL), ids=["shadow", "judge", "vote"]
)
def test_the_configurations_are_good(tmp_path, example):
    begun = BEGUN if example.startswith("    semantic:") else ""
    (tmp_path / "askonce.yaml").write_text(begun + example)
    (rule,) = load(tmp_path / "askonce.yaml", {"HOME": str(tmp_path)}).rules
    assert rule.semantic.embedder == "minilm"
