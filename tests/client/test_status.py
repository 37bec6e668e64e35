"""Error details of the sidecar, as the real google.rpc messages carry them."""

from __future__ import annotations

import grpc
import pytest
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

import askonce
from askonce.status import Failure, error_from
from client.scripted import CHAT


def packed(*details) -> bytes:
    status = status_pb2.Status(code=3, message="malformed")
    for detail in details:
        known = any_pb2.Any()
        known.Pack(detail)
        status.details.append(known)
    return status.SerializeToString()


BAD_REQUEST = error_details_pb2.BadRequest(
    field_violations=[
        {"field": "descriptor.served.model", "description": "must not be empty"},
        {"field": "descriptor.dialect", "description": "1 to 64 bytes"},
    ]
)
ERROR_INFO = error_details_pb2.ErrorInfo(
    reason="MALFORMED_REQUEST", domain="askonce.dev", metadata={"limit": "64", "size": "99"}
)


def test_all_violations_and_the_reason_reach_the_caller(client, script):
    details = packed(error_details_pb2.RetryInfo(), BAD_REQUEST, ERROR_INFO)
    script.fail("Lookup", grpc.StatusCode.INVALID_ARGUMENT, "malformed", details)
    error = client.lookup(CHAT).error
    assert isinstance(error, askonce.InvalidRequest)
    assert error.violations == (
        askonce.Violation("descriptor.served.model", "must not be empty"),
        askonce.Violation("descriptor.dialect", "1 to 64 bytes"),
    )
    assert (error.reason, error.metadata) == ("MALFORMED_REQUEST", {"limit": "64", "size": "99"})
    assert str(error) == (
        "INVALID_ARGUMENT: malformed (descriptor.served.model: must not be empty; "
        "descriptor.dialect: 1 to 64 bytes)"
    )


def test_a_violation_that_the_message_names_is_not_printed_twice():
    violations = [askonce.Violation("a", "is missing"), askonce.Violation("b", "is odd")]
    error = askonce.InvalidRequest("a: is missing", code="INVALID_ARGUMENT", violations=violations)
    assert str(error) == "INVALID_ARGUMENT: a: is missing (b: is odd)"


def test_a_limit_that_was_exceeded_is_named(client, script):
    details = packed(error_details_pb2.ErrorInfo(reason="REQUEST_TOO_LARGE", metadata={"limit": "8388608"}))
    script.fail("Store", grpc.StatusCode.RESOURCE_EXHAUSTED, "too large", details)
    error = client.store(b"t", askonce.UpstreamResponse(body=b"{}", status_code=200)).error
    assert isinstance(error, askonce.RequestTooLarge)
    assert (error.reason, error.metadata) == ("REQUEST_TOO_LARGE", {"limit": "8388608"})


@pytest.mark.parametrize("size", range(0, 60, 3))
def test_details_that_are_damaged_hide_nothing(size):
    whole = packed(BAD_REQUEST, ERROR_INFO)
    error = error_from(Failure("INVALID_ARGUMENT", "malformed", whole[:size] + b"\xff" * 4))
    assert isinstance(error, askonce.InvalidRequest)
    assert error.message == "malformed"
    assert error.violations == ()


def test_details_of_an_unknown_type_are_passed_over():
    status = status_pb2.Status(details=[any_pb2.Any(type_url="x/y.Z", value=b"\xff")])
    error = error_from(Failure("INTERNAL", "", status.SerializeToString()))
    assert isinstance(error, askonce.SidecarFailed)
    assert (error.message, error.reason, error.violations) == ("no reason was given", "", ())
