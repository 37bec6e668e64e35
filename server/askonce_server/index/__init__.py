"""The adapter of the VectorIndex port: it holds partitions in memory."""

from askonce_server.index.partitions import FaissVectorIndex

__all__ = ["FaissVectorIndex"]
