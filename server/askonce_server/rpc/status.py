"""The only file that knows gRPC status codes: errors become a status with reason and details."""

from __future__ import annotations

from typing import NoReturn

import grpc
from askonce.v1 import decision_service_pb2
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from askonce_server.core.errors import MalformedRequest

DOMAIN = "askonce"
_DETAILS_KEY = "grpc-status-details-bin"


class TooLarge(Exception):
    """Something is larger than a limit of the server."""

    def __init__(self, what: str, *, size: int, limit: int, setting: str) -> None:
        """Keep sizes in bytes, and the name of the `setting` that holds the limit."""
        super().__init__(f"{what} has {size} bytes; {setting} allows {limit}")
        self.size = size
        self.limit = limit
        self.setting = setting


class NotYet(Exception):
    """The RPC is part of the contract but not of this version."""


class Draining(Exception):
    """The server is shutting down and takes no new calls."""


def abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """End the call with the status that `error` stands for."""
    status = to_status(error)
    context.set_trailing_metadata(((_DETAILS_KEY, status.SerializeToString()),))
    context.abort(_CODES[status.code], status.message)
    raise AssertionError("abort returns never")


def to_status(error: Exception) -> status_pb2.Status:
    """Return the `google.rpc.Status` of one of our errors; anything else is INTERNAL, without its text."""
    if isinstance(error, MalformedRequest):
        bad = error_details_pb2.BadRequest(
            field_violations=[
                error_details_pb2.BadRequest.FieldViolation(field=v.field, description=v.description)
                for v in error.violations
            ]
        )
        return _status(grpc.StatusCode.INVALID_ARGUMENT, str(error), "MALFORMED_REQUEST", {}, bad)
    if isinstance(error, TooLarge):
        sizes = {"size": str(error.size), "limit": str(error.limit), "setting": error.setting}
        return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error), "TOO_LARGE", sizes)
    if isinstance(error, NotYet):
        return _status(grpc.StatusCode.UNIMPLEMENTED, str(error), "NOT_YET_IMPLEMENTED", {})
    if isinstance(error, Draining):
        text = "the server is draining; call the provider, or another instance"
        return _status(grpc.StatusCode.UNAVAILABLE, text, "DRAINING", {})
    return _status(grpc.StatusCode.INTERNAL, "something failed inside; see the log", "INTERNAL", {})


def item_error(error: Exception) -> decision_service_pb2.ItemError:
    """Return the same for one item of a batch."""
    status = to_status(error)
    found = decision_service_pb2.ItemError(code=status.code, message=status.message)
    for detail in status.details:
        info, bad = error_details_pb2.ErrorInfo(), error_details_pb2.BadRequest()
        if detail.Unpack(info):
            found.reason = info.reason
        elif detail.Unpack(bad):
            for violation in bad.field_violations:
                found.violations.add(field=violation.field, description=violation.description)
    return found


def _status(
    code: grpc.StatusCode,
    message: str,
    reason: str,
    metadata: dict[str, str],
    *more: error_details_pb2.BadRequest,
) -> status_pb2.Status:
    info = error_details_pb2.ErrorInfo(reason=reason, domain=DOMAIN, metadata=metadata)
    status = status_pb2.Status(code=code.value[0], message=message)
    for detail in (info, *more):
        packed = any_pb2.Any()
        packed.Pack(detail)
        status.details.append(packed)
    return status


_CODES = {code.value[0]: code for code in grpc.StatusCode}
