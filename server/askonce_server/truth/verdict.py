"""What a comparison of two answers says."""

from __future__ import annotations

from enum import IntEnum


class Verdict(IntEnum):
    """Whether two answers say the same. What is in doubt is unknown, and teaches nothing."""

    SAME = 1
    DIFFERENT = 2
    UNKNOWN = 3

    @property
    def right(self) -> bool | None:
        """As a label: whether the stored answer would have been right; None: no label."""
        return None if self is Verdict.UNKNOWN else self is Verdict.SAME
