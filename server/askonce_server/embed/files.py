"""The files of a model that runs in this process, and the digest that tells one model from another."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from askonce_server.core.keys import digest
from askonce_server.ports import EmbedderUnavailable

_DEFAULT_WINDOW = 512
"""What BERT and most of its kin were made for."""

_NO_WINDOW = 10**6
"""Some models say 10^30 where they know of none."""

_WINDOW_SETTINGS = (
    ("sentence_bert_config.json", "max_seq_length"),
    ("tokenizer_config.json", "model_max_length"),
    ("config.json", "max_position_embeddings"),
)


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """Where a model and its tokenizer are."""

    model: Path
    tokenizer: Path
    parts: Sequence[Path]
    """Every file that its vectors depend on, these two included."""
    window: int
    """How many tokens it reads, marks included."""


def file_sha256(path: Path) -> bytes:
    """Return the SHA-256 of a file. Raises EmbedderUnavailable."""
    try:
        with path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").digest()
    except OSError as error:
        raise EmbedderUnavailable(f"{path} cannot be read: {error.strerror}") from error


def files_sha256(parts: Sequence[Path]) -> bytes:
    """Return one digest of all `parts`: 32 bytes over their names and contents, in the order of names.

    Raises EmbedderUnavailable.
    """
    pairs = sorted((path.name.encode(), file_sha256(path)) for path in parts)
    return digest("model", *(part for pair in pairs for part in pair))


def onnx_folder(folder: Path) -> ModelFiles:
    """Return the files of the model in `folder`. Raises EmbedderUnavailable.

    Weights may stand in files of any name beside `model.onnx`, so every file is taken for a part of it.
    """
    model, tokenizer = folder / "model.onnx", folder / "tokenizer.json"
    for path in (model, tokenizer):
        if not path.is_file():
            raise EmbedderUnavailable(
                f"{path} is missing: the folder must hold model.onnx and tokenizer.json"
            )
    return ModelFiles(model=model, tokenizer=tokenizer, parts=folder_files(folder), window=_window(folder))


def folder_files(folder: Path) -> tuple[Path, ...]:
    """Return the files right in `folder`, without hidden ones and model cards."""
    return tuple(path for path in folder.iterdir() if path.is_file() and not _beside_the_point(path))


def _beside_the_point(path: Path) -> bool:
    return path.name.startswith(".") or path.suffix == ".md"


def _window(folder: Path) -> int:
    return min(_declared_windows(folder), default=_DEFAULT_WINDOW)


def _declared_windows(folder: Path) -> Iterator[int]:
    """Return what the files that models come with say of the window.

    What `tokenizer.json` itself says is no part of it: that is how one training run cut its texts.
    """
    for name, setting in _WINDOW_SETTINGS:
        path = folder / name
        if not path.is_file():
            continue
        try:
            settings = json.loads(path.read_bytes())
        except (OSError, ValueError) as error:
            raise EmbedderUnavailable(f"{path} cannot be read: {type(error).__name__}") from error
        value = settings.get(setting) if isinstance(settings, dict) else None
        if isinstance(value, int) and 0 < value < _NO_WINDOW:
            yield value
