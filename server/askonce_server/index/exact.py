"""Exact cosines."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from askonce_server.ports import Vector


def cosines(vector: Vector, rows: npt.NDArray[np.float32]) -> list[float]:
    """Return the cosine of `vector` and each of `rows` (float32[n, dim]), all of unit length.

    Each is a sum of its own, so that equal vectors have equal cosines wherever they stand: a matrix product
    adds up its last rows in another order.
    """
    sums: list[float] = np.vecdot(rows, vector).tolist()
    if sums and (max(sums) > 1 or min(sums) < -1):
        return [min(1.0, max(-1.0, one)) for one in sums]
    return sums
