"""Reading a descriptor's content into parts, with everything that can be wrong with it."""

from __future__ import annotations

from dataclasses import dataclass, field

from askonce_server.core.canonical import parse
from askonce_server.core.descriptor import Content, Descriptor, Digests
from askonce_server.core.errors import MalformedRequest, NotJson, Unrepresentable, Violation
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.dialects import from_content, split


@dataclass(slots=True)
class Reading:
    """What became of a descriptor's content."""

    parts: Parts | None = None
    representable: bool = True
    """False when it is JSON without a canonical form."""
    violations: list[Violation] = field(default_factory=list)


def read(descriptor: Descriptor) -> Reading:
    """Parse and split the content. Never raises: what is wrong is in the result."""
    content = descriptor.content
    if isinstance(content, Digests):
        return Reading()
    reading = Reading()
    try:
        if isinstance(content, bytes):
            tree = _parse("descriptor.body_json", content, reading)
            if not reading.violations and reading.representable:
                reading.parts = split(descriptor.dialect, descriptor.endpoint, tree)
        else:
            reading.parts = _read_parts(content, reading)
    except MalformedRequest as malformed:
        reading.violations += malformed.violations
    return reading


def _read_parts(content: Content, reading: Reading) -> Parts | None:
    trees = [
        _parse(f"descriptor.parts.{name}", raw, reading) if raw else None
        for name, raw in (
            ("messages", content.messages),
            ("system", content.system),
            ("tools", content.tools),
            ("params", content.params),
        )
    ]
    if reading.violations or not reading.representable:
        return None
    return from_content(*trees)


def _parse(path: str, raw: bytes, reading: Reading) -> JsonValue:
    try:
        return parse(raw)
    except NotJson as error:
        text = f"is not JSON: {error.problem} at byte {error.offset}"
        reading.violations.append(Violation(path, text))
    except Unrepresentable:
        reading.representable = False
    return None
