"""The results as one page that needs nothing else."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape

from benchmarks.quality import charts, tables
from benchmarks.quality.result import BY_KIND_AT, Result

_STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; color: #24292f; max-width: 70rem;
  margin: 2rem auto; padding: 0 1rem }
h1 { font-size: 1.5rem }
h2 { font-size: 1.2rem; margin-top: 2.5rem }
h3 { font-size: 1rem; margin: 1.5rem 0 .5rem }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: 14px }
th, td { padding: .25rem .7rem; text-align: right; border-bottom: 1px solid #e4e7eb }
th { font-weight: 600; color: #57606a }
.words td:nth-child(-n+2), .words th:nth-child(-n+2) { text-align: left }
svg { max-width: 100%; height: auto }
.scroll { overflow-x: auto }
.note { color: #57606a }
"""
_WORDS = """
Each question is compared with the nearest stored one, and would be served its answer where the cosine is at
least the threshold and no guard tells the two apart. <b>Hits</b>: the share of questions that are served; of
pairs, the share of those that should be. <b>Precision</b>: the share of what is served that is right.
<b>Traps</b>: the share of what must never be served and is: pairs with different answers, questions out of
scope.
"""


def page(by_data: Mapping[str, Sequence[Result]], settings: Mapping[str, str]) -> str:
    """Return the page; `settings` are named at its end."""
    parts = ["<h1>How good the semantic matcher is</h1>", f"<p>{_WORDS}</p>"]
    for data, results in by_data.items():
        parts += [f"<h2>{escape(data)}</h2>", charts.svg(results)]
        for result in results:
            parts += [f"<h3>{escape(result.title)}</h3>", _table(tables.shown(result))]
            parts.append(f'<p class="note">{escape(tables.advice(result))}</p>')
            if result.kinds:
                parts += [
                    f"<h3>{escape(result.embedder)}: served at {BY_KIND_AT:.2f}, by kind</h3>",
                    _table(tables.kinds(result), kind="words"),
                ]
    told = ", ".join(f"{name} {value}" for name, value in settings.items())
    parts.append(f'<p class="note">{escape(told)}</p>')
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width">'
    title = "<title>AskOnce: quality of the semantic matcher</title>"
    return (
        f'<!doctype html><html lang="en"><head>{head}{title}<style>{_STYLE}</style></head>'
        f"<body>{''.join(parts)}</body></html>\n"
    )


def _table(cells: tables.Cells, *, kind: str = "") -> str:
    heading = "".join(f"<th>{escape(cell)}</th>" for cell in cells[0])
    rows = "".join(f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in cells[1:])
    return f'<div class="scroll"><table class="{kind}"><tr>{heading}</tr>{rows}</table></div>'
