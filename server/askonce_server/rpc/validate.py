"""What the wire format alone can show to be wrong. Every bad field is named at once, with the mend."""

from __future__ import annotations

import math
import struct
from collections.abc import Mapping
from unicodedata import category

from google.protobuf.duration_pb2 import Duration

from askonce.v1 import decision_service_pb2, descriptor_pb2
from askonce_server.core.errors import MalformedRequest, Violation

NAME_BYTES = 64
LABEL_BYTES = 256
VALUE_BYTES = 4096
MAP_ENTRIES = 64
BATCH_ITEMS = 256
TOKEN_BYTES = 1 << 20
"""A vector travels in a token, and the text where a rule stores it."""
VECTOR_BYTES = 65536
"""16,384 dimensions."""


def descriptor(message: descriptor_pb2.RequestDescriptor, violations: list[Violation]) -> None:
    """Check names, targets, routes and maps."""
    _name("descriptor.dialect", message.dialect, violations)
    _name("descriptor.endpoint", message.endpoint, violations)
    _labels(
        violations,
        ("descriptor.served.provider", message.served.provider),
        ("descriptor.served.model", message.served.model),
        ("descriptor.requested.provider", message.requested.provider),
        ("descriptor.requested.model", message.requested.model),
        ("descriptor.route_id", message.route_id),
        ("descriptor.route_version", message.route_version),
        ("descriptor.rule_branch", message.rule_branch),
    )
    if message.route_id and not message.route_version:
        text = "is required with route_id: a route whose version is unknown may have changed"
        violations.append(Violation("descriptor.route_version", text))
    for name in ("scope", "versions", "headers", "attributes"):
        entries = getattr(message, name)
        if len(entries):
            _map(f"descriptor.{name}", entries, violations)


def lookup(message: decision_service_pb2.LookupRequest, violations: list[Violation]) -> None:
    """Check what stands beside the descriptor."""
    _labels(violations, ("request_id", message.request_id))
    if message.HasField("budget"):
        _duration_from("budget", message.budget, 1, violations)
    if message.HasField("wait_for_fill"):
        _duration_from("wait_for_fill", message.wait_for_fill, 0, violations)


def _duration_from(path: str, value: Duration, least: int, violations: list[Violation]) -> None:
    """Check that a Duration is one, and of at least 0 or 1 nanosecond."""
    if duration(path, value, violations) and (value.seconds, value.nanos) < (0, least):
        violations.append(Violation(path, "must be positive" if least else "must not be negative"))


def duration(path: str, value: Duration, violations: list[Violation]) -> bool:
    """Check that a Duration is one: in range, its seconds and nanos of one sign."""
    seconds, nanos = value.seconds, value.nanos
    if abs(nanos) <= 999_999_999 and seconds * nanos >= 0 and abs(seconds) <= 315_576_000_000:
        return True
    violations.append(Violation(path, f"is not a valid Duration: seconds {seconds}, nanos {nanos}"))
    return False


def controls(message: decision_service_pb2.Controls, violations: list[Violation]) -> None:
    """Check the namespace."""
    _labels(violations, ("controls.namespace", message.namespace))


def store(message: decision_service_pb2.StoreRequest, violations: list[Violation]) -> None:
    """Check the response."""
    response = message.response
    if not message.HasField("response"):
        violations.append(Violation("response", "is required"))
    _header_value("response.content_type", response.content_type, violations)
    _labels(
        violations,
        ("response.source_request_id", response.source_request_id),
        ("response.content_type", response.content_type),
        ("response.served.provider", response.served.provider),
        ("response.served.model", response.served.model),
        ("namespace", message.namespace),
    )
    if message.namespace and message.WhichOneof("source") == "fill_token":
        violations.append(Violation("namespace", "goes with descriptor; a fill token knows its own"))
    cost = response.cost_usd
    if response.HasField("cost_usd") and not (math.isfinite(cost) and cost >= 0):
        violations.append(Violation("response.cost_usd", f"is {cost}; must be a finite amount, 0 or more"))


