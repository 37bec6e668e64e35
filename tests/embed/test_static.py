"""Tables of token vectors: the one inside wordllama, and a model2vec folder made here."""

from __future__ import annotations

import logging
import subprocess
import sys
import threading
import time

import numpy as np
import pytest

from askonce_server.embed import StaticEmbedder
from askonce_server.ports import EmbedderUnavailable, OverBudget, TextTooLong, TextUnreadable
from embed.fakes import soon

model2vec = pytest.importorskip("model2vec", reason="the extra static is not installed")
pytest.importorskip("wordllama", reason="the extra static is not installed")
tokenizers = pytest.importorskip("tokenizers", reason="the extra static is not installed")

WORDS = ["[UNK]", "cancel", "confirm", "the", "order", "internationalization"]
ROWS = np.array([[9, 9, 9], [3, 0, 0], [0, 3, 0], [0, 0, 0], [0, 0, 3], [1, 1, 1]], dtype=np.float32)


@pytest.fixture(scope="module")
def wordllama():
    return StaticEmbedder("words", package="wordllama")


@pytest.fixture
def save(tmp_path):
    def make(rows=ROWS, **config):
        tokenizer = tokenizers.Tokenizer(
            tokenizers.models.WordLevel(dict(zip(WORDS, range(6), strict=True)), unk_token="[UNK]")
        )
        tokenizer.pre_tokenizer = tokenizers.pre_tokenizers.Whitespace()
        model2vec.StaticModel(rows, tokenizer, config=config, **config).save_pretrained(tmp_path)
        return tmp_path

    return make


def cosine(embedder, one, other):
    vectors = [embedder.embed(text, deadline=soon()).vector for text in (one, other)]
    return float(vectors[0] @ vectors[1])


def test_wordllama_knows_likeness(wordllama):
    password = "How do I reset my password?"
    assert cosine(wordllama, password, "I forgot my password, how can I change it?") == pytest.approx(
        0.745, abs=0.001
    )
    assert cosine(wordllama, password, "What is the weather tomorrow?") == pytest.approx(0.035, abs=0.001)
    assert wordllama.dim == 256
    vector = wordllama.embed(password, deadline=soon()).vector
    assert vector.dtype == np.float32
    assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)


def test_wordllama_spells_what_it_never_saw(wordllama):
    assert cosine(wordllama, "我要开通自动续费", "我要关闭自动续费") < 0.9


def test_wordllama_is_loaded_without_a_network_a_home_or_a_word_to_the_log(tmp_path):
    script = (
        "import logging, socket, time\n"
        "def refuse(*_): raise SystemExit('it wants the network')\n"
        "socket.socket.connect = refuse\n"
        "from askonce_server.embed import StaticEmbedder\n"
        "e = StaticEmbedder('w', package='wordllama')\n"
        "print(logging.getLogger().handlers, logging.getLogger().level, e.fingerprint.hex())\n"
        "print(e.embed('a text', deadline=time.monotonic() + 60).vector.tobytes().hex())\n"
    )
    ran = subprocess.run(
        [sys.executable, "-c", script],
        capture_output=True,
        text=True,
        check=True,
        env={"HOME": str(tmp_path)},
    )
    here = StaticEmbedder("w", package="wordllama")

    assert ran.stderr == ""
    assert ran.stdout.splitlines() == [
        f"[] {logging.WARNING} {here.fingerprint.hex()}",
        here.embed("a text", deadline=soon()).vector.tobytes().hex(),
    ]
    assert list(tmp_path.iterdir()) == []


def test_the_window_is_kept_to_the_token(wordllama):
    assert wordllama.max_tokens == 256
    assert wordllama.embed("word " * 255, deadline=soon()).tokens == 256
    with pytest.raises(TextTooLong, match="257 tokens"):
        wordllama.embed("word " * 256, deadline=soon())


@pytest.mark.parametrize("text", ["", " ", "\n\u3000"])
def test_blank_texts_are_refused(wordllama, text):
    with pytest.raises(TextUnreadable):
        wordllama.embed(text, deadline=soon())


def test_a_vector_is_the_mean_of_its_words(save):
    embedder = StaticEmbedder("own", folder=save())

    assert embedder.dim == 3
    embedded = embedder.embed("cancel the order", deadline=soon())
    assert embedded.vector.tolist() == pytest.approx([0.5**0.5, 0, 0.5**0.5])
    assert embedded.tokens == 3
    assert cosine(embedder, "cancel the order", "confirm the order") == pytest.approx(0.5)


def test_a_text_is_embedded_to_the_last_token_of_its_window_however_long_its_words(save):
    # model2vec cuts by characters: as many as the window has tokens, times the usual length of a token.
    embedder = StaticEmbedder("own", folder=save(max_length=4))

    text = "internationalization internationalization internationalization cancel"
    assert embedder.embed(text, deadline=soon()).vector.tolist() == pytest.approx(
        (np.array([6, 3, 3]) / 54**0.5).tolist()
    )
    with pytest.raises(TextTooLong, match="5 tokens; 4 are read"):
        embedder.embed(f"{text} order", deadline=soon())
    assert StaticEmbedder("own", folder=save()).max_tokens == 512


def test_words_that_the_table_lacks_would_be_passed_over_and_are_refused(save):
    embedder = StaticEmbedder("own", folder=save())

    with pytest.raises(TextUnreadable):
        embedder.embed("cancel the subscription", deadline=soon())


def test_words_without_weight_give_no_vector(save):
    with pytest.raises(Exception, match="all zero"):
        StaticEmbedder("own", folder=save()).embed("the the", deadline=soon())


def test_the_fingerprint_tells_the_table(save, wordllama):
    one = StaticEmbedder("own", folder=save()).fingerprint
    assert StaticEmbedder("other", folder=save(), max_text=3).fingerprint == one
    other = StaticEmbedder("own", folder=save(rows=ROWS[:, ::-1])).fingerprint
    assert len({one, other, wordllama.fingerprint}) == 3


def test_many_threads_get_equal_vectors(save):
    embedder = StaticEmbedder("own", folder=save())
    vectors = []

    def run():
        vectors.extend(
            embedder.embed("cancel the order", deadline=soon()).vector.tobytes() for _ in range(50)
        )

    threads = [threading.Thread(target=run) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(vectors) == 400
    assert len(set(vectors)) == 1


def test_what_is_wrong_is_said(tmp_path, save):
    with pytest.raises(EmbedderUnavailable, match="is no folder"):
        StaticEmbedder("own", folder=tmp_path / "gone")
    (tmp_path / "empty").mkdir()
    with pytest.raises(EmbedderUnavailable, match="holds no model2vec model"):
        StaticEmbedder("own", folder=tmp_path / "empty")
    with pytest.raises(EmbedderUnavailable, match="no table is known in 'gensim'; known are wordllama"):
        StaticEmbedder("own", package="gensim")
    with pytest.raises(EmbedderUnavailable, match="max_text is 257"):
        StaticEmbedder("own", package="wordllama", max_text=257)


def test_a_passed_deadline_is_not_worked_for(wordllama):
    with pytest.raises(OverBudget):
        wordllama.embed("text", deadline=time.monotonic() - 1)
