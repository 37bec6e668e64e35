"""Where things live when nothing is said, as addresses and paths in text.

Imports nothing but `os`, since the health check has a few milliseconds for everything.
"""
# pathlib costs more than all the rest here
# ruff: noqa: PTH110, PTH111, PTH112, PTH118

from __future__ import annotations

import os

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

DEFAULT_TCP = "127.0.0.1:50051"
MAX_SOCKET_PATH_BYTES = 107
"""Linux keeps the path of a Unix socket in 108 bytes, the last of them zero."""


def state_folder(environ: Mapping[str, str]) -> str:
    """Return `$XDG_STATE_HOME/askonce`, else `~/.local/state/askonce`.

    A relative `XDG_STATE_HOME` is ignored, as the XDG Base Directory Specification demands. The path is
    empty for a user who has no home.
    """
    state = environ.get("XDG_STATE_HOME", "")
    if not state.startswith("/"):
        home = environ.get("HOME") or os.path.expanduser("~")
        if not home.startswith("/"):
            return ""
        state = os.path.join(home, ".local", "state")
    return os.path.join(state, "askonce")


def default_listen(environ: Mapping[str, str]) -> tuple[str, ...]:
    """Return the loopback port and a socket in the user's runtime folder, else in the state folder.

    The socket is left out where its path would be too long for one.
    """
    runtime = environ.get("XDG_RUNTIME_DIR", "")
    usable = runtime.startswith("/") and os.path.isdir(runtime)
    path = os.path.join(runtime if usable else state_folder(environ), "askonce.sock")
    if len(os.fsencode(path)) > MAX_SOCKET_PATH_BYTES or not path.startswith("/"):
        return (DEFAULT_TCP,)
    return DEFAULT_TCP, f"unix://{path}"


def default_target(environ: Mapping[str, str]) -> str:
    """Return where a client finds the server: `$ASKONCE_TARGET`, else the default socket if it is there."""
    named = environ.get("ASKONCE_TARGET")
    if named:
        return named
    for address in default_listen(environ):
        path = address.removeprefix("unix://")
        if path != address and os.path.exists(path):
            return address
    return DEFAULT_TCP
