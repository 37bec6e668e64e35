"""Compares two texts as the semantic matcher would, and shows how."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce_server.cli import model
from askonce_server.cli.configured import configuration
from askonce_server.cli.failure import Failed, misused
from askonce_server.config.convert import core_rules
from askonce_server.config.model import Config
from askonce_server.config.wording import did_you_mean
from askonce_server.core import guards
from askonce_server.core.guards import ALL_OFF, GuardHit, GuardSettings
from askonce_server.core.reasons import DenyReason
from askonce_server.core.rules import Gray, Rule
from askonce_server.core.zones import Zone, zone

_THRESHOLD = 0.95
_PROFILES = {"on": GuardSettings(), "off": ALL_OFF, "strict": GuardSettings(slot=True)}


@dataclass(frozen=True, slots=True, kw_only=True)
class Asked:
    """What the command line said; None: nothing."""

    rule: str | None
    embedder: str | None
    threshold: float | None
    low: float | None
    guards: str | None


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """How two texts compare."""

    rule: str | None
    embedder: str
    tokens: tuple[int | None, int | None]
    similarity: float
    threshold: float
    low_threshold: float
    zone: Zone
    settings: GuardSettings
    hits: list[GuardHit]
    verifier: Gray

    @property
    def deny(self) -> DenyReason | None:
        """Why the answer would not be served; None: it would, or the verifier decides."""
        if self.zone is Zone.BELOW:
            return DenyReason.BELOW_THRESHOLD
        if self.hits:
            return self.hits[0].reason
        undecided = self.zone is Zone.GRAY and self.verifier is Gray.NONE
        return DenyReason.GRAY_UNVERIFIED if undecided else None

    @property
    def served(self) -> bool | None:
        """Whether the answer would be served; None: the verifier decides."""
        if self.deny is not None:
            return False
        return True if self.zone is Zone.ABOVE else None


def compare(a: str, b: str, asked: Asked, file: Path | None, environ: Mapping[str, str]) -> Report:
    """Compare `a`, which is asked, with `b`, which was. Raises Failed."""
    config = configuration(file, environ)
    rule = named_rule(config, asked.rule)
    policy = rule.semantic if rule is not None else None
    threshold, low = asked.threshold, asked.low
    if threshold is None:
        threshold = policy.threshold if policy is not None else max(_THRESHOLD, low or 0.0)
    if low is None:
        low = min(policy.low_threshold, threshold) if policy is not None else 0.0
    if low > threshold:
        raise misused(f"--low {low:g} is more than the threshold {threshold:g}")
    settings = (
        policy.guards if policy is not None and asked.guards is None else _PROFILES[asked.guards or "on"]
    )
    named = asked.embedder or (policy.embedder if policy is not None else None)
    chosen = model.embedder(config, named)
    try:
        one, other = model.embed(chosen, a).embedded, model.embed(chosen, b).embedded
    finally:
        chosen.close()
    similarity = float(np.dot(one.vector.astype(np.float64), other.vector.astype(np.float64)))
    return Report(
        rule=rule.id if rule is not None else None,
        embedder=chosen.name,
        tokens=(one.tokens, other.tokens),
        similarity=similarity,
        threshold=threshold,
        low_threshold=low,
        zone=zone(similarity, threshold=threshold, low_threshold=low),
        settings=settings,
        hits=guards.compare(a, b, settings),
        verifier=policy.verifier if policy is not None else Gray.NONE,
    )


def named_rule(config: Config, name: str | None) -> Rule | None:
    """Return the rule that is meant: the one of that name, else the only one with a semantic matcher."""
    semantic = {rule.id: rule for rule in core_rules(config) if rule.semantic is not None}
    if name is None:
        return next(iter(semantic.values())) if len(semantic) == 1 else None
    if name not in semantic:
        mend = did_you_mean(name, semantic) or f": those that have are {', '.join(semantic) or 'none'}"
        raise Failed(f"{name!r} is no rule with a semantic matcher{mend}")
    return semantic[name]


def show(report: Report, *, as_json: bool) -> None:
    """Print a report."""
    if as_json:
        sys.stdout.write(json.dumps(_document(report)) + "\n")
        return
    console = Console(highlight=False)
    console.print(_table(_summary(report)))
    table = Table(box=None, pad_edge=False)
    for heading in ("\nguard", "\nsays", "\nreason"):
        table.add_column(heading)
    for name, verdict, reason in _verdicts(report):
        fires = verdict == "different"
        table.add_row(name, Text(verdict, style="bold red" if fires else "dim"), Text(reason))
    console.print(table)


def _table(rows: list[tuple[str, str]]) -> Table:
    table = Table(box=None, show_header=False, pad_edge=False)
    table.add_column(style="dim")
    table.add_column(overflow="fold")
    for name, value in rows:
        table.add_row(name, Text(value))
    return table


def _summary(report: Report) -> list[tuple[str, str]]:
    low = f", low threshold {report.low_threshold:g}" if report.low_threshold else ""
    rows = [
        ("cosine", f"{report.similarity:.4f}"),
        ("zone", f"{report.zone.name.lower()} (threshold {report.threshold:g}{low})"),
        ("answer", _answer(report)),
        ("embedder", report.embedder),
        ("tokens", " and ".join("?" if count is None else str(count) for count in report.tokens)),
    ]
    return [*rows, ("rule", report.rule)] if report.rule is not None else rows


def _answer(report: Report) -> str:
    if report.deny is not None:
        return f"not served: {report.deny.name}"
    if report.served is None:
        return f"served if the verifier confirms it ({report.verifier.value})"
    return "served"


def _verdicts(report: Report) -> list[tuple[str, str, str]]:
    """Return each guard, what it says, and the reason that it would give."""
    fired = {hit.name: hit.reason.name for hit in report.hits}
    rows = []
    for name in guards.NAMES:
        if name in fired:
            rows.append((name, "different", fired[name]))
        else:
            rows.append((name, "same" if getattr(report.settings, name) else "off", ""))
    return rows


def _document(report: Report) -> dict[str, Any]:
    return {
        "similarity": report.similarity,
        "zone": report.zone.name.lower(),
        "threshold": report.threshold,
        "low_threshold": report.low_threshold,
        "served": report.served,
        "deny_reason": report.deny.name.lower() if report.deny is not None else None,
        "verifier": report.verifier.value,
        "guards": {name: verdict for name, verdict, _ in _verdicts(report)},
        "embedder": report.embedder,
        "tokens": list(report.tokens),
        "rule_id": report.rule,
    }
