from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.embed.vectors import fingerprint, unit
from askonce_server.ports import EmbedderFailed

NUMBERS = st.floats(allow_nan=False, allow_infinity=False)


@given(st.lists(NUMBERS, min_size=1, max_size=50))
def test_every_vector_but_zero_is_brought_to_unit_length_without_turning(values):
    if not any(values):
        with pytest.raises(EmbedderFailed, match="all zero"):
            unit(values, dim=len(values))
        return
    vector = unit(values, dim=len(values))

    assert vector.dtype == np.float32
    assert np.linalg.norm(vector.astype(np.float64)) == pytest.approx(1, abs=1e-6)
    greatest = max(values, key=abs)
    assert vector[values.index(greatest)] == pytest.approx(np.sign(greatest) * np.abs(vector).max())


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ([1.0, 2.0], "gave a vector of 2 dimensions, not 3"),
        ([[1.0, 2.0, 3.0]], "gave a vector of 1x3 dimensions, not 3"),
        ([], "gave a vector of 0 dimensions, not 3"),
        ([1.0, float("nan"), 0.0], "not finite"),
        ([1.0, float("-inf"), 0.0], "not finite"),
        ([0.0, 0.0, -0.0], "all zero"),
    ],
)
def test_what_is_no_vector_is_refused(values, says):
    with pytest.raises(EmbedderFailed, match=says):
        unit(values, dim=3)


def test_a_fingerprint_tells_every_part_and_where_it_ends():
    made = [
        fingerprint("onnx", b"m", 384, "mean"),
        fingerprint("onnx", b"m", 384, "cls"),
        fingerprint("onnx", b"m", 38, "4mean"),
        fingerprint("static", b"m", 384, "mean"),
        fingerprint("onnx", b"n", 384, "mean"),
    ]
    assert {len(one) for one in made} == {32}
    assert len(set(made)) == 5
    assert made[0] == fingerprint("onnx", b"m", 384, "mean")
