"""A service that is slow, wrong, down or talks nonsense gives an error in time, and never a bad vector."""

from __future__ import annotations

import logging
import math
import threading
import time

import numpy as np
import pytest

from askonce_server.embed import HttpEmbedder, HttpSettings
from askonce_server.ports import EmbedderFailed, EmbedderUnavailable, OverBudget, TextTooLong, TextUnreadable
from embed.fakes import closed_port, drips, gives, hangs_up, says, serving, soon, waits

TEXT = "wie komme ich an mein geld"
KEY = "sk-secret-123"


@pytest.fixture
def asking():
    """Make embedders whose connections end with the test."""
    made = []

    def make(url, **settings):
        made.append(HttpEmbedder("remote", HttpSettings(url=url, model="small", **settings)))
        return made[-1]

    yield make
    for one in made:
        one.close()


def test_the_vector_comes_back_at_unit_length_with_its_tokens_and_cost(asking):
    with serving(gives([3, 0.0, -4], tokens=250)) as service:
        embedder = asking(service.url, api_key=f"{KEY}\n", price_per_million_tokens=0.02)
        embedded = embedder.embed(TEXT, deadline=soon())

    assert embedded.vector.dtype == np.float32
    assert embedded.vector.tolist() == pytest.approx([0.6, 0, -0.8])
    assert embedded.tokens == 250
    assert embedded.cost_usd == pytest.approx(0.000005)
    ((path, headers, body),) = service.asked
    assert path == "/v1/embeddings"
    assert headers["Authorization"] == f"Bearer {KEY}"
    assert body == {"model": "small", "input": TEXT}


@pytest.mark.parametrize(
    ("tokens", "price", "cost"), [(None, 0.02, None), (250, None, None), (True, 0.02, None), (0, 0.02, 0)]
)
def test_a_cost_is_told_only_where_it_is_known(asking, tokens, price, cost):
    with serving(gives([1, 0], tokens=tokens)) as service:
        embedded = asking(service.url, price_per_million_tokens=price).embed(TEXT, deadline=soon())

    assert embedded.cost_usd == cost


def test_without_a_key_none_is_sent(asking):
    with serving(gives([1, 0])) as service:
        asking(service.url).embed(TEXT, deadline=soon())

    assert "Authorization" not in service.asked[0][1]


def test_the_first_vector_settles_the_dimensions(asking):
    with serving(gives([1, 0, 0]), gives([1, 0]), gives([0, 1, 0])) as service:
        embedder = asking(service.url)
        assert embedder.dim == 0
        with pytest.raises(EmbedderFailed, match="no vector yet"):
            _ = embedder.fingerprint
        embedder.embed(TEXT, deadline=soon())
        assert embedder.dim == 3
        assert embedder.fingerprint == asking(service.url, dim=3).fingerprint
        with pytest.raises(EmbedderFailed, match="gave a vector of 2 dimensions, not 3"):
            embedder.embed(TEXT, deadline=soon())
        assert embedder.embed(TEXT, deadline=soon()).vector.tolist() == [0, 1, 0]


def test_a_bad_first_vector_settles_nothing(asking):
    with serving(gives([0, 0]), gives([1, 0, 0])) as service:
        embedder = asking(service.url)
        with pytest.raises(EmbedderFailed, match="all zero"):
            embedder.embed(TEXT, deadline=soon())
        embedder.embed(TEXT, deadline=soon())
        assert embedder.dim == 3


def test_url_model_and_dimensions_make_the_fingerprint():
    def made(url="http://a/", model="m", dim=3, **rest):
        return HttpEmbedder("x", HttpSettings(url=url, model=model, dim=dim, **rest)).fingerprint

    assert len(made()) == 32
    assert made() == made(retries=0, max_text=5, price_per_million_tokens=1)
    assert len({made(), made(url="http://b/"), made(model="n"), made(dim=4)}) == 4


