"""The calibration as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from html import escape

from askonce_server.truth.calibrate import Calibration, Curve, Point

_WIDTH, _HEIGHT, _LEFT, _BOTTOM, _TOP = 460, 220, 46, 26, 12
_BLUE, _RED, _GREY, _GREEN = "#1f6feb", "#cf222e", "#8a8f98", "#1a7f37"
_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; background: #fff;
  max-width: 62rem; margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.4rem } h2 { font-size: 1.1rem; margin-top: 2rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px }
th, td { padding: .2rem .7rem; text-align: right; border-bottom: 1px solid #e4e7eb }
th { color: #57606a } .holds { background: #eaf6ec }
.charts { display: flex; flex-wrap: wrap; gap: 1rem }
figure { margin: 0; max-width: 468px } figcaption { color: #57606a }
svg { max-width: 100%; height: auto } svg text { font: 11px system-ui, sans-serif; fill: #57606a }
pre { background: #f6f8fa; padding: .7rem 1rem; overflow-x: auto }
"""


def page(of: Calibration) -> str:
    """Return the page."""
    parts = [f"<h1>Calibration: at most {100 * of.max_wrong:g} % wrong, {of.labels} labels</h1>"]
    parts += [f"<p>{escape(sentence)}</p>" for sentence in of.sentences()]
    if snippet := of.snippet():
        indented = "".join(f"  {line}\n" for line in snippet.splitlines())
        parts.append(f"<pre>semantic:\n{escape(indented)}</pre>")
    for curve in of.curves:
        parts.append(f"<h2>{escape(curve.score.value)}</h2><div class='charts'>")
        parts += [_hits(curve), _wrong(curve, of.max_wrong), _histogram(curve), "</div>"]
        parts.append(_table(curve, of.max_wrong))
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    title = "<title>AskOnce: calibration</title>"
    return (
        f'<!doctype html><html lang="en"><head>{head}{title}<style>{_STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _hits(curve: Curve) -> str:
    top = max(0.01, *(point.hit_rate for point in curve.points))
    line = _line(curve.points, lambda point: point.hit_rate, top, _BLUE)
    return _figure(f"served, % by {curve.score.value}", _axes(curve, top) + line)


def _wrong(curve: Curve, max_wrong: float) -> str:
    top = min(1.0, max(4 * max_wrong, *(1.2 * point.wrong_rate for point in curve.points)))
    drawn = _line(curve.points, lambda point: point.wrong_rate, top, _RED)
    drawn += _line(curve.points, lambda point: point.upper_bound, top, _GREY, dashed=True)
    height = _y(max_wrong, top)
    drawn += f'<path d="M{_LEFT} {height:.1f}H{_WIDTH}" stroke="{_GREEN}" fill="none"/>'
    said = "wrong, % of what is served (red), its bound (dashed), and what is wanted (green)"
    return _figure(said, _axes(curve, top) + drawn)


def _histogram(curve: Curve) -> str:
    """Draw right and wrong labels above each other, from the first step that has any."""
    both = [sum(pair) for pair in zip(curve.right, curve.wrong, strict=True)]
    first = next((at for at, count in enumerate(both) if count), 0)
    top, steps = max(1, *both), len(both) - first
    wide = (_WIDTH - _LEFT) / steps
    bars = ""
    for at in range(first, len(both)):
        left = _LEFT + (at - first) * wide
        for count, below, color in ((curve.wrong[at], 0, _RED), (curve.right[at], curve.wrong[at], _BLUE)):
            high = _y(below, top) - _y(below + count, top)
            y = _y(below + count, top)
            bars += f'<rect x="{left:.1f}" y="{y:.1f}" width="{wide - 1:.1f}" height="{high:.1f}" '
            bars += f'fill="{color}"/>'
    marks = f'<text x="{_LEFT}" y="{_HEIGHT - 8}">{first / len(both):.2f}</text>'
    marks += f'<text x="{_WIDTH}" y="{_HEIGHT - 8}" text-anchor="end">1</text>'
    marks += f'<text x="{_LEFT - 6}" y="{_TOP + 8}" text-anchor="end">{top}</text>'
    return _figure(f"labels by {curve.score.value}: right (blue), wrong (red)", marks + bars)


def _axes(curve: Curve, top: float) -> str:
    drawn = ""
    for part in (0, 0.5, 1):
        height = _y(part * top, top)
        drawn += f'<path d="M{_LEFT} {height:.1f}H{_WIDTH}" stroke="#e4e7eb"/>'
        drawn += f'<text x="{_LEFT - 6}" y="{height + 4:.1f}" text-anchor="end">{100 * part * top:.3g}</text>'
    for point in curve.points[::2]:
        x = _x(curve.points, point)
        drawn += f'<text x="{x:.1f}" y="{_HEIGHT - 8}" text-anchor="middle">{point.threshold:.2f}</text>'
    return drawn


def _line(
    points: Sequence[Point], value: Callable[[Point], float], top: float, color: str, *, dashed: bool = False
) -> str:
    shown = [point for point in points if point.served]
    path = " ".join(f"{_x(points, point):.1f},{_y(min(value(point), top), top):.1f}" for point in shown)
    dashes = ' stroke-dasharray="5 3"' if dashed else ""
    return f'<polyline points="{path}" fill="none" stroke="{color}" stroke-width="2"{dashes}/>'


def _x(points: Sequence[Point], point: Point) -> float:
    low, high = points[0].threshold, points[-1].threshold
    return _LEFT + 14 + (point.threshold - low) / (high - low) * (_WIDTH - _LEFT - 28)


def _y(value: float, top: float) -> float:
    return _TOP + (1 - value / top) * (_HEIGHT - _TOP - _BOTTOM)


def _figure(caption: str, drawn: str) -> str:
    label = escape(caption)
    return (
        f'<figure><svg viewBox="0 0 {_WIDTH + 8} {_HEIGHT}" width="{_WIDTH}" role="img" '
        f'aria-label="{label}">{drawn}</svg><figcaption>{label}</figcaption></figure>'
    )


def _table(curve: Curve, max_wrong: float) -> str:
    names = (curve.score.value, "hits %", "served", "wrong", "wrong %", "at most %")
    rows = "".join(f"<th>{escape(name)}</th>" for name in names)
    rows = f"<tr>{rows}</tr>"
    for point in curve.points:
        kind = " class='holds'" if point.holds(max_wrong) else ""
        cells = (
            *(f"{point.threshold:.2f}", f"{100 * point.hit_rate:.1f}", str(point.served), str(point.wrong)),
            f"{100 * point.wrong_rate:.2f}" if point.served else "-",
            f"{100 * point.upper_bound:.2f}",
        )
        rows += f"<tr{kind}>{''.join(f'<td>{cell}</td>' for cell in cells)}</tr>"
    return f"<table>{rows}</table>"
