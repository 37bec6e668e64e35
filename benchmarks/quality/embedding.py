"""Embeds texts with the packaged models, once: vectors are kept from run to run."""

from __future__ import annotations

import sys
import time
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

from askonce_server.embed import OnnxEmbedder, StaticEmbedder
from askonce_server.ports import Embedder, TextTooLong, TextUnreadable

EMBEDDERS = {
    "minilm": lambda: OnnxEmbedder("minilm"),
    "wordllama": lambda: StaticEmbedder("wordllama", package="wordllama"),
}
_NEVER = float("inf")
_SECONDS_BETWEEN_LINES = 10.0
Vectors = dict[str, npt.NDArray[Any]]


def embed(embedder: Embedder, texts: Iterable[str], *, folder: Path) -> Vectors:
    """Return the vector of each distinct text; a text that the embedder refuses has none and never hits."""
    file = folder / f"{embedder.name}-{embedder.fingerprint.hex()[:12]}.npz"
    known = _load(file)
    missing = [text for text in dict.fromkeys(texts) if text not in known]
    if missing:
        known.update(_run(embedder, missing))
        folder.mkdir(parents=True, exist_ok=True)
        np.savez(file, texts=np.array(list(known)), vectors=np.stack(list(known.values())))
    return known


def _load(file: Path) -> Vectors:
    if not file.is_file():
        return {}
    with np.load(file) as kept:
        return dict(zip(kept["texts"].tolist(), kept["vectors"], strict=True))


def _run(embedder: Embedder, texts: list[str]) -> Vectors:
    found: Vectors = {}
    with _progress() as progress:
        task = progress.add_task(f"embedding with {embedder.name}", total=len(texts))
        told = time.monotonic()
        for done, text in enumerate(texts, start=1):
            try:
                found[text] = embedder.embed(text, deadline=_NEVER).vector
            except (TextTooLong, TextUnreadable):
                found[text] = np.zeros(embedder.dim, dtype=np.float32)
            progress.advance(task)
            if not progress.console.is_terminal and time.monotonic() - told > _SECONDS_BETWEEN_LINES:
                told = time.monotonic()
                print(f"embedding with {embedder.name}: {done} of {len(texts)}", file=sys.stderr)
    return found


def _progress() -> Progress:
    return Progress(
        TextColumn("{task.description}"),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        console=Console(stderr=True),
        transient=True,
    )
