"""Vectors for benchmarks of the index: random ones, which are the worst case, and clusters, as of texts."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Vectors = npt.NDArray[np.float32]

_SHARED_SEED, _BASIS, _PER_CLUSTER, _SPREAD = 99, 64, 50, 0.6


def unit(rows: npt.NDArray[np.float64]) -> Vectors:
    """Scale each row to unit length."""
    return (rows / np.linalg.norm(rows, axis=1, keepdims=True)).astype(np.float32)


def random_vectors(count: int, dim: int, *, seed: int, of: int) -> Vectors:  # noqa: ARG001 - as `clusters`
    """Return vectors that have nothing in common: the nearest are hardly nearer than the others."""
    return unit(np.random.default_rng(seed).standard_normal((count, dim)))


def clusters(count: int, dim: int, *, seed: int, of: int) -> Vectors:
    """Return vectors of the clusters of a partition of `of` vectors, 50 in each.

    The middles lie in a space of 64 dimensions; two vectors of one cluster have a cosine of about 0.74. The
    nearest neighbours of sentence embeddings are as near, their ranks as easy to tell.
    """
    shared = np.random.default_rng(_SHARED_SEED)
    basis = shared.standard_normal((_BASIS, dim))
    middles = unit(shared.standard_normal((max(of // _PER_CLUSTER, 1), _BASIS)) @ basis)
    random = np.random.default_rng(seed)
    noise = random.standard_normal((count, dim)) * (_SPREAD / np.sqrt(dim))
    return unit(middles[random.integers(0, len(middles), count)] + noise)


KINDS = {"random": random_vectors, "clusters": clusters}
