"""Client for AskOnce, the cache-decision sidecar for LLM gateways.

`AskOnce` is for threads, `AsyncAskOnce` for asyncio, `FakeAskOnce` and `AsyncFakeAskOnce` for your tests.
"""

from askonce.aio import AsyncAskOnce
from askonce.breaker import BreakerState, CircuitBreaker
from askonce.client import AskOnce
from askonce.descriptor import (
    Content,
    Descriptor,
    DigestFacts,
    Digests,
    Embedding,
    ProviderBody,
    Target,
)
from askonce.enums import (
    BodyShape,
    BypassReason,
    CacheMode,
    DenyReason,
    MatchKind,
    Outcome,
    RefusalReason,
    StoreOutcome,
    Verdict,
    Zone,
)
from askonce.errors import (
    AskOnceError,
    BudgetExceeded,
    CallRefused,
    CircuitOpen,
    ClientClosed,
    ClientFault,
    ClientForked,
    InvalidRequest,
    RequestTooLarge,
    SidecarFailed,
    SidecarUnreachable,
    Violation,
)
from askonce.fake import AsyncFakeAskOnce, FakeAskOnce, Recorded
from askonce.request import Controls, Lookup, Store
from askonce.results import (
    AbandonResult,
    Body,
    Candidate,
    Decision,
    Evidence,
    FeedbackResult,
    SkippedMatcher,
    StoredEntry,
    StoreResult,
    TraceStep,
    Usage,
)
from askonce.upstream import UpstreamResponse

__all__ = [
    "AbandonResult",
    "AskOnce",
    "AskOnceError",
    "AsyncAskOnce",
    "AsyncFakeAskOnce",
    "Body",
    "BodyShape",
    "BreakerState",
    "BudgetExceeded",
    "BypassReason",
    "CacheMode",
    "CallRefused",
    "Candidate",
    "CircuitBreaker",
    "CircuitOpen",
    "ClientClosed",
    "ClientFault",
    "ClientForked",
    "Content",
    "Controls",
    "Decision",
    "DenyReason",
    "Descriptor",
    "DigestFacts",
    "Digests",
    "Embedding",
    "Evidence",
    "FakeAskOnce",
    "FeedbackResult",
    "InvalidRequest",
    "Lookup",
    "MatchKind",
    "Outcome",
    "ProviderBody",
    "Recorded",
    "RefusalReason",
    "RequestTooLarge",
    "SidecarFailed",
    "SidecarUnreachable",
    "SkippedMatcher",
    "Store",
    "StoreOutcome",
    "StoreResult",
    "StoredEntry",
    "Target",
    "TraceStep",
    "UpstreamResponse",
    "Usage",
    "Verdict",
    "Violation",
    "Zone",
]
