"""Exact cosines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from askonce_server.ports import Vector


def cosines(vector: Vector, rows: npt.NDArray[np.float32]) -> npt.NDArray[np.float64]:
    """Return the cosine of `vector` and each of `rows` (float32[n, dim]), all of unit length.

    Each is a sum of its own in double precision, so that equal vectors have equal cosines wherever they
    stand: a matrix product adds up its last rows in another order.
    """
    exact: npt.NDArray[np.float64] = np.vecdot(rows.astype(np.float64), vector.astype(np.float64))
    return exact.clip(-1.0, 1.0)
