"""The results as curves."""

from __future__ import annotations

import io
from collections.abc import Callable, Sequence
from pathlib import Path

import matplotlib as mpl
from matplotlib.axes import Axes
from matplotlib.figure import Figure

from benchmarks.quality.measure import GUARDS, THRESHOLDS, Point
from benchmarks.quality.result import Result

_COLORS = {"off": "#8a8f98", "default": "#1f6feb", "strict": "#d9730d"}
_STYLES = {"off": (0, (4, 2)), "default": "-", "strict": "-"}
_ABOVE = {"off": 4, "default": 3, "strict": 2}
"""Where lines coincide, the dashes show that there are two."""
_INK, _GRID = "#24292f", "#e4e7eb"
_WIDTH, _HEIGHT = 4.6, 2.7
"""Of one panel, in inches."""
_LEAST_SERVED = 20
"""Of fewer answers a share says nothing: the line of their precision ends there."""
_Rate = Callable[[Point], float]
_Metric = tuple[str, _Rate]

mpl.rcParams.update(
    {
        "font.family": "sans-serif",
        "font.size": 9,
        "text.color": _INK,
        "axes.labelcolor": _INK,
        "axes.edgecolor": "#b6bcc4",
        "axes.spines.top": False,
        "axes.spines.right": False,
        "xtick.color": "#57606a",
        "ytick.color": "#57606a",
        "svg.fonttype": "none",
    }
)


def figure(results: Sequence[Result]) -> Figure:
    """Draw one data set: a column an embedder, a row a metric, a line a setting of the guards."""
    metrics = _metrics(results[0])
    drawn = Figure(figsize=(_WIDTH * len(results) + 0.6, _HEIGHT * len(metrics) + 1.0), layout="constrained")
    panels = drawn.subplots(len(metrics), len(results), squeeze=False, sharex=True, sharey="row")
    for column, result in enumerate(results):
        for row, (_, rate) in enumerate(metrics):
            _panel(panels[row][column], result, rate)
        panels[0][column].set_title(result.embedder, fontsize=10, fontweight="bold", loc="left")
        panels[-1][column].set_xlabel("threshold (cosine)")
    for row, (name, _) in enumerate(metrics):
        panels[row][0].set_ylabel(f"{name}, %")
        if name == "precision":
            panels[row][0].set_ylim(top=100.4)  # the others of the row follow
        else:
            panels[row][0].set_ylim(bottom=0)
    lines, names = panels[0][0].get_legend_handles_labels()
    drawn.legend(
        lines, [f"guards {name}" for name in names], loc="outside upper right", ncols=3, frameon=False
    )
    drawn.suptitle(_heading(results[0]), x=0.01, ha="left", fontsize=11, fontweight="bold")
    return drawn


def png(results: Sequence[Result], file: Path) -> None:
    """Write the curves of one data set as a picture."""
    figure(results).savefig(file, dpi=150, facecolor="white")


def svg(results: Sequence[Result]) -> str:
    """Return the curves of one data set as an element for a page."""
    written = io.StringIO()
    figure(results).savefig(written, format="svg", facecolor="white")
    text = written.getvalue()
    return text[text.index("<svg") :]


def _heading(result: Result) -> str:
    return result.data


def _metrics(result: Result) -> list[_Metric]:
    rates: list[_Metric] = [
        ("hit rate", lambda point: point.hit_rate),
        ("precision", lambda point: point.precision if point.served >= _LEAST_SERVED else float("nan")),
    ]
    return [*rates, ("traps served", lambda point: point.trap_rate)] if result.traps else rates


def _panel(panel: Axes, result: Result, rate: _Rate) -> None:
    for guards in GUARDS:
        panel.plot(
            THRESHOLDS,
            [100 * rate(point) for point in result.curves[guards]],
            color=_COLORS[guards],
            linestyle=_STYLES[guards],
            linewidth=1.8,
            zorder=_ABOVE[guards],
            label=guards,
        )
    panel.grid(visible=True, color=_GRID, linewidth=0.8)
    panel.set_axisbelow(True)
    panel.set_xlim(THRESHOLDS[0], THRESHOLDS[-1])
