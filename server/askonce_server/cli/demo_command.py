"""`askonce demo`."""

from __future__ import annotations


def demo() -> int:
    """Start a sidecar on its embedded default, play real requests through it twice, print each decision.

    Nothing is left behind: the store lies in a temporary folder, the socket too.

    Example: `askonce demo`
    """
    from askonce_server.cli import demo as command  # noqa: PLC0415 - the client is heavy

    return command.run()
