"""The only file that turns errors into gRPC status codes, each with its reason and details."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NoReturn

import grpc
from google.protobuf import any_pb2
from google.rpc import error_details_pb2, status_pb2

from askonce.v1 import decision_service_pb2
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.ports import StoreUnavailable

DOMAIN = "askonce"
_DETAILS_KEY = "grpc-status-details-bin"
_MESSAGE_BYTES = 1200
_DETAILS_BYTES = 3000
_TEXT_BYTES = 300
_FRAMING_BYTES = 8
"""What a field violation takes besides its two texts, at most."""


class TooLarge(Exception):
    """Something is larger than a limit of the server."""

    def __init__(self, what: str, *, size: int, limit: int, setting: str) -> None:
        """Keep sizes in bytes, and the name of the `setting` that holds the limit."""
        super().__init__(f"{what} has {size} bytes; {setting} allows {limit}")
        self.size = size
        self.limit = limit
        self.setting = setting


class Draining(Exception):
    """The server is shutting down and takes no new calls."""

    def __init__(self) -> None:
        """Say what to do instead."""
        super().__init__("the server is draining; call the provider, or another instance")


class Unauthenticated(Exception):
    """The caller did not show what it must show."""


class NotFound(Exception):
    """What the caller names is not there."""


def is_told(error: Exception) -> bool:
    """Whether the caller is told what is wrong. Anything else is a fault inside, to be logged."""
    return isinstance(
        error, MalformedRequest | TooLarge | NotFound | Draining | Unauthenticated | StoreUnavailable
    )


def abort(context: grpc.ServicerContext, error: Exception) -> NoReturn:
    """End the call with the status that `error` stands for."""
    status = to_status(error)
    context.set_trailing_metadata(((_DETAILS_KEY, status.SerializeToString()),))
    context.abort(_CODES[status.code], status.message)
    raise AssertionError("abort returns never")


def to_status(error: Exception) -> status_pb2.Status:
    """Return the `google.rpc.Status` of one of our errors; anything else is INTERNAL, without its text."""
    if isinstance(error, MalformedRequest):
        return _malformed(error.violations)
    if isinstance(error, TooLarge):
        sizes = {"size": str(error.size), "limit": str(error.limit), "setting": error.setting}
        return _status(grpc.StatusCode.RESOURCE_EXHAUSTED, str(error), "TOO_LARGE", sizes)
    if isinstance(error, NotFound):
        return _status(grpc.StatusCode.NOT_FOUND, str(error), "NOT_FOUND", {})
    if isinstance(error, StoreUnavailable):
        return _status(grpc.StatusCode.UNAVAILABLE, str(error), "STORE_FAILED", {})
    if isinstance(error, Draining):
        return _status(grpc.StatusCode.UNAVAILABLE, str(error), "DRAINING", {})
    if isinstance(error, Unauthenticated):
        return _status(grpc.StatusCode.UNAUTHENTICATED, str(error), "UNAUTHENTICATED", {})
    return _status(grpc.StatusCode.INTERNAL, "something failed inside; see the log", "INTERNAL", {})


def name_of(context: grpc.ServicerContext) -> str:
    """Return the name of the status that a call, which was answered or aborted, ends with."""
    code = context.code()  # type: ignore[attr-defined]  # None where nothing was said, which is OK
    if code is None and not context.is_active():
        left = context.time_remaining()
        code = grpc.StatusCode.CANCELLED if left is None or left > 0 else grpc.StatusCode.DEADLINE_EXCEEDED
    return "OK" if code is None else str(code.name)


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


def _malformed(violations: Sequence[Violation]) -> status_pb2.Status:
    """Return the status that names every violation, as far as an answer's metadata has room.

    A client refuses more than 8 KiB of metadata, and then sees neither code nor reason.
    """
    bad = error_details_pb2.BadRequest()
    room = _DETAILS_BYTES
    for violation in violations:
        field, text = cut(violation.field, _TEXT_BYTES), cut(violation.description, _TEXT_BYTES)
        room -= len(field.encode()) + len(text.encode()) + _FRAMING_BYTES
        if room < 0:
            break
        bad.field_violations.add(field=field, description=text)
    left_out = len(violations) - len(bad.field_violations)
    if left_out:
        bad.field_violations.add(field="request", description=f"has {left_out} more mistakes")
    whole = "; ".join(f"{v.field}: {v.description}" for v in bad.field_violations)
    if cost(whole) > _MESSAGE_BYTES:  # then the names alone; what is wrong is in the details
        whole = "malformed: " + ", ".join(v.field for v in bad.field_violations)
    message = cut(whole, _MESSAGE_BYTES)
    return _status(grpc.StatusCode.INVALID_ARGUMENT, message, "MALFORMED_REQUEST", {}, bad)


def cost(text: str) -> int:
    """Return how many bytes `text` takes as a gRPC status message, which is percent-encoded."""
    return sum(1 if 0x20 <= byte <= 0x7E and byte != 0x25 else 3 for byte in text.encode())


def cut(text: str, limit: int) -> str:
    """Return as much of `text` as costs no more than `limit` bytes, with an ellipsis for what is left out."""
    if len(text) <= limit and cost(text) <= limit:
        return text
    room = limit - cost("…")
    for at, character in enumerate(text):
        room -= cost(character)
        if room < 0:
            return text[:at] + "…"
    return text


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
