"""An embeddings service that is down is not asked each time."""

from __future__ import annotations

import pytest

from askonce_server.embed import HttpEmbedder, HttpSettings
from askonce_server.embed.breaker import BreakerEmbedder
from askonce_server.ports import EmbedderFailed, TextTooLong
from embed.fakes import FakeEmbedder, gives, says, serving, soon

TOO_LONG = says(400, b'{"error": {"message": "maximum context length is 512 tokens"}}')


def test_it_says_what_the_embedder_behind_it_says():
    front = BreakerEmbedder(FakeEmbedder())

    assert (front.name, front.dim, front.fingerprint) == ("fake", 4, bytes(32))
    assert front.max_tokens == 7
    assert front.embed("abc", deadline=soon()).vector.tolist() == [3, 0, 0, 0]
    front.close()
    assert front.embedder.closed


def test_a_service_that_is_down_is_asked_five_times_and_no_more():
    with serving(says(404, b"no such model")) as service:
        front = BreakerEmbedder(HttpEmbedder("remote", HttpSettings(url=service.url, model="small")))
        for _ in range(20):
            with pytest.raises(EmbedderFailed):
                front.embed("text", deadline=soon())
        with pytest.raises(EmbedderFailed, match="embedder remote is skipped"):
            front.embed("text", deadline=soon())
        front.close()
    assert len(service.asked) == 5


def test_texts_that_are_too_long_are_not_its_fault():
    with serving(*[TOO_LONG] * 12, gives([1, 0])) as service:
        front = BreakerEmbedder(HttpEmbedder("remote", HttpSettings(url=service.url, model="small")))
        for _ in range(12):
            with pytest.raises(TextTooLong):
                front.embed("text", deadline=soon())
        assert front.embed("text", deadline=soon()).tokens == 3
        front.close()