def fill_token(token: bytes, violations: list[Violation]) -> None:
    """Check the size of a token."""
    if not token:
        violations.append(Violation("fill_token", "must not be empty"))
    elif len(token) > TOKEN_BYTES:
        violations.append(Violation("fill_token", f"has {len(token)} bytes; at most {TOKEN_BYTES}"))


def source(text: str, violations: list[Violation]) -> None:
    """Check who judged."""
    if len(text.encode(errors="surrogatepass")) > NAME_BYTES:
        violations.append(Violation("source", f"has more than {NAME_BYTES} bytes"))


def digests(message: descriptor_pb2.Digests, violations: list[Violation]) -> None:
    """Check the sizes of digests and the names beside them."""
    path = "descriptor.digests"
    if len(message.exact_sha256) != 32:
        text = f"has {len(message.exact_sha256)} bytes; a SHA-256 has 32"
        violations.append(Violation(f"{path}.exact_sha256", text))
    if len(message.normalized_sha256) not in (0, 32):
        text = f"has {len(message.normalized_sha256)} bytes; a SHA-256 has 32, none has 0"
        violations.append(Violation(f"{path}.normalized_sha256", text))
    _name(f"{path}.canonicalization", message.canonicalization, violations)
    _name(f"{path}.canonicalization_version", message.canonicalization_version, violations)


def embedding(message: descriptor_pb2.Embedding, violations: list[Violation]) -> None:
    """Check that the vector can be one: float32, finite, not all zero."""
    _name("descriptor.embedding.embedder", message.embedder, violations)
    path = "descriptor.embedding.values"
    if not message.values or len(message.values) % 4:
        text = f"has {len(message.values)} bytes; send float32 little endian, 4 bytes a dimension"
        violations.append(Violation(path, text))
        return
    if len(message.values) > VECTOR_BYTES:
        violations.append(Violation(path, f"has {len(message.values)} bytes; at most {VECTOR_BYTES}"))
        return
    values = struct.unpack(f"<{len(message.values) // 4}f", message.values)
    if not all(map(math.isfinite, values)):
        violations.append(Violation(path, "has values that are not finite"))
    elif not any(values):
        violations.append(Violation(path, "is all zero: it points nowhere"))


def batch(size: int) -> None:
    """Check the number of items of a batch. Raises MalformedRequest."""
    if not 1 <= size <= BATCH_ITEMS:
        raise MalformedRequest([Violation("items", f"has {size} items; send 1 to {BATCH_ITEMS}")])


def _name(path: str, value: str, violations: list[Violation]) -> None:
    if not value:
        violations.append(Violation(path, "is required"))
    elif (size := _size(value)) > NAME_BYTES:
        violations.append(Violation(path, f"has {size} bytes; at most {NAME_BYTES}"))


def _labels(violations: list[Violation], *labels: tuple[str, str]) -> None:
    for path, value in labels:
        if (size := _size(value)) > LABEL_BYTES:
            violations.append(Violation(path, f"has {size} bytes; at most {LABEL_BYTES}"))


def _header_value(path: str, value: str, violations: list[Violation]) -> None:
    """Check what gateways send on as a header: a line break there would end it."""
    if not value.isprintable() and any(category(sign) == "Cc" for sign in value):
        text = "has control characters; send the media type alone, such as application/json"
        violations.append(Violation(path, text))


def _map(path: str, entries: Mapping[str, str], violations: list[Violation]) -> None:
    if len(entries) > MAP_ENTRIES:
        violations.append(Violation(path, f"has {len(entries)} entries; at most {MAP_ENTRIES}"))
        return
    for name, value in entries.items():
        if not name:
            violations.append(Violation(path, "has an entry without a name"))
        elif (size := _size(name)) > LABEL_BYTES:
            violations.append(Violation(path, f"has a name of {size} bytes; at most {LABEL_BYTES}"))
        elif (size := _size(value)) > VALUE_BYTES:
            violations.append(Violation(f"{path}[{name!r}]", f"has {size} bytes; at most {VALUE_BYTES}"))


def _size(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode())
