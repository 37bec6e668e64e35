"""The twin of `history` that keeps counts in memory."""

from __future__ import annotations

from askonce_server.ports import HOUR_MS, KEPT_HOURS, Counted, Past
from askonce_server.store.history import beyond, together


class MemoryHistory:
    """Counts by the hour, as long as the process runs. Not safe to call from several threads."""

    def __init__(self) -> None:
        self._hours: dict[int, dict[str, dict[str, int]]] = {}
        self._server = b""
        self._taken: dict[str, dict[str, int]] = {}

    def add(self, server: bytes, counted: Counted, *, at_ms: int) -> None:
        """Add what is new of `server` to the hour of `at_ms`."""
        if server != self._server:
            self._server, self._taken = server, {}
        now = at_ms // HOUR_MS
        for ahead in [hour for hour in self._hours if hour > now + 1]:  # the clock was
            moved = self._hours.setdefault(now, {})
            for rule, told in self._hours.pop(ahead).items():
                moved[rule] = together(moved.get(rule, {}), told)
        for rule, counts in counted.items():
            taken = self._taken.get(rule, {})
            if new := beyond(counts, taken):
                self._taken[rule] = together(taken, new)
                hour = self._hours.setdefault(now, {})
                hour[rule] = together(hour.get(rule, {}), new)
        self._hours = {hour: kept for hour, kept in self._hours.items() if hour >= now - KEPT_HOURS}

    def since(self, since_ms: int, *, server: bytes) -> Past:
        """Return what was counted from the hour of `since_ms` on."""
        hours = sorted(hour for hour in self._hours if hour >= max(since_ms, 0) // HOUR_MS)
        counted: dict[str, dict[str, int]] = {}
        for hour in hours:
            for rule, counts in self._hours[hour].items():
                counted[rule] = together(counted.get(rule, {}), counts)
        taken = self._taken if server == self._server else {}
        return Past(counted, taken, hours[0] * HOUR_MS if hours else 0)
