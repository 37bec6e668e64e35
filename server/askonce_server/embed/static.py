"""Tables of token vectors in this process: a text's vector is the mean of its tokens'."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt

from askonce_server.embed.extras import require
from askonce_server.embed.files import files_sha256, folder_files
from askonce_server.embed.tokens import TextReader, copy_of
from askonce_server.embed.vectors import fingerprint, unit
from askonce_server.ports import Embedded, EmbedderFailed, EmbedderUnavailable, OverBudget

EXTRA = "static"
PACKAGES = ("wordllama",)
"""The packages whose tables are known."""

_WORDLLAMA_WINDOW = 256
"""How many tokens its training texts had at most."""
_MODEL2VEC_WINDOW = 512
"""What model2vec reads where a model does not say."""


@dataclass(frozen=True, slots=True)
class _Table:
    mean: Callable[[str], npt.NDArray[np.floating[Any]]]
    tokenizer: Any
    dim: int
    window: int
    sha256: bytes


class StaticEmbedder:
    """Looks a text's tokens up in a table. Fast, and blind to the order of words."""

    def __init__(
        self,
        name: str,
        *,
        folder: Path | None = None,
        package: str | None = None,
        max_text: int | None = None,
    ) -> None:
        """Load the model2vec model in `folder`, or the table inside `package`. Raises EmbedderUnavailable.

        `max_text` lowers the model's window, in tokens.
        """
        self.name = name
        table = _wordllama(package) if folder is None else _model2vec(folder)
        self._mean = table.mean
        self._reader = TextReader(table.tokenizer, window=table.window, max_text=max_text, marks=False)
        self.dim = table.dim
        self.fingerprint = fingerprint("static", table.sha256, table.dim, "mean")
        self.max_tokens: int | None = self._reader.max_tokens

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`.

        Raises OverBudget, TextTooLong, TextUnreadable and EmbedderFailed.
        """
        if time.monotonic() >= deadline:
            raise OverBudget("the deadline had passed before the text was embedded")
        ids = self._reader.ids(text)
        try:
            mean = self._mean(text)
        except Exception as error:
            raise EmbedderFailed(f"the table broke: {type(error).__name__}") from error
        return Embedded(unit(mean, dim=self.dim), tokens=len(ids), cost_usd=None)

    def close(self) -> None:
        """Do nothing: the memory goes with the object."""


def _model2vec(folder: Path) -> _Table:
    if not folder.is_dir():  # model2vec would take the path for a name and ask a hub for it
        raise EmbedderUnavailable(f"path: {folder} is no folder; name that of a model2vec model")
    library = require("model2vec", extra=EXTRA)
    try:
        model = library.StaticModel.from_pretrained(folder, force_download=False)
    except Exception as error:
        raise EmbedderUnavailable(f"{folder} holds no model2vec model: {error}") from error
    lock = threading.Lock()

    def mean(text: str) -> npt.NDArray[np.floating[Any]]:
        # Its tokenizer is set anew by every call. Without max_length=None it cuts texts by characters.
        with lock:
            return np.asarray(model.encode([text], max_length=None)[0])

    return _Table(
        mean=mean,
        tokenizer=copy_of(model.tokenizer),
        dim=int(model.dim),
        window=model.max_length or _MODEL2VEC_WINDOW,
        sha256=files_sha256(_parts(folder)),
    )


def _parts(folder: Path) -> tuple[Path, ...]:
    """Return the files of a model, which in some layouts has its table in a folder below."""
    below = (path for path in folder.iterdir() if path.is_dir() and not path.name.startswith("."))
    return (*folder_files(folder), *(file for path in below for file in folder_files(path)))


def _wordllama(package: str | None) -> _Table:
    if package not in PACKAGES:
        raise EmbedderUnavailable(f"no table is known in {package!r}; known are {', '.join(PACKAGES)}")
    with _logging_untouched():
        library = require("wordllama", extra=EXTRA)
    root = Path(library.__file__ or "").parent
    try:
        # Without cache_dir it looks for its tokenizer in a folder that it does not have, then on a hub.
        model = library.WordLlama.load(cache_dir=root, disable_download=True)
    except Exception as error:
        raise EmbedderUnavailable(f"wordllama cannot be loaded: {error}") from error
    weights = root / "weights" / "l2_supercat_256.safetensors"
    tokenizer = root / "tokenizers" / "l2_supercat_tokenizer_config.json"
    return _Table(
        mean=lambda text: np.asarray(model.embed(text)[0]),
        tokenizer=copy_of(model.tokenizer),
        dim=int(model.embedding.shape[1]),
        window=_WORDLLAMA_WINDOW,
        sha256=files_sha256((weights, tokenizer)),
    )


@contextmanager
def _logging_untouched() -> Iterator[None]:
    """Undo what wordllama does to the root logger as it is imported."""
    root = logging.getLogger()
    handlers, level = list(root.handlers), root.level
    try:
        yield
    finally:
        root.handlers[:] = handlers
        root.setLevel(level)
