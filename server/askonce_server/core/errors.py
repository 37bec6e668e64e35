"""What can be wrong with a request, in the core's own words."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Violation:
    """One bad field: its path as in the contract, and what is wrong and how to mend it."""

    field: str
    description: str


class MalformedRequest(Exception):
    """The request breaks the contract; every bad field is named at once."""

    def __init__(self, violations: list[Violation]) -> None:
        """Keep `violations`, at least one."""
        super().__init__("; ".join(f"{v.field}: {v.description}" for v in violations))
        self.violations = violations


class NotJson(Exception):
    """The bytes are not a JSON document."""

    def __init__(self, offset: int, problem: str) -> None:
        """Keep the byte `offset` of the problem, counted from 0."""
        super().__init__(f"not JSON at byte {offset}: {problem}")
        self.offset = offset
        self.problem = problem


class TooDense(Exception):
    """The documents of one message would make too much work together."""


class Unrepresentable(Exception):
    """The document is JSON but has no single canonical form (RFC 8785, RFC 7493)."""
