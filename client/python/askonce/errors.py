"""What can go wrong between a gateway and its sidecar.

Without `strict` these are never raised: they stand in the `error` of a result that reads as "no cache".
"""

from __future__ import annotations

import traceback
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import PurePath
from typing import ClassVar, Self


@dataclass(frozen=True, slots=True)
class Violation:
    """One bad field: its path as in the contract, and what is wrong and how to mend it."""

    field: str
    description: str


class AskOnceError(Exception):
    """A call that brought no usable answer."""

    local_reason: ClassVar[str] = "SIDECAR_FAILED"
    """The member of `BypassReason` and `RefusalReason` that a result with this error carries."""

    def __init__(
        self,
        message: str,
        *,
        code: str = "",
        reason: str = "",
        metadata: Mapping[str, str] | None = None,
        violations: Sequence[Violation] = (),
    ) -> None:
        """Keep what is known of the failure.

        Args:
            message: What happened, for people.
            code: The name of the gRPC status code; empty when the sidecar was not asked.
            reason: The stable upper-case reason of the sidecar's `ErrorInfo`; empty when it gave none.
            metadata: What that `ErrorInfo` says besides.
            violations: Every bad field.
        """
        super().__init__(message)
        self.message = message
        self.code = code
        self.reason = reason
        self.metadata = dict(metadata or {})
        self.violations = tuple(violations)

    def __str__(self) -> str:
        unsaid = [v for v in self.violations if v.description not in self.message]
        fields = "; ".join(f"{v.field}: {v.description}" for v in unsaid)
        text = f"{self.code}: {self.message}" if self.code else self.message
        return f"{text} ({fields})" if fields else text


class SidecarUnreachable(AskOnceError):
    """Nobody listens at the target, the connection broke, or the sidecar is going down."""

    local_reason = "SIDECAR_UNREACHABLE"


class BudgetExceeded(AskOnceError):
    """The sidecar did not answer in time."""

    local_reason = "SIDECAR_TIMEOUT"


class SidecarFailed(AskOnceError):
    """The sidecar answered with a fault, or with what is not an answer."""


class CircuitOpen(AskOnceError):
    """The sidecar failed too often just now, so it was not asked."""

    local_reason = "CIRCUIT_OPEN"


class CallRefused(AskOnceError):
    """The sidecar refused the call itself: not allowed, or an RPC that it does not have."""

    local_reason = "REQUEST_REFUSED"


class InvalidRequest(CallRefused):
    """The request breaks the contract; `violations` names every bad field."""


class RequestTooLarge(CallRefused):
    """The request, or the answer, is larger than a limit."""


class ClientClosed(AskOnceError):
    """The client was closed."""

    local_reason = "CLIENT_CLOSED"


class ClientForked(ClientClosed):
    """The client was used before the process forked; gRPC connections do not survive that.

    Make the client after the fork, or do not use it before: an unused client may cross a fork.
    """


class ClientFault(AskOnceError):
    """This client has a bug, or was given something it never expected; `__cause__` is the exception."""

    local_reason = "CLIENT_FAULT"

    @classmethod
    def of(cls, bug: Exception) -> Self:
        """Return the fault that `bug` is; names its place, not its text, which may quote a request."""
        frame = traceback.extract_tb(bug.__traceback__)[-1]
        place = f"{PurePath(frame.filename).name}:{frame.lineno}"
        fault = cls(f"{type(bug).__name__} at {place}", reason=f"{type(bug).__name__}@{place}")
        fault.__cause__ = bug
        return fault


def let_go_of_frames(error: AskOnceError) -> None:
    """Drop the frames behind `error`, which hold the request: a result that carries it outlives the call."""
    for one in (error, error.__cause__):
        if one is not None:
            one.__traceback__ = one.__context__ = None


TRANSPORT_FAILURES = (SidecarUnreachable, BudgetExceeded, SidecarFailed)
"""The errors that say that the sidecar is not well. They open the circuit breaker."""
