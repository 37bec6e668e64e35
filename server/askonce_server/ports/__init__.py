"""What the service needs from outside. Adapters live in `store/`, `index/`, `embed/` and `verify/`."""

from askonce_server.ports.archive import Archive, Kept
from askonce_server.ports.basics import (
    Cells,
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
from askonce_server.ports.history import (
    HOUR_MS,
    KEPT_HOURS,
    Counted,
    History,
    Past,
)
from askonce_server.ports.labels import MOST_LABELS, LabelLog, LabelPage
from askonce_server.ports.recall import (
    IndexStats,
    PartitionLoading,
    PartitionTooLarge,
    PartitionUnreadable,
    VectorIndex,
)
from askonce_server.ports.recent import RecentMemory
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
    "HOUR_MS",
    "KEPT_HOURS",
    "MOST_LABELS",
    "Archive",
    "Case",
    "Cells",
    "Clock",
    "Counted",
    "Counts",
    "Embedded",
    "Embedder",
    "EmbedderFailed",
    "EmbedderUnavailable",
    "EmbeddingMissing",
    "EntryStore",
    "History",
    "IndexStats",
    "Kept",
    "LabelLog",
    "LabelPage",
    "Leases",
    "OverBudget",
    "PartitionLoading",
    "PartitionState",
    "PartitionTooLarge",
    "PartitionUnreadable",
    "Past",
    "Randomness",
    "Reach",
    "ReadView",
    "RecentMemory",
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
