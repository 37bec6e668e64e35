"""The results as tables: on the terminal, and as cells for the page."""

from __future__ import annotations

import math
from collections.abc import Iterator

from rich.table import Table

from benchmarks.quality.measure import GUARDS, Point
from benchmarks.quality.result import BY_KIND_AT, SHOWN, Result

_SMALL = 0.001
Cells = list[list[str]]
"""A heading, then rows."""


def shown(result: Result) -> Cells:
    """Return hit rate, precision and traps served, in percent, for every setting at some thresholds."""
    columns = ["hits", "precision", *(["traps"] if result.traps else [])]
    heading = ["threshold", *(f"{guards} {column}" for guards in GUARDS for column in columns)]
    rows = []
    for at, point in enumerate(result.curves["off"]):
        if point.threshold in SHOWN:
            cells = [cell for guards in GUARDS for cell in _cells(result.curves[guards][at], result)]
            rows.append([f"{point.threshold:.2f}", *cells])
    return [heading, *rows]


def kinds(result: Result) -> Cells:
    """Return how many pairs of each kind are served under each setting."""
    rows = [
        [
            kind or "-",
            "same" if same else "different",
            str(count),
            *(str(served[guards]) for guards in GUARDS),
        ]
        for kind, same, count, served in result.kinds
    ]
    return [["kind", "answers", "pairs", *(f"{guards} served" for guards in GUARDS)], *rows]


def advice(result: Result) -> str:
    """Say from which threshold on little enough is wrong."""
    parts = []
    for guards in GUARDS:
        lowest = result.lowest_threshold(guards)
        parts.append(f"{guards} {'none' if lowest is None else f'{lowest:.2f}'}")
    return f"lowest threshold with at most 2 % wrong of what is served: {', '.join(parts)}"


def terminal(result: Result) -> Iterator[Table | str]:
    """Yield what is printed of a result."""
    yield _table(shown(result), title=result.title)
    yield advice(result)
    if result.kinds:
        yield _table(kinds(result), title=f"served at {BY_KIND_AT:.2f}, by kind", texts=2)


def _table(cells: Cells, *, title: str, texts: int = 0) -> Table:
    table = Table(title=title, title_justify="left", box=None, pad_edge=False)
    for at, name in enumerate(cells[0]):
        table.add_column(name.replace(" ", "\n"), justify="left" if at < texts else "right")
    for row in cells[1:]:
        table.add_row(*row)
    return table


def _cells(point: Point, result: Result) -> list[str]:
    cells = [_percent(point.hit_rate), _percent(point.precision)]
    return [*cells, _percent(point.trap_rate)] if result.traps else cells


def _percent(share: float) -> str:
    if math.isnan(share):
        return "-"
    return f"{100 * share:.2f}" if 0 < share < _SMALL else f"{100 * share:.1f}"
