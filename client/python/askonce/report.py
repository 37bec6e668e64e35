"""What a client writes to the log besides its breaker: each kind of mistake once, never a request's text."""

from __future__ import annotations

import logging

from askonce.errors import TRANSPORT_FAILURES, AskOnceError, CircuitOpen

logger = logging.getLogger("askonce")

_MOST_KINDS = 64
_LOGGED_CHARACTERS = 200


class Reporter:
    """Logs mistakes, which do not mend themselves; an ailing sidecar is the breaker's to log. Thread-safe."""

    def __init__(self) -> None:
        """Start having said nothing."""
        self._said: dict[tuple[str, ...], object] = {}

    def report(self, error: AskOnceError) -> None:
        """Log `error` unless one of its kind was logged before.

        Says the fields' names, not what is wrong with them: a message may quote what was sent.
        """
        if isinstance(error, (*TRANSPORT_FAILURES, CircuitOpen)) or len(self._said) >= _MOST_KINDS:
            return
        fields = ", ".join(violation.field for violation in error.violations)[:_LOGGED_CHARACTERS]
        name = type(error).__name__
        mark = object()
        if self._said.setdefault((name, error.code, error.reason, fields), mark) is not mark:
            return
        facts = " ".join(fact for fact in (error.code, error.reason, fields) if fact)
        logger.warning(
            "the cache is bypassed: %s %s (said once; the result's error has the details)", name, facts
        )

    def report_refresh(self, error: Exception) -> None:
        """Log that a stale answer could not be asked for anew, unless one of that kind was logged before."""
        name = type(error).__name__
        mark = object()
        if len(self._said) < _MOST_KINDS and self._said.setdefault(("refresh", name), mark) is mark:
            logger.warning("a stale answer was served and not refreshed: %s (said once)", name)
