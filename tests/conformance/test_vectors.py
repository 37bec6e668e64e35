"""The server against the vectors, and the vectors against themselves."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections import Counter
from itertools import combinations
from pathlib import Path

import pytest

from conformance.make_vectors import files
from conformance.replay import HERE, found, vectors

VECTORS = vectors()
BY_NAME = {case["name"]: case for case in VECTORS}


def ids_of(case):
    """The ids under which a case's answer would be found, by matcher."""
    want = case["want"]
    ids = {
        kind: want[kind]["entry_id"] for kind in ("exact", "normalized") if "entry_id" in want.get(kind, {})
    }
    if "entry_id" in want.get("semantic", {}):
        ids |= {"semantic": want["semantic"]["entry_id"], "partition": want["semantic"]["partition"]}
    if "anchor" in want:
        ids["anchor"] = want["anchor"]
    return ids


@pytest.mark.parametrize("case", VECTORS, ids=lambda case: case["name"])
def test_the_server_derives_what_the_second_implementation_does(case):
    want = json.loads(json.dumps(case["want"]))
    want.get("semantic", {}).pop("context_material", None)
    assert found(case) == want


@pytest.mark.parametrize("case", [case for case in VECTORS if "same" in case], ids=lambda case: case["name"])
def test_requests_that_are_the_same_share_an_entry(case):
    for kind, names in case["same"].items():
        for name in names:
            assert ids_of(case)[kind] == ids_of(BY_NAME[name])[kind], (kind, name)


@pytest.mark.parametrize("case", [case for case in VECTORS if "apart" in case], ids=lambda case: case["name"])
def test_requests_that_may_be_answered_differently_share_none(case):
    for kind, names in case["apart"].items():
        for name in names:
            assert ids_of(case)[kind] != ids_of(BY_NAME[name])[kind], (kind, name)


def test_entries_of_different_exact_keys_never_meet():
    """Two cases share an exact entry only where some chain of `same` says so."""
    leader = {name: name for name in BY_NAME}

    def find(name):
        while leader[name] != name:
            name = leader[name]
        return name

    for case in VECTORS:
        for other in case.get("same", {}).get("exact", ()):
            leader[find(case["name"])] = find(other)
    keyed = [case for case in VECTORS if "exact" in ids_of(case)]
    meetings = [
        (one["name"], other["name"])
        for one, other in combinations(keyed, 2)
        if ids_of(one)["exact"] == ids_of(other)["exact"] and find(one["name"]) != find(other["name"])
    ]
    assert meetings == []


def test_names_are_unique_and_reasons_given():
    assert [name for name, count in Counter(case["name"] for case in VECTORS).items() if count > 1] == []
    assert all(case["why"].endswith(".") for case in VECTORS)
    assert len(VECTORS) >= 400


def test_the_files_are_as_the_cases_say():
    stale = [name for name, text in files().items() if Path(HERE, name).read_text(encoding="utf-8") != text]
    assert stale == [], "run tests/conformance/make_vectors.py"


def derived_elsewhere(seed):
    """The keys that another process derives, as text."""
    environ = {**os.environ, "PYTHONHASHSEED": seed, "PYTHONPATH": str(HERE.parent)}
    command = [sys.executable, str(HERE / "replay.py")]
    return subprocess.run(command, env=environ, capture_output=True, check=True, text=True).stdout


def test_every_process_derives_the_same_whatever_its_hash_seed():
    outputs = {derived_elsewhere(seed) for seed in ("0", "1", "2", "42", "4294967295")}
    assert len(outputs) == 1
    assert json.loads(outputs.pop()) == {case["name"]: found(case) for case in VECTORS}
