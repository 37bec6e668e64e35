"""The names of everything that is told to others, in one place."""

from __future__ import annotations

from typing import Final

# Metrics, as OpenTelemetry names them.
DECISIONS: Final = "askonce.decisions"
DECISION_DURATION: Final = "askonce.decision.duration"
SKIPPED: Final = "askonce.skipped"
STORES: Final = "askonce.stores"
REFUSALS: Final = "askonce.refusals"
EMBED_DURATION: Final = "askonce.embed.duration"
EMBED_COST: Final = "askonce.embed.cost"
RECALL_DURATION: Final = "askonce.recall.duration"
ENTRY_COUNT: Final = "askonce.entry.count"
PARTITION_COUNT: Final = "askonce.partition.count"
STORE_USAGE: Final = "askonce.store.usage"
STORE_LIMIT: Final = "askonce.store.limit"
STORE_UP: Final = "askonce.store.up"
EVICTIONS: Final = "askonce.evictions"
COMMITS: Final = "askonce.store.commits"
COST_AVOIDED: Final = "askonce.cost.avoided"
UNPRICED: Final = "askonce.hits.unpriced"
COLLAPSED: Final = "askonce.hits.collapsed"
STALE: Final = "askonce.hits.stale"

# Labels of metrics.
RULE: Final = "rule"
OUTCOME: Final = "outcome"
KIND: Final = "kind"
REASON: Final = "reason"
MATCHER: Final = "matcher"

SCOPE: Final = "askonce"
"""What instruments: the name of metrics' and spans' scope, and of the service where nothing else is said."""

# Spans, their attributes and events. Those of gRPC are OpenTelemetry's (semantic conventions for RPC).
RPC_SYSTEM: Final = "rpc.system.name"
RPC_METHOD: Final = "rpc.method"
RPC_STATUS: Final = "rpc.response.status_code"
ERROR_TYPE: Final = "error.type"
PROVIDER: Final = "gen_ai.provider.name"
MODEL: Final = "gen_ai.request.model"
DECISION: Final = "askonce.decision"
"""The event of a decision."""
DECISION_ID: Final = "askonce.decision.id"
DECISION_OUTCOME: Final = "askonce.decision.outcome"
DECISION_KIND: Final = "askonce.decision.kind"
DECISION_BYPASS: Final = "askonce.decision.bypass_reason"
DECISION_DENY: Final = "askonce.decision.deny_reason"
DECISION_SHADOW: Final = "askonce.decision.shadow"
DECISION_AGAIN: Final = "askonce.decision.again"
CANDIDATE_ZONE: Final = "askonce.candidate.zone"
CANDIDATE_SIMILARITY: Final = "askonce.candidate.similarity"
RULE_ID: Final = "askonce.rule.id"
ENTRY_SHA7: Final = "askonce.entry.sha7"
SCOPE_SHA7: Final = "askonce.scope.sha7"
REQUEST_ID: Final = "askonce.request.id"
BATCH_ITEM: Final = "askonce.batch.item"
BATCH_SIZE: Final = "askonce.batch.size"
STORE: Final = "askonce.store"
"""The event of a Store."""
STORE_OUTCOME: Final = "askonce.store.outcome"
STORE_REFUSAL: Final = "askonce.store.refusal_reason"
STEP_RESULT: Final = "askonce.step.result"
STEPS: Final = {
    "again": DECISION_AGAIN,
    "embedder": "askonce.embedder.name",
    "neighbors": "askonce.recall.neighbors",
    "similarity": CANDIDATE_SIMILARITY,
    "verifier": "askonce.verifier.name",
    "zone": CANDIDATE_ZONE,
}
"""What steps say of themselves."""
