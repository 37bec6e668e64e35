"""How a command ends early: with one line for the user."""

from __future__ import annotations


class Failed(Exception):
    """The command cannot go on; the message is one line that says why and how to mend it."""

    def __init__(self, message: str, *, exit_code: int = 1) -> None:
        """Keep `message`. The exit code is 1 where something failed and 2 where the command was misused."""
        super().__init__(message)
        self.exit_code = exit_code


def misused(message: str) -> Failed:
    """Return the failure of a command line that makes no sense."""
    return Failed(message, exit_code=2)
