"""Adapters of the VectorIndex port: one that holds partitions in memory, and its judge, which holds none."""

from askonce_server.index.exhaustive import NumpyVectorIndex
from askonce_server.index.partitions import FaissVectorIndex

__all__ = ["FaissVectorIndex", "NumpyVectorIndex"]
