"""Reads labelled pairs, and shows what they say of thresholds."""

from __future__ import annotations

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
from rich.console import Console
from rich.table import Table

from askonce_server.cli import model
from askonce_server.cli.configured import configuration
from askonce_server.cli.failure import Failed, misused
from askonce_server.cli.similar_report import named_rule
from askonce_server.core import guards
from askonce_server.core.guards import GuardSettings
from askonce_server.ports import Embedder
from askonce_server.truth.calibrate import Calibration, Curve, Label
from askonce_server.truth.calibrate import calibrate as calibrated


def share(text: str) -> float:
    """Return the share that `1%` or `0.01` stands for. Raises Failed."""
    try:
        value = float(text.removesuffix("%")) / (100 if text.endswith("%") else 1)
    except ValueError:
        value = -1.0
    if not 0 < value < 1:
        raise misused(f"--max-wrong {text} is no share: say 1% or 0.01")
    return value


def read(
    file: Path, rule: str | None, embedder: str | None, config: Path | None, environ: Mapping[str, str]
) -> list[Label]:
    """Read labels, and make those of texts as the rule would. Raises Failed."""
    try:
        lines = file.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise Failed(f"{file} cannot be read: {error}") from None
    rows = [_row(file, number, line) for number, line in enumerate(lines, start=1) if line.strip()]
    if not rows:
        raise Failed(f"{file} holds no labels")
    if all("similarity" in row for row in rows):
        return [_label(row) for row in rows]
    made = configuration(config, environ)
    named = named_rule(made, rule)
    policy = named.semantic if named is not None else None
    settings = policy.guards if policy is not None else GuardSettings()
    chosen = model.embedder(made, embedder or (policy.embedder if policy is not None else None))
    try:
        return [_label(row) if "similarity" in row else _compared(row, chosen, settings) for row in rows]
    finally:
        chosen.close()


def stored(config: Path | None, folder: Path | None, rule: str | None) -> list[Label]:
    """Return the labels that the store has of a rule. Raises Failed."""
    from askonce_server.cli import labels_report  # noqa: PLC0415 - the store is heavy

    if not rule:
        raise misused("--labels needs --rule: labels of two rules say nothing together")
    found = labels_report.chosen(config, folder, rule=rule)
    if not found:
        raise Failed(
            f"the store has no labels of rule {rule}: it gets them in shadow mode, or under a vote policy"
        )
    return [_label(labels_report.document(label)) for label in found]


def _row(file: Path, number: int, line: str) -> dict[str, Any]:
    try:
        row = json.loads(line)
    except json.JSONDecodeError:
        row = None
    if isinstance(row, dict):
        right = next((row[name] for name in ("right", "same", "same_answer") if name in row), None)
        numbers = [row[name] for name in ("similarity", "vote") if row.get(name) is not None]
        numeric = all(isinstance(one, int | float) and not isinstance(one, bool) for one in numbers)
        texts = isinstance(row.get("a"), str) and isinstance(row.get("b"), str)
        if isinstance(right, bool) and numeric and (texts or "similarity" in row):
            return {**row, "right": right}
    raise Failed(
        f"{file}, line {number}: needs `a`, `b` and `same`, or `similarity` and `right`, "
        "of which `same` and `right` are true or false"
    )


def _label(row: Mapping[str, Any]) -> Label:
    vote = row.get("vote")
    return Label(
        float(row["similarity"]),
        row["right"],
        None if vote is None else float(vote),
        vetoed=row.get("vetoed") is True,
    )


def _compared(row: Mapping[str, Any], embedder: Embedder, settings: GuardSettings) -> Label:
    one, other = (model.embed(embedder, row[name]).embedded.vector.astype(np.float64) for name in ("a", "b"))
    vetoed = bool(guards.compare(row["a"], row["b"], settings))
    return Label(float(np.dot(one, other)), row["right"], vetoed=vetoed)


def show(labels: Sequence[Label], max_wrong: float, *, html: Path | None, as_json: bool) -> None:
    """Print what the labels say, and write the page. Raises Failed."""
    made = calibrated(labels, max_wrong)
    if html is not None:
        from askonce_server.cli.calibrate_page import page  # noqa: PLC0415 - only who wants one needs it

        try:
            html.write_text(page(made), encoding="utf-8")
        except OSError as error:
            raise Failed(f"{html} cannot be written: {error.strerror}") from None
    if as_json:
        sys.stdout.write(json.dumps(_document(made)) + "\n")
        return
    console = Console(highlight=False)
    for curve in made.curves:
        console.print(_table(curve, max_wrong))
    for sentence in made.sentences():
        console.print(sentence, soft_wrap=True)
    if snippet := made.snippet():
        console.print(f"\nsemantic:\n  {snippet.rstrip().replace(chr(10), chr(10) + '  ')}")


def _table(curve: Curve, max_wrong: float) -> Table:
    table = Table(box=None, pad_edge=False)
    for heading in (curve.score.value, "hits %", "served", "wrong", "wrong %", "at most %", ""):
        table.add_column(heading, justify="right")
    for point in curve.points:
        table.add_row(
            f"{point.threshold:.2f}",
            f"{100 * point.hit_rate:.1f}",
            str(point.served),
            str(point.wrong),
            f"{100 * point.wrong_rate:.2f}" if point.served else "-",
            f"{100 * point.upper_bound:.2f}",
            "holds" if point.holds(max_wrong) else "",
        )
    return table


def _document(made: Calibration) -> dict[str, Any]:
    best = made.best
    return {
        "max_wrong_hit_rate": made.max_wrong,
        "labels": made.labels,
        "advice": None if best is None else {"score": best[0].score.value, "threshold": best[1].threshold},
        "yaml": made.snippet(),
        "says": made.sentences(),
        "curves": {
            curve.score.value: [
                {
                    "threshold": point.threshold,
                    "hit_rate": point.hit_rate,
                    "served": point.served,
                    "wrong": point.wrong,
                    "wrong_hit_rate": point.wrong_rate,
                    "upper_bound": point.upper_bound,
                }
                for point in curve.points
            ]
            for curve in made.curves
        },
    }
