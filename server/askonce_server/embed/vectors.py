"""What every embedder does with a vector, and what tells its vectors from another's."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from askonce_server.core.keys import digest
from askonce_server.ports import EmbedderFailed, Vector


def unit(values: npt.ArrayLike, *, dim: int) -> Vector:
    """Return `values` as float32[dim] of unit length.

    Raises EmbedderFailed when they are of another size, not finite, or all zero.
    """
    vector = np.asarray(values, dtype=np.float64)
    if vector.shape != (dim,):
        raise EmbedderFailed(f"gave a vector of {'x'.join(map(str, vector.shape))} dimensions, not {dim}")
    if not np.isfinite(vector).all():
        raise EmbedderFailed("gave a vector that is not finite")
    # By the greatest value first, so that no square leaves the range of a double.
    greatest = np.abs(vector).max()
    if greatest == 0:
        raise EmbedderFailed("gave a vector that is all zero")
    scaled = vector / greatest
    unit_vector: Vector = (scaled / np.sqrt(np.square(scaled).sum())).astype(np.float32)
    return unit_vector


def fingerprint(kind: str, *parts: bytes | str | int) -> bytes:
    """Return the 32-byte hash of all that an embedder's vectors depend on; all are of unit length."""
    plain = (part if isinstance(part, bytes) else str(part).encode() for part in parts)
    return digest("embedder", kind.encode(), b"unit", *plain)
