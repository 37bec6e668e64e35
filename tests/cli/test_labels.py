"""`askonce labels`, and calibrating by them, beside the sidecar that makes them."""

from __future__ import annotations

import json
import time

import pytest

from askonce_server.store import StoreSettings, read_labels
from faults.sidecar_process import sidecar
from rpc.answers import answer_for
from rpc.harness import Place, short_folder
from rpc.semantic import asking, at, semantic

COSINES = (0.99, 0.98, 0.97, 0.96, 0.6)


@pytest.fixture(scope="module")
def store():
    """A store with the labels of a rule that only watches, while its sidecar runs."""
    with short_folder() as folder, sidecar(Place(folder, **semantic(mode="shadow", guards="off"))) as process:
        with process.wait_until_serving() as gateway:
            for number, cosine in enumerate((1, *COSINES)):
                asked = asking(f"question {number}", at(cosine), tenant="acme")
                said = "Closed on Sundays" if cosine < 0.9 else "Open the settings"
                gateway.store(gateway.ask(asked).fill_token, answer_for(asked, said))
                wait_for_labels(folder / "store", number)
        yield str(folder / "store")


def wait_for_labels(folder, count):
    deadline = time.monotonic() + 20
    while len(read_labels(StoreSettings(path=folder, max_bytes=64 << 20))) < count:
        assert time.monotonic() < deadline
        time.sleep(0.05)


def test_labels_are_listed_and_counted(askonce, store):
    shown = askonce("labels", "--store", store)
    assert shown.code == 0
    assert "5 labels: 4 right, 1 wrong" in shown.out
    assert "shadow" in shown.out


def test_labels_are_exported_as_calibrate_takes_them(askonce, store, tmp_path):
    lines = askonce("labels", "--store", store, "--rule", "near", "--json").out.splitlines()
    rows = [json.loads(line) for line in lines]
    assert [row["right"] for row in rows] == [True] * 4 + [False]
    assert {(row["rule"], row["method"], row["vote"]) for row in rows} == {("near", "shadow", None)}
    assert rows[0]["similarity"] == pytest.approx(0.99, abs=1e-6)
    file = tmp_path / "labels.jsonl"
    file.write_text("\n".join(lines))
    by_file = askonce("calibrate", "--pairs", str(file), "--json")
    by_store = askonce("calibrate", "--store", store, "--rule", "near", "--labels", "--json")
    assert by_file.code == by_store.code == 0
    assert json.loads(by_file.out) == json.loads(by_store.out)
    assert json.loads(by_store.out)["labels"] == 5


def test_labels_are_chosen(askonce, store):
    for option, value, count in (
        ("--method", "shadow", 5),
        ("--method", "audit", 0),
        ("--rule", "other", 0),
        ("--since", "1h", 5),
    ):
        assert len(askonce("labels", "--store", store, option, value, "--json").out.splitlines()) == count
    assert "no labels" in askonce("labels", "--store", store, "--method", "judge").out


def test_mistakes_say_what_to_do(askonce, store, tmp_path):
    for arguments, code, said in (
        (("labels", "--store", store, "--method", "guess"), 2, "--method guess is none of shadow, explore"),
        (("labels", "--store", store, "--since", "soon"), 2, "--since soon"),
        (("labels", "--store", str(tmp_path)), 1, "there is no store at"),
        (("calibrate", "--store", store, "--labels"), 2, "--labels needs --rule"),
        (("calibrate", "--store", store, "--labels", "--rule", "none"), 1, "no labels of rule none"),
        (("calibrate",), 2, "give either --pairs FILE or --labels"),
    ):
        ran = askonce(*arguments)
        assert (ran.code, said in ran.err) == (code, True), ran.err
