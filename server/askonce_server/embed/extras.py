"""Imports what only an extra brings: the server runs without it, and says so when a setting needs it."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from askonce_server.ports import EmbedderUnavailable

_ONE_THREAD = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false"}
"""Read once, by libraries as they load. One text at a time gains nothing from more threads, and loses to them
where cores are shared."""


def require(module: str, *, extra: str) -> ModuleType:
    """Return `module`. Raises EmbedderUnavailable that names `extra` when it cannot be imported."""
    for name, value in _ONE_THREAD.items():
        os.environ.setdefault(name, value)
    try:
        return import_module(module)
    except ImportError as error:
        mend = f"pip install 'askonce-server[{extra}]'"
        raise EmbedderUnavailable(f"needs {module}, which cannot be imported ({error}): {mend}") from error
