"""`askonce embed` and `askonce similar` show what the semantic matcher would see."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest

from askonce_server import assembly
from askonce_server.ports import Embedded, EmbedderUnavailable

ON = "How do I enable dark mode?"
OFF = "How do I disable dark mode?"
RULES = """
embedders:
  first: {kind: onnx}
  second: {kind: onnx}
  sent: {kind: provided, dim: 3}
rules:
  - id: strict
    match: {endpoint: chat}
    strategy: [semantic]
    semantic: {embedder: first, threshold: 0.99, low_threshold: 0.5, verifier: kreciprocal, guards: strict}
  - id: loose
    match: {endpoint: chat}
    strategy: [semantic]
    semantic: {embedder: second, threshold: 0.8, guards: {polarity: off}}
  - id: plain
"""


class Angles:
    """Gives a text the unit vector of the angle that it names last, in degrees."""

    dim = 2
    max_tokens: int | None = 9
    fingerprint = bytes(range(32))

    def __init__(self, name):
        self.name = name
        self.closed = False

    def embed(self, text, *, deadline):
        radians = math.radians(float(text.split("@")[1]))
        vector = np.array([math.cos(radians), math.sin(radians)], dtype=np.float32)
        return Embedded(vector, tokens=len(text.split()), cost_usd=0.001 if self.name == "second" else None)

    def close(self):
        self.closed = True


@pytest.fixture
def made(monkeypatch):
    """Embedders of angles instead of models; those that were made."""
    embedders = []

    def make(name, section):
        embedders.append(Angles(name))
        return embedders[-1]

    monkeypatch.setattr(assembly, "embedder", make)
    yield embedders
    assert all(one.closed for one in embedders)


@pytest.fixture
def config(tmp_path):
    file = tmp_path / "askonce.yaml"
    file.write_text(RULES)
    return file


def test_embed_shows_the_vector_of_each_text(askonce, made):
    ran = askonce("embed", "@0", "a b @90")
    assert ran.code == 0
    assert "minilm" in ran.out
    assert bytes(range(32)).hex() in ran.out
    (row,) = [line for line in ran.out.splitlines() if line.startswith("a b @90")]
    assert row.split()[3] == "3"
    assert "0.0000, 1.0000" in row


def test_embed_prints_whole_vectors_as_json(askonce, made):
    document = json.loads(askonce("embed", "-", "--json", stdin=b"a @0\n\nb @90\n").out)
    assert document["dim"] == 2
    assert document["max_tokens"] == 9
    assert [one["text"] for one in document["texts"]] == ["a @0", "b @90"]
    assert document["texts"][1]["vector"] == pytest.approx([0, 1], abs=1e-7)
    assert document["texts"][0]["cost_usd"] is None


def test_embed_takes_the_embedder_that_is_named(askonce, made, config):
    document = json.loads(askonce("embed", "@0", "--config", config, "--embedder", "second", "--json").out)
    assert document["embedder"] == "second"
    assert document["texts"][0]["cost_usd"] == 0.001


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        (["embed", "@0"], "there are several embedders: name one with --embedder (first, second)"),
        (
            ["embed", "@0", "--embedder", "frist"],
            "'frist' is no embedder of the configuration: did you mean first?",
        ),
        (
            ["embed", "@0", "--embedder", "sent"],
            "embedder sent takes the vectors that the gateway sends: there is nothing to run",
        ),
        (
            ["similar", "@0", "@1", "--rule", "lose"],
            "'lose' is no rule with a semantic matcher: did you mean loose?",
        ),
        (
            ["similar", "@0", "@1", "--rule", "nothing"],
            "'nothing' is no rule with a semantic matcher: those that have are strict, loose",
        ),
        (
            ["similar", "@0", "@1", "--rule", "loose", "--low", "0.9"],
            "--low 0.9 is more than the threshold 0.8",
        ),
    ],
)
def test_what_cannot_be_meant_is_one_line(askonce, made, config, arguments, line):
    ran = askonce(*arguments, "--config", config)
    assert ran.code in {1, 2}
    assert ran.err == f"askonce: {line}\n"


def test_a_mistaken_configuration_and_a_missing_model_are_told(askonce, monkeypatch, config):
    config.write_text("rules: 1")
    assert "rules: must be a list" in askonce("embed", "@0", "--config", config).err

    def missing(name, section):
        raise EmbedderUnavailable(f"embedder {name}: needs onnxruntime")

    monkeypatch.setattr(assembly, "embedder", missing)
    assert askonce("embed", "@0").err == "askonce: embedder minilm: needs onnxruntime\n"


def similar(askonce, a, b, *more):
    ran = askonce("similar", a, b, *more, "--json")
    assert ran.code == 0, ran.err
    return json.loads(ran.out)


@pytest.mark.parametrize(
    ("degrees", "options", "zone", "deny"),
    [
        (10, [], "above", None),
        (20, [], "below", "below_threshold"),
        (20, ["--threshold", "0.9"], "above", None),
        (20, ["--low", "0.9"], "gray", "gray_unverified"),
        (30, ["--low", "0.9"], "below", "below_threshold"),
    ],
)
@pytest.mark.usefixtures("made")
def test_similar_says_what_the_zones_say(askonce, degrees, options, zone, deny):
    document = similar(askonce, "how to pay @0", f"how to pay @{degrees}", *options)
    assert document["similarity"] == pytest.approx(math.cos(math.radians(degrees)), abs=1e-6)
    # the number of degrees is a number to the guards too
    expected = deny if zone == "below" else "guard_number"
    assert (document["zone"], document["deny_reason"]) == (zone, expected)
    document = similar(askonce, "how to pay @0", f"how to pay @{degrees}", *options, "--guards", "off")
    assert (document["zone"], document["served"], document["deny_reason"]) == (zone, deny is None, deny)


def test_similar_names_each_guard_that_fires(askonce, made):
    document = similar(askonce, f"{ON} @0", f"{OFF} @0")
    assert document["served"] is False
    assert document["deny_reason"] == "guard_negation"
    assert {name for name, says in document["guards"].items() if says == "different"} == {"polarity", "swap"}
    assert document["guards"]["slot"] == "off"
    assert similar(askonce, f"{ON} @0", f"{OFF} @0", "--guards", "strict")["guards"]["slot"] == "different"


def test_similar_takes_everything_from_the_rule(askonce, made, config):
    loose = similar(askonce, f"{ON} @0", f"{OFF} @0", "--config", config, "--rule", "loose")
    assert (loose["embedder"], loose["threshold"], loose["low_threshold"]) == ("second", 0.8, 0)
    assert (loose["rule_id"], loose["guards"]["polarity"]) == ("loose", "off")
    strict = similar(
        askonce,
        "where is it @0.1",
        "where is it @30.1",
        "--config",
        config,
        "--rule",
        "strict",
        "--guards",
        "off",
    )
    assert (strict["embedder"], strict["zone"], strict["verifier"]) == ("first", "gray", "kreciprocal")
    assert (strict["served"], strict["deny_reason"]) == (None, None)


def test_similar_as_a_table_says_the_answer_and_every_guard(askonce, made, config):
    out = askonce("similar", f"{ON} @0", f"{OFF} @0").out
    assert "cosine    1.0000" in out
    assert "not served: GUARD_NEGATION" in out
    assert any(line.split() == ["polarity", "different", "GUARD_NEGATION"] for line in out.splitlines())
    assert any(line.split() == ["slot", "off"] for line in out.splitlines())
    shown = askonce("similar", "a b @0", "a b @0", "--config", config, "--rule", "strict").out
    assert "served" in shown
    assert "strict" in shown


def test_the_packaged_model_tells_near_from_far(askonce):
    pytest.importorskip("onnxruntime", reason="the extra minilm is not installed")
    near = similar(askonce, "How do I reset my password?", "how can I reset my password")
    far = similar(askonce, "How do I reset my password?", "Where is my parcel?")
    assert near["served"] is True
    assert far["zone"] == "below"
    assert near["similarity"] > 0.95
    assert far["similarity"] < 0.5
