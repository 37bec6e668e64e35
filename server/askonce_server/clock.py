"""Time that no wall clock jump can move.

The wall clock is read once per boot of the machine. From then on time is that reading plus what
`CLOCK_BOOTTIME` counted, which also runs while the machine sleeps. Every process of one store takes the same
reading, so that none of them sees another's entries in the future.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Final, Protocol
from uuid import uuid4

_BOOT_ID_FILE: Final = Path("/proc/sys/kernel/random/boot_id")
_NS_PER_MS: Final = 1_000_000
_NS_PER_S: Final = 1_000_000_000
_JUMP_NS: Final = _NS_PER_S
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Anchor:
    """One reading of both clocks, in nanoseconds; it holds for one boot of the machine."""

    boot_id: str
    wall_ns: int
    """Since 1970."""
    boot_ns: int
    """Since the machine started."""


class Anchors(Protocol):
    """Where the anchor of a boot is kept, so that all processes share it."""

    def settle_anchor(self, proposed: Anchor) -> Anchor:
        """Return the anchor kept for the boot of `proposed`; keep `proposed` when there is none.

        The first to come wins, atomically. Raises StoreUnavailable.
        """


class TimeSource(Protocol):
    """The clocks of the machine."""

    boot_id: str
    """Changes whenever `boot_ns` starts anew."""

    def wall_ns(self) -> int:
        """Return the wall clock in nanoseconds since 1970."""

    def boot_ns(self) -> int:
        """Return nanoseconds since some start, sleep included where the system can tell."""


class SystemTime:
    """The clocks of this machine.

    Where the system has no boot id or no `CLOCK_BOOTTIME` (macOS), the boot id is unique to the process and
    `CLOCK_MONOTONIC` counts: the anchor is then the process's own.
    """

    __slots__ = ("_clock_id", "boot_id")

    def __init__(self) -> None:
        boot_clock = getattr(time, "CLOCK_BOOTTIME", None)
        try:
            boot_id = _BOOT_ID_FILE.read_text(encoding="ascii").strip()
        except OSError:
            boot_id = ""
        shared = boot_clock is not None and boot_id != ""
        self._clock_id: int = boot_clock if shared and boot_clock is not None else time.CLOCK_MONOTONIC
        self.boot_id = boot_id if shared else f"process-{uuid4()}"

    def wall_ns(self) -> int:
        """Return the wall clock in nanoseconds since 1970."""
        return time.time_ns()

    def boot_ns(self) -> int:
        """Return nanoseconds since the machine started, or since some start where it cannot be told."""
        return time.clock_gettime_ns(self._clock_id)


class BootClock:
    """The Clock of a running server.

    `anchors` is the store's; without one, in pass-through, the anchor lives in memory. A wall clock that
    leaves this clock by more than a second is logged once per jump, never followed.
    """

    __slots__ = ("_boot_ns", "_drift_ns", "_next_look_ns", "_offset_ns", "_source")

    def __init__(self, anchors: Anchors | None = None, *, source: TimeSource | None = None) -> None:
        self._source: TimeSource = SystemTime() if source is None else source
        self._boot_ns = self._source.boot_ns
        proposed = Anchor(self._source.boot_id, self._source.wall_ns(), self._boot_ns())
        anchor = proposed if anchors is None else anchors.settle_anchor(proposed)
        self._offset_ns = anchor.wall_ns - anchor.boot_ns
        self._drift_ns = 0
        self._next_look_ns = 0

    def now_ms(self) -> int:
        """Return milliseconds since 1970, advancing steadily, also while the machine sleeps."""
        boot_ns = self._boot_ns()
        if boot_ns >= self._next_look_ns:
            self._look_at_wall(boot_ns)
        return (boot_ns + self._offset_ns) // _NS_PER_MS

    def _look_at_wall(self, boot_ns: int) -> None:
        """Compare with the wall clock, once a second at most, since two clocks cost twice as much as one."""
        self._next_look_ns = boot_ns + _NS_PER_S
        drift_ns = self._source.wall_ns() - (boot_ns + self._offset_ns)
        if abs(drift_ns - self._drift_ns) > _JUMP_NS:
            _log.warning(
                "the wall clock is %+.1f s from the time entries are judged by; it is not followed until the "
                "machine restarts",
                drift_ns / _NS_PER_S,
            )
            self._drift_ns = drift_ns


class FollowingClock:
    """The Clock of a server whose store is opened anew: it goes by the clock of the store that is open."""

    __slots__ = ("_clock",)

    def __init__(self) -> None:
        self._clock = BootClock()

    def now_ms(self) -> int:
        """Return milliseconds since 1970, by the clock that is followed."""
        return self._clock.now_ms()

    def follow(self, clock: BootClock) -> None:
        """Go by `clock` from now on."""
        self._clock = clock
