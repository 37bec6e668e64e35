"""The configuration's file, read again while the server runs."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path

from askonce_server.config.load import load_text, text_of
from askonce_server.config.model import Config

_SETTLE_SECONDS = 0.25
"""How long a file must stay as it is to be read: one that is being written says half of it."""
_LIVE = frozenset({"rules"})

State = tuple[int, int, int, int] | None
"""What tells that a path leads to another text; None where it leads nowhere."""


class ConfigFile:
    """The file that the server runs by, and the text that was found there last and could be used."""

    def __init__(self, path: Path, *, text: str, config: Config, environ: Mapping[str, str]) -> None:
        """Begin with `text`, and the `config` in it, by which the server was started."""
        self.path = path
        self.running = config
        self._text = text
        self._environ = environ
        self._seen: State = None

    @property
    def text(self) -> str:
        """What was found there last and could be used."""
        return self._text

    def look(self, *, at_once: bool = False) -> Config | None:
        """Return what the file says when that is new, else None. Raises ConfigError, once for each change.

        Links are followed, so that a folder exchanged by Kubernetes (`..data`) is a change. `at_once` reads
        the file whether it seems to have changed or not.
        """
        state = _state(self.path)
        if not at_once and (state == self._seen or not self._settled(state)):
            return None
        self._seen = state
        text = text_of(self.path)
        if text == self._text:
            return None
        config = load_text(text, name=str(self.path), environ=self._environ)
        self._text = text
        return config

    def _settled(self, state: State) -> bool:
        time.sleep(_SETTLE_SECONDS)
        return _state(self.path) == state


def _state(path: Path) -> State:
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns, found.st_size


def fixed_changes(running: Config, wanted: Config) -> list[str]:
    """Return the settings in which `wanted` differs from `running` that only a start takes over."""
    return [
        name
        for name in Config.model_fields
        if name not in _LIVE and getattr(running, name) != getattr(wanted, name)
    ]
