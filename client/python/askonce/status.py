"""gRPC failures as errors of this client, with the details that the sidecar attached.

`google.rpc.Status` is not among the well-known types of protobuf, and the package that has it is not worth a
dependency: the few fields needed are declared here, in a descriptor pool of their own so that they never
clash with the real package when a gateway has it too.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory

from askonce.errors import (
    AskOnceError,
    BudgetExceeded,
    CallRefused,
    InvalidRequest,
    RequestTooLarge,
    SidecarFailed,
    SidecarUnreachable,
    Violation,
)
from askonce.v1 import decision_service_pb2

DETAILS_KEY = "grpc-status-details-bin"
"""The trailer that holds a serialized `google.rpc.Status`."""


class Failure(NamedTuple):
    """A call that ended without an answer, as the transport saw it."""

    code: str
    """The name of the gRPC status code; empty when the call could not even be made."""
    message: str
    details: bytes = b""
    """A serialized `google.rpc.Status`; empty when there is none."""


_ERRORS: Mapping[str, type[AskOnceError]] = {
    "": InvalidRequest,
    "UNAVAILABLE": SidecarUnreachable,
    "DEADLINE_EXCEEDED": BudgetExceeded,
    "INVALID_ARGUMENT": InvalidRequest,
    "FAILED_PRECONDITION": InvalidRequest,
    "OUT_OF_RANGE": InvalidRequest,
    "RESOURCE_EXHAUSTED": RequestTooLarge,
    "UNIMPLEMENTED": CallRefused,
    "UNAUTHENTICATED": CallRefused,
    "PERMISSION_DENIED": CallRefused,
    "NOT_FOUND": CallRefused,
}
"""Every other code is a fault of the sidecar."""

_OVER_A_LIMIT = "larger than max"
"""What gRPC says of a message over a size limit of its own, on either side; it has no other mark."""

_CODES = {
    3: "INVALID_ARGUMENT",
    4: "DEADLINE_EXCEEDED",
    5: "NOT_FOUND",
    7: "PERMISSION_DENIED",
    8: "RESOURCE_EXHAUSTED",
    9: "FAILED_PRECONDITION",
    11: "OUT_OF_RANGE",
    12: "UNIMPLEMENTED",
    13: "INTERNAL",
    14: "UNAVAILABLE",
    16: "UNAUTHENTICATED",
}


def error_from(failure: Failure) -> AskOnceError:
    """Return the error that a failed call stands for."""
    reason, metadata, violations = _read_details(failure.details)
    kind = _ERRORS.get(failure.code, SidecarFailed)
    if kind is RequestTooLarge and not (reason or _OVER_A_LIMIT in failure.message):
        kind = SidecarFailed  # the transport itself turned the call away: too many wait there
    return kind(
        failure.message or "no reason was given",
        code=failure.code,
        reason=reason,
        metadata=metadata,
        violations=violations,
    )


def error_from_item(item: decision_service_pb2.ItemError) -> AskOnceError:
    """Return the error of one item of a batch: the one that the single call would have had."""
    code = _CODES.get(item.code, "UNKNOWN")
    violations = tuple(Violation(v.field, v.description) for v in item.violations)
    kind = _ERRORS.get(code, SidecarFailed)
    return kind(item.message or "no reason was given", code=code, reason=item.reason, violations=violations)


def _read_details(details: bytes) -> tuple[str, dict[str, str], tuple[Violation, ...]]:
    """Return the reason, the metadata and the violations; empty where the details cannot be read."""
    reason, metadata, violations = "", {}, []
    try:
        for detail in _STATUS.FromString(details).details:
            name = detail.type_url.rpartition("/")[2]
            if name == "google.rpc.ErrorInfo":
                known = _ERROR_INFO.FromString(detail.value)
                reason, metadata = known.reason, dict(known.metadata)
            elif name == "google.rpc.BadRequest":
                known = _BAD_REQUEST.FromString(detail.value)
                violations += [Violation(v.field, v.description) for v in known.field_violations]
    except Exception:  # details are an extra: what cannot be read must not hide the failure itself
        return "", {}, ()
    return reason, metadata, tuple(violations)


def _declare() -> tuple[Any, Any, Any]:
    """Declare the wire format of Status, ErrorInfo and BadRequest (googleapis, google/rpc)."""
    field = descriptor_pb2.FieldDescriptorProto
    file = descriptor_pb2.FileDescriptorProto(
        name="askonce/status.proto", package="askonce.status", syntax="proto3"
    )

    def message(parent: Any, name: str, /, **fields: tuple[int, Any, str]) -> Any:
        declared = parent.add(name=name)
        for field_name, (number, kind, of) in fields.items():
            label = field.LABEL_REPEATED if of else field.LABEL_OPTIONAL
            declared.field.add(name=field_name, number=number, type=kind, label=label, type_name=of or None)
        return declared

    text, octets, nested = field.TYPE_STRING, field.TYPE_BYTES, field.TYPE_MESSAGE
    top = file.message_type
    message(top, "Detail", type_url=(1, text, ""), value=(2, octets, ""))
    message(top, "Status", details=(3, nested, ".askonce.status.Detail"))
    message(top, "FieldViolation", field=(1, text, ""), description=(2, text, ""))
    message(top, "BadRequest", field_violations=(1, nested, ".askonce.status.FieldViolation"))
    entries = ".askonce.status.ErrorInfo.MetadataEntry"
    known = message(top, "ErrorInfo", reason=(1, text, ""), metadata=(3, nested, entries))
    entry = message(known.nested_type, "MetadataEntry", key=(1, text, ""), value=(2, text, ""))
    entry.options.map_entry = True
    pool = descriptor_pool.DescriptorPool()
    pool.AddSerializedFile(file.SerializeToString())
    names = ("Status", "ErrorInfo", "BadRequest")
    status, error_info, bad_request = (
        message_factory.GetMessageClass(pool.FindMessageTypeByName(f"askonce.status.{name}"))
        for name in names
    )
    return status, error_info, bad_request


_STATUS, _ERROR_INFO, _BAD_REQUEST = _declare()
