"""The configuration that a command line names."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from askonce_server.cli.failure import Failed
from askonce_server.config.load import ConfigError, load
from askonce_server.config.model import Config


def configuration(file: Path | None, environ: Mapping[str, str]) -> Config:
    """Return what `file` says, as `environ` overrides it; without one the embedded default. Raises Failed."""
    try:
        return load(file, environ)
    except ConfigError as error:
        raise Failed(str(error)) from None