@pytest.mark.parametrize(
    ("answer", "says_what"),
    [
        (says(200, b"<html>"), "not JSON"),
        (says(200, b""), "not JSON"),
        (says(200, b"[]"), "without one list of numbers"),
        (says(200, b'{"data":[]}'), "without one list of numbers"),
        (says(200, b'{"data":[{"embedding":[1]},{"embedding":[1]}]}'), "without one list of numbers"),
        (says(200, b'{"data":[{"embedding":[NaN,1,1]}]}'), "not JSON"),
        (gives([]), "without one list of numbers"),
        (gives(["1", "2", "3"]), "without one list of numbers"),
        (gives([None, 1, 2]), "without one list of numbers"),
        (gives([True, 1, 2]), "without one list of numbers"),
        (gives([[1, 0, 0]]), "without one list of numbers"),
        (gives("AACAPwAAgD8="), "without one list of numbers"),
        (gives([0, 0, 0]), "all zero"),
        (gives([1, 2]), "2 dimensions, not 3"),
        (says(200, b'{"data":[{"embedding":[1e999,1,1]}]}'), "not"),
        (says(401, b'{"error":"bad key"}'), "answered 401"),
        (says(400, b'{"error":"unknown model"}'), "answered 400"),
        (says(307, b"", Location="http://127.0.0.1:9/"), "answered 307"),
        (says(200, b" " * (9 << 20)), "more than 8388608 bytes"),
    ],
)
def test_nonsense_is_a_failure_that_is_not_tried_again(asking, answer, says_what):
    with serving(answer) as service:
        with pytest.raises(EmbedderFailed, match=says_what):
            asking(service.url, dim=3).embed(TEXT, deadline=soon())
        assert len(service.asked) == 1


def test_values_beyond_a_float_keep_their_direction(asking):
    with serving(gives([3e300, 4e300])) as service:
        vector = asking(service.url).embed(TEXT, deadline=soon()).vector

    assert vector.tolist() == pytest.approx([0.6, 0.8])


@pytest.mark.parametrize("first", [says(429, b""), says(500, b""), says(503, b""), hangs_up])
def test_what_may_pass_is_tried_again(asking, first):
    with serving(first, first, gives([1, 0])) as service:
        assert asking(service.url).embed(TEXT, deadline=soon()).vector.tolist() == [1, 0]
        assert len(service.asked) == 3


@pytest.mark.parametrize(
    ("answer", "says_what"), [(says(500, b""), "answered 500"), (hangs_up, "no connection: ProtocolError")]
)
def test_tries_are_counted(asking, answer, says_what):
    with serving(answer) as service:
        with pytest.raises(EmbedderFailed, match=says_what):
            asking(service.url, retries=2).embed(TEXT, deadline=soon())
        assert len(service.asked) == 3


def test_no_try_begins_that_the_service_asked_to_wait_longer_for_than_there_is_time(asking):
    with serving(says(429, b"", Retry_After="60"), gives([1, 0])) as service:
        begun = time.monotonic()
        with pytest.raises(EmbedderFailed, match="answered 429"):
            asking(service.url).embed(TEXT, deadline=soon(20))
        assert time.monotonic() - begun < 10
        assert len(service.asked) == 1


def test_a_refused_connection_is_a_failure(asking):
    embedder = asking(f"http://127.0.0.1:{closed_port()}/v1/embeddings")

    with pytest.raises(EmbedderFailed, match="no connection: NewConnectionError"):
        embedder.embed(TEXT, deadline=soon())


@pytest.mark.parametrize("answer", [waits(gives([1, 0])), drips])
def test_a_slow_service_is_left_at_the_deadline(asking, answer):
    with serving(answer) as service:
        begun = time.monotonic()
        with pytest.raises(OverBudget):
            asking(service.url, timeout_seconds=30).embed(TEXT, deadline=begun + 0.2)
        assert time.monotonic() - begun < 5
        assert len(service.asked) == 1


