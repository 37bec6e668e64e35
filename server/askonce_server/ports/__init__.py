"""What the service needs from outside. Adapters live in `store/`, `index/`, `embed/` and `verify/`."""

from askonce_server.ports.basics import (
    Clock,
    Counts,
    Randomness,
)
from askonce_server.ports.embedding import (
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbedderUnavailable,
    EmbeddingMissing,
    OverBudget,
    TextTooLong,
    TextUnreadable,
    Vector,
)
from askonce_server.ports.recall import (
    IndexStats,
    PartitionLoading,
    VectorIndex,
)
from askonce_server.ports.storing import (
    EntryStore,
    Leases,
    PartitionState,
    Reach,
    ReadView,
    StoredVector,
    StoreStats,
    StoreUnavailable,
    Swept,
    Taken,
    VectorBlock,
)
from askonce_server.ports.verifying import (
    Case,
    TooFewNeighbors,
    Verifier,
    VerifierFailed,
    VerifierUnavailable,
)

__all__ = [
    "Case",
    "Clock",
    "Counts",
    "Embedded",
    "Embedder",
    "EmbedderFailed",
    "EmbedderUnavailable",
    "EmbeddingMissing",
    "EntryStore",
    "IndexStats",
    "Leases",
    "OverBudget",
    "PartitionLoading",
    "PartitionState",
    "Randomness",
    "Reach",
    "ReadView",
    "StoreStats",
    "StoreUnavailable",
    "StoredVector",
    "Swept",
    "Taken",
    "TextTooLong",
    "TextUnreadable",
    "TooFewNeighbors",
    "Vector",
    "VectorBlock",
    "VectorIndex",
    "Verifier",
    "VerifierFailed",
    "VerifierUnavailable",
]
