"""A model that runs in this process, on onnxruntime."""

from __future__ import annotations

import time
from pathlib import Path
from typing import Any, Literal

import numpy as np
import numpy.typing as npt

from askonce_server.embed import minilm
from askonce_server.embed.extras import require
from askonce_server.embed.files import ModelFiles, files_sha256, onnx_folder
from askonce_server.embed.tokens import TextReader
from askonce_server.embed.vectors import fingerprint, unit
from askonce_server.ports import Embedded, EmbedderFailed, EmbedderUnavailable, OverBudget

Pooling = Literal["mean", "cls", "none"]
"""How a text's vector is made: the mean of its tokens' vectors, the first token's, or by the model itself."""

_RANK = {"mean": 3, "cls": 3, "none": 2}
"""How many axes the model's output has under each pooling: text, token, dimension."""

_KNOWN_INPUTS = frozenset({"input_ids", "attention_mask", "token_type_ids"})
_WORD = "word"


class OnnxEmbedder:
    """Runs `model.onnx` on the tokens of one text at a time.

    One text a run, since kernels that quantize as they go give a text other vectors in other company.
    """

    def __init__(
        self, name: str, *, folder: Path | None = None, pooling: Pooling = "mean", max_text: int | None = None
    ) -> None:
        """Load the model in `folder`, or the packaged one, and try it. Raises EmbedderUnavailable.

        `max_text` lowers the model's window, in tokens.
        """
        self.name = name
        files = minilm.packaged() if folder is None else onnx_folder(folder)
        self._pooling = pooling
        self._reader = _reader(files, max_text)
        self._session = _session(files.model)
        self._inputs = _inputs(self._session, files.model)
        self._output = _output(self._session, pooling, files.model)
        try:
            self.dim = int(self._pooled(self._reader.ids(_WORD)).shape[0])
        except EmbedderFailed as failed:
            raise EmbedderUnavailable(f"{files.model} cannot be run: {failed}") from failed
        self.fingerprint = fingerprint("onnx", files_sha256(files.parts), self.dim, pooling)
        self.max_tokens: int | None = self._reader.max_tokens

    def embed(self, text: str, *, deadline: float) -> Embedded:
        """Return the vector of `text`. A run that began is not broken off at the `deadline`.

        Raises OverBudget, TextTooLong, TextUnreadable and EmbedderFailed.
        """
        if time.monotonic() >= deadline:
            raise OverBudget("the deadline had passed before the text was embedded")
        ids = self._reader.ids(text)
        return Embedded(unit(self._pooled(ids), dim=self.dim), tokens=len(ids), cost_usd=None)

    def close(self) -> None:
        """Do nothing: the memory goes with the object."""

    def _pooled(self, ids: list[int]) -> npt.NDArray[np.float64]:
        tokens = np.array([ids])
        fed = {"input_ids": tokens, "attention_mask": np.ones_like(tokens)}
        feeds = {
            name: fed.get(name, np.zeros_like(tokens)).astype(kind, copy=False)
            for name, kind in self._inputs.items()
        }
        try:
            hidden = np.asarray(self._session.run([self._output], feeds)[0], dtype=np.float64)[0]
        except Exception as error:
            raise EmbedderFailed(f"onnxruntime broke off: {type(error).__name__}") from error
        if self._pooling == "mean":
            return np.asarray(hidden.mean(axis=0))
        return np.asarray(hidden[0] if self._pooling == "cls" else hidden)


def _reader(files: ModelFiles, max_text: int | None) -> TextReader:
    tokenizers = require("tokenizers", extra=minilm.EXTRA)
    try:
        tokenizer = tokenizers.Tokenizer.from_file(str(files.tokenizer))
    except Exception as error:
        raise EmbedderUnavailable(f"{files.tokenizer} cannot be loaded: {error}") from error
    return TextReader(tokenizer, window=files.window, max_text=max_text, marks=True)


def _session(model: Path) -> Any:
    """Load the model for one thread, and without an arena: it would keep the room of the longest text."""
    runtime = require("onnxruntime", extra=minilm.EXTRA)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = 1
    options.inter_op_num_threads = 1
    options.execution_mode = runtime.ExecutionMode.ORT_SEQUENTIAL
    options.graph_optimization_level = runtime.GraphOptimizationLevel.ORT_ENABLE_ALL
    options.enable_cpu_mem_arena = False
    options.enable_mem_pattern = False
    options.log_severity_level = 3
    try:
        return runtime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    except Exception as error:
        raise EmbedderUnavailable(f"{model} cannot be loaded: {error}") from error


def _inputs(session: Any, model: Path) -> dict[str, type[np.signedinteger[Any]]]:
    """Return what the model takes: names and the type of numbers."""
    taken = {one.name: np.int32 if one.type == "tensor(int32)" else np.int64 for one in session.get_inputs()}
    strange = sorted(taken.keys() - _KNOWN_INPUTS)
    if strange or "input_ids" not in taken:
        names = ", ".join(sorted(taken))
        raise EmbedderUnavailable(f"{model} takes {names}; known are {', '.join(sorted(_KNOWN_INPUTS))}")
    return taken


def _output(session: Any, pooling: Pooling, model: Path) -> str:
    """Return the name of the first output that has as many axes as `pooling` needs."""
    outputs = session.get_outputs()
    for one in outputs:
        if len(one.shape) == _RANK[pooling]:
            name: str = one.name
            return name
    shapes = ", ".join(f"{one.name}{one.shape}" for one in outputs)
    raise EmbedderUnavailable(f"{model} gives {shapes}; pooling {pooling} needs {_RANK[pooling]} axes")