@pytest.mark.parametrize("answer", [waits(gives([1, 0])), drips])
def test_a_slow_service_is_left_at_its_timeout_and_not_asked_again(asking, answer):
    with serving(answer) as service:
        with pytest.raises(EmbedderFailed, match=r"did not answer in 0\.2 s"):
            asking(service.url, timeout_seconds=0.2).embed(TEXT, deadline=soon())
        assert len(service.asked) == 1


def test_a_passed_deadline_asks_nobody(asking):
    with serving(gives([1, 0])) as service:
        with pytest.raises(OverBudget):
            asking(service.url).embed(TEXT, deadline=time.monotonic() - 1)
        assert service.asked == []


@pytest.mark.parametrize(
    "answer",
    [
        says(
            400, b'{"error":{"message":"This model\'s maximum context length is 8192 tokens, however ..."}}'
        ),
        says(400, b'{"error":{"code":"context_length_exceeded"}}'),
        says(422, b'{"error":"Input validation error: `inputs` must have less than 512 tokens. Given: 600"}'),
        says(413, b""),
        gives([1, 0], tokens=512),
    ],
)
def test_what_the_service_finds_too_long_is_too_long(asking, answer):
    with serving(answer) as service, pytest.raises(TextTooLong):
        asking(service.url, max_text=511).embed(TEXT, deadline=soon())


def test_a_text_beyond_any_window_is_not_sent(asking):
    with serving(gives([1, 0])) as service:
        with pytest.raises(TextTooLong):
            asking(service.url, max_text=511).embed("x " * 9000, deadline=soon())
        assert service.asked == []


def test_where_the_service_does_not_count_bytes_do(asking):
    with serving(gives([1, 0], tokens=None)) as service:
        embedder = asking(service.url, max_text=4)
        assert embedder.embed("äö", deadline=soon()).tokens is None
        with pytest.raises(TextTooLong, match="5 tokens"):
            embedder.embed("äöu", deadline=soon())
        assert asking(service.url).embed(TEXT, deadline=soon()).tokens is None


@pytest.mark.parametrize("text", ["", " \n\t\u3000", "half \ud83d"])
def test_what_cannot_be_read_is_not_sent(asking, text):
    with serving(gives([1, 0])) as service:
        with pytest.raises(TextUnreadable):
            asking(service.url).embed(text, deadline=soon())
        assert service.asked == []


@pytest.mark.parametrize("key", ["", " ", "clé", "a\r\nX-Evil: 1"])
def test_a_key_that_cannot_stand_in_a_header_is_found_at_once(key):
    with pytest.raises(EmbedderUnavailable) as caught:
        HttpEmbedder("remote", HttpSettings(url="http://a/", model="m", api_key=key))
    assert "Evil" not in str(caught.value)
    assert "Evil" not in repr(HttpSettings(url="http://a/", model="m", api_key=key))


def test_neither_text_nor_key_nor_answer_is_logged_or_in_an_error(asking, caplog):
    caplog.set_level(logging.DEBUG)
    echo = f'{{"error":"{TEXT}"}}'.encode()
    script = (says(500, echo), hangs_up, says(400, echo), says(200, echo), says(200, TEXT.encode()))
    with serving(*script, gives([math.pi, 1])) as service:
        embedder = asking(service.url, api_key=KEY)
        errors = []
        for _ in range(3):
            with pytest.raises(EmbedderFailed) as caught:
                embedder.embed(TEXT, deadline=soon())
            errors.append(str(caught.value))
        embedder.embed(TEXT, deadline=soon())
    assert len(service.asked) == 6

    told = "\n".join([caplog.text, *errors])
    assert "geld" not in told
    assert "secret" not in told


def test_connections_are_kept_and_shared(asking):
    with serving(gives([1, 0])) as service:
        embedder = asking(service.url, connections=4)
        for _ in range(5):
            embedder.embed(TEXT, deadline=soon())
        assert len(service.peers) == 1

        results = []
        threads = [
            threading.Thread(target=lambda: results.append(embedder.embed(TEXT, deadline=soon()).tokens))
            for _ in range(4)
        ]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert results == [3] * 4
        assert len(service.peers) <= 5
