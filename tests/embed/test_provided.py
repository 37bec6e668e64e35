"""The gateway's own vector is taken as it is, and only if it is one of this embedder's."""

from __future__ import annotations

import math
import struct

import numpy as np
import pytest

from askonce_server.core.descriptor import Embedding
from askonce_server.core.errors import MalformedRequest
from askonce_server.embed import ProvidedEmbedder
from askonce_server.ports import EmbeddingMissing
from embed.fakes import soon


def embedding(*values, embedder="gateway"):
    return Embedding(embedder=embedder, values=struct.pack(f"<{len(values)}f", *values))


EMBEDDER = ProvidedEmbedder("gateway", dim=3)


def test_little_endian_floats_become_a_vector_of_unit_length():
    embedded = EMBEDDER.take(embedding(0, 3, -4))

    assert embedded.vector.dtype == np.float32
    assert embedded.vector.tolist() == pytest.approx([0, 0.6, -0.8])
    assert (embedded.tokens, embedded.cost_usd) == (None, None)


def test_a_very_small_vector_keeps_its_direction():
    assert EMBEDDER.take(embedding(0, 3e-42, -4e-42)).vector.tolist() == pytest.approx(
        [0, 0.6, -0.8], rel=1e-3
    )


def test_a_vector_of_the_wrong_size_is_refused_with_both_sizes():
    with pytest.raises(MalformedRequest) as caught:
        EMBEDDER.take(embedding(1, 2))

    (violation,) = caught.value.violations
    assert violation.field == "descriptor.embedding.values"
    assert violation.description == (
        "has 8 bytes, 2 dimensions; embedder 'gateway' takes 12 bytes, 3 dimensions of float32"
    )


@pytest.mark.parametrize("size", [0, 11, 13, 16, 12 * 512])
def test_every_other_number_of_bytes_is_wrong(size):
    with pytest.raises(MalformedRequest, match=f"has {size} bytes"):
        EMBEDDER.take(Embedding("gateway", b"\x01" * size))


@pytest.mark.parametrize(
    ("values", "says"),
    [((0, -0.0, 0), "all zero"), ((1, math.nan, 1), "not finite"), ((1, math.inf, 1), "not finite")],
)
def test_a_vector_that_is_none_is_refused(values, says):
    with pytest.raises(MalformedRequest, match=says):
        EMBEDDER.take(embedding(*values))


@pytest.mark.parametrize("given", [None, embedding(1, 0, 0, embedder="another")])
def test_without_a_vector_of_its_own_it_has_none(given):
    with pytest.raises(EmbeddingMissing):
        EMBEDDER.take(given)


def test_it_makes_no_vectors_itself():
    with pytest.raises(EmbeddingMissing):
        EMBEDDER.embed("text", deadline=soon())


def test_name_and_dimensions_make_the_fingerprint():
    assert len(EMBEDDER.fingerprint) == 32
    assert EMBEDDER.fingerprint == ProvidedEmbedder("gateway", dim=3).fingerprint
    assert EMBEDDER.fingerprint != ProvidedEmbedder("gateway", dim=4).fingerprint
    assert EMBEDDER.fingerprint != ProvidedEmbedder("gateway2", dim=3).fingerprint
