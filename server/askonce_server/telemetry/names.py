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
