"""The trace that a caller is in goes along with its calls, where the program uses OpenTelemetry.

Its API is no dependency: a program that has not imported it is in no trace.
"""

from __future__ import annotations

import sys

from askonce.request import Metadata


def along(said: Metadata) -> Metadata:
    """Return the metadata `said`, with what OpenTelemetry's propagators add for the current context.

    What the caller says itself stays as it is. Never raises.
    """
    if "opentelemetry.trace" not in sys.modules:
        return said
    carrier: dict[str, str] = {}
    try:
        from opentelemetry import propagate  # noqa: PLC0415 - imported only where the program has done so

        propagate.inject(carrier)
    except Exception:  # a call without its trace is still a call
        return said
    names = {name for name, _ in said}
    more = [(name.lower(), value) for name, value in carrier.items()]
    return [*said, *((name, value) for name, value in more if name not in names)]
