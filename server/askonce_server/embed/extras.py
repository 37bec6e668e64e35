"""Imports what only an extra brings: the server runs without it, and says so when a setting needs it."""

from __future__ import annotations

import os
from importlib import import_module
from types import ModuleType

from askonce_server.ports import EmbedderUnavailable

_HABITS = {"OMP_NUM_THREADS": "1", "TOKENIZERS_PARALLELISM": "false", "ORT_DISABLE_TELEMETRY": "1"}
"""Read once, by libraries as they load. One text at a time gains nothing from more threads, and loses to
them where cores are shared. As soon as it is loaded, onnxruntime 1.32 keeps a device id and events in the
user's cache folder and reports them to its maker; a sidecar talks to what its configuration names alone."""


def require(module: str, *, extra: str) -> ModuleType:
    """Return `module`. Raises EmbedderUnavailable that names `extra` when it cannot be imported."""
    for name, value in _HABITS.items():
        os.environ.setdefault(name, value)
    try:
        return import_module(module)
    except ImportError as error:
        mend = f"pip install 'askonce-server[{extra}]'"
        raise EmbedderUnavailable(f"needs {module}, which cannot be imported ({error}): {mend}") from error
