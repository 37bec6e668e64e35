"""The `askonce` console script: one module a command.

Nothing is imported here, so that `askonce healthcheck` stays within its 50 ms of CPU.
"""

from __future__ import annotations

import sys


def main() -> int:
    """Run the command line and return its exit code: 0 done, 1 failed, 2 misused."""
    arguments = sys.argv[1:]
    if arguments[:1] == ["healthcheck"]:
        from askonce_server import healthcheck  # noqa: PLC0415 - each command pays for itself alone

        return healthcheck.main(arguments[1:])
    from askonce_server.cli.root import run  # noqa: PLC0415 - as above

    return run(arguments)
