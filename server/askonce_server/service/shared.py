"""What the services have in common."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from askonce_server.core.guards import Token
from askonce_server.core.rules import Rule
from askonce_server.ports import Clock
from askonce_server.service.call import StoreWatch, Watch
from askonce_server.service.driver import Driver
from askonce_server.service.faults import FaultLog
from askonce_server.service.flight import Flight
from askonce_server.service.tallies import Tallies


def _never(_rule: Rule) -> bool:
    return False


@dataclass(frozen=True, slots=True, kw_only=True)
class Shared:
    """How decisions are driven, under which rules, and where they are counted."""

    driver: Driver
    guard_token: Token
    clock: Clock
    rules: Callable[[], Sequence[Rule]]
    """Returns the current rules."""
    flight: Flight
    tallies: Tallies
    faults: FaultLog
    proven: Callable[[Rule], bool] = _never
    """Whether the near hits of a rule may be credited with money."""
    watches: Sequence[Watch] = ()
    """Who is told of each decision besides."""
    store_watches: Sequence[StoreWatch] = ()
    """Who is told of each Store."""
