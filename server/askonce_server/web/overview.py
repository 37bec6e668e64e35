"""Everything that the page shows at once, as plain values: one reading of the counters for all of it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

from askonce_server.core.rules import Rule
from askonce_server.ports import Clock
from askonce_server.rpc.plain import plain
from askonce_server.rpc.stats import StatsReport
from askonce_server.service.recent import Recent, RecentDecisions
from askonce_server.service.statistics import histogram, similarities
from askonce_server.service.tallies import BOUNDS_US, LOWEST_SIMILARITY, SIMILARITY_BINS, TIMED, merged

_ZONES: Final = ("above", "gray", "below")
_SIMILARITY_DIGITS: Final = 4


class OverviewReport:
    """Tells what was counted, and what the server is."""

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        *,
        stats: StatsReport,
        recent: RecentDecisions,
        rules: Callable[[], Sequence[Rule]],
        clock: Clock,
        problem: Callable[[], str | None],
        server: Mapping[str, Any],
    ) -> None:
        self._stats = stats
        self._recent = recent
        self._rules = rules
        self._clock = clock
        self._problem = problem
        self._server = server
        """What never changes: version, workers, where gateways reach it."""

    def told(self, since_seconds: int | None) -> dict[str, Any]:
        """Return all of it, of so many seconds or since the server started. Raises StoreUnavailable."""
        now_ms = self._clock.now_ms()
        since_ms = None if since_seconds is None else now_ms - since_seconds * 1000
        overview = self._stats.overview(since_ms)
        pace = self._recent.pace()
        return {
            "now": now_ms,
            "server": {**self._server, "store_problem": self._problem()},
            "stats": plain(overview.all),
            "durations": {
                "bounds_us": BOUNDS_US,
                **{what: histogram(merged(overview.counted), what) for what in TIMED},
            },
            "rules": [
                _rule(rule, plain(overview.rules[rule.id]), overview.counted.get(rule.id, {}))
                for rule in self._rules()
                if rule.id in overview.rules  # not one that a reload just brought
            ],
            "pace": {
                "first": pace.first,
                "hits": pace.hits,
                "misses": pace.misses,
                "bypasses": pace.bypasses,
                "refreshes": pace.refreshes,
            },
        }


def _rule(rule: Rule, stats: Any, counts: Mapping[str, int]) -> dict[str, Any]:
    told: dict[str, Any] = {
        "id": rule.id,
        "mode": rule.mode.value,
        "strategy": [matcher.name.lower() for matcher in rule.strategy],
        "scope": rule.scope,
        "ttl": rule.ttl_ms / 1000,
        "stats": stats,
        "semantic": None,
    }
    if rule.semantic is not None:
        told["semantic"] = {
            "threshold": rule.semantic.threshold,
            "low_threshold": rule.semantic.low_threshold,
            "verifier": rule.semantic.verifier.value,
            "lowest": LOWEST_SIMILARITY,
            "bins": SIMILARITY_BINS,
            **{zone: similarities(counts, zone) for zone in _ZONES},
        }
    return told


def decision(one: Recent) -> dict[str, Any]:
    """Return a decision as it is shown: digests alone."""
    reason = one.bypass_reason if one.deny_reason is None else one.deny_reason
    return {
        "time": one.at_ms,
        "took_us": one.took_us,
        "decision_id": one.decision_id,
        "rule": one.rule_id,
        "outcome": one.outcome.name.lower(),
        "kind": _name(one.kind),
        "reason": _name(reason),
        "reason_kind": None if reason is None else "deny" if one.deny_reason is not None else "bypass",
        "entry_id": one.entry_id,
        "entry_sha7": one.entry_id[:7],
        "scope_sha7": one.scope_sha7,
        "similarity": None if one.similarity is None else round(one.similarity, _SIMILARITY_DIGITS),
        "threshold": None if one.threshold is None else round(one.threshold, _SIMILARITY_DIGITS),
        "zone": _name(one.zone),
        "shadow": one.shadow,
        "would_hit": one.would_hit,
        "stale": one.stale,
        "collapsed": one.collapsed,
    }


def _name(value: Any) -> str | None:
    return None if value is None else value.name.lower()
