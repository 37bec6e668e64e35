"""The embedder that a command line means, and texts through it."""

from __future__ import annotations

import time
from dataclasses import dataclass

from askonce_server import assembly
from askonce_server.cli.failure import Failed
from askonce_server.config.embedders import Embedder as EmbedderSection
from askonce_server.config.embedders import OnnxEmbedder, ProvidedEmbedder
from askonce_server.config.model import Config
from askonce_server.config.wording import did_you_mean
from askonce_server.ports import (
    Embedded,
    Embedder,
    EmbedderFailed,
    EmbedderUnavailable,
    OverBudget,
    TextTooLong,
    TextUnreadable,
)

PACKAGED = "minilm"
"""What the packaged model is called where no configuration names it."""
_PATIENCE_SECONDS = 60.0


@dataclass(frozen=True, slots=True)
class Timed:
    """A text's vector, and how long it took."""

    text: str
    embedded: Embedded
    seconds: float


def embedder(config: Config, name: str | None) -> Embedder:
    """Return the embedder `name`, else the only one that the configuration has, else the packaged one.

    Raises Failed.
    """
    known: dict[str, EmbedderSection] = {**config.embedders} or {PACKAGED: OnnxEmbedder(kind="onnx")}
    if name is None:
        usable = [one for one, section in known.items() if not isinstance(section, ProvidedEmbedder)]
        if len(usable) > 1:
            raise Failed(f"there are several embedders: name one with --embedder ({', '.join(usable)})")
        name = usable[0] if usable else next(iter(known))
    if name not in known:
        mend = did_you_mean(name, known) or f": known are {', '.join(known)}"
        raise Failed(f"{name!r} is no embedder of the configuration{mend}")
    section = known[name]
    if isinstance(section, ProvidedEmbedder):
        raise Failed(f"embedder {name} takes the vectors that the gateway sends: there is nothing to run")
    try:
        return assembly.embedder(name, section)
    except EmbedderUnavailable as unavailable:
        raise Failed(str(unavailable)) from None


def embed(model: Embedder, text: str) -> Timed:
    """Return the vector of `text`. Raises Failed."""
    begun = time.monotonic()
    try:
        embedded = model.embed(text, deadline=begun + _PATIENCE_SECONDS)
    except (EmbedderFailed, OverBudget, TextTooLong, TextUnreadable) as fault:
        raise Failed(f"embedder {model.name}: {fault}") from None
    return Timed(text, embedded, time.monotonic() - begun)
