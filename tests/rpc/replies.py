"""Short ways to read what came back."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import grpc
from google.rpc import error_details_pb2, status_pb2

from askonce.v1 import (
    decision_pb2,
    decision_service_pb2,
    reason_pb2,
)


def outcome(decision: decision_pb2.Decision) -> str:
    """`hit`, `miss` or `bypass`."""
    return decision_pb2.Outcome.Name(decision.outcome).removeprefix("OUTCOME_").lower()


def verdict(decision: decision_pb2.Decision) -> str:
    """What was decided and why, in one word or two: `hit exact`, `miss`, `miss expired`, `bypass no_rule`."""
    said = outcome(decision)
    if said == "hit":
        return f"hit {decision_pb2.MatchKind.Name(decision.kind).removeprefix('MATCH_KIND_').lower()}"
    if said == "bypass":
        name = reason_pb2.BypassReason.Name(decision.bypass_reason).removeprefix("BYPASS_REASON_")
        return f"bypass {name.lower()}"
    if decision.deny_reason:
        name = reason_pb2.DenyReason.Name(decision.deny_reason).removeprefix("DENY_REASON_")
        return f"miss {name.lower()}"
    return said


def filed(response: decision_service_pb2.StoreResponse) -> str:
    """`stored`, or the reason of the refusal."""
    if response.outcome == decision_service_pb2.STORE_OUTCOME_STORED:
        assert response.refusal_reason == 0
        return "stored"
    assert response.outcome == decision_service_pb2.STORE_OUTCOME_REFUSED
    assert not response.entries
    assert not response.HasField("expire_time")
    return reason_pb2.RefusalReason.Name(response.refusal_reason).removeprefix("REFUSAL_REASON_").lower()


class Refusal:
    """An error of a call with everything that it carries."""

    def __init__(self, error: grpc.RpcError) -> None:
        self.code: grpc.StatusCode = error.code()
        self.message: str = error.details() or ""
        self.info = error_details_pb2.ErrorInfo()
        self.violations: dict[str, str] = {}
        self.repeated: list[str] = []
        trailers = dict(error.trailing_metadata() or ())
        self.details = trailers.get("grpc-status-details-bin")
        if self.details is not None:
            self._read(status_pb2.Status.FromString(self.details))

    def _read(self, status: status_pb2.Status) -> None:
        assert status.code == self.code.value[0]
        assert status.message == self.message
        for detail in status.details:
            bad = error_details_pb2.BadRequest()
            if detail.Unpack(self.info):
                continue
            assert detail.Unpack(bad)
            for violation in bad.field_violations:
                if violation.field in self.violations:
                    self.repeated.append(violation.field)
                self.violations[violation.field] = violation.description

    @property
    def fields(self) -> set[str]:
        return set(self.violations)


def refused(call: Callable[[], Any]) -> Refusal:
    """The error that `call` ends with."""
    try:
        given = call()
    except grpc.RpcError as error:
        return Refusal(error)
    raise AssertionError(f"was not refused: {given}")


def malformed(call: Callable[[], Any]) -> dict[str, str]:
    """The fields that `call` is told are wrong, each with what is wrong."""
    refusal = refused(call)
    assert refusal.code is grpc.StatusCode.INVALID_ARGUMENT, refusal.message
    assert refusal.info.reason == "MALFORMED_REQUEST"
    assert refusal.info.domain == "askonce"
    assert not refusal.repeated
    assert all(refusal.violations.values())
    return refusal.violations
