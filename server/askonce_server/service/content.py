"""Reading a descriptor's content into parts, with everything that can be wrong with it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askonce_server.core.canonical import parse
from askonce_server.core.descriptor import Content, Descriptor
from askonce_server.core.errors import MalformedRequest, NotJson, Unrepresentable, Violation
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.dialects import from_content, split


@dataclass(slots=True)
class Reading:
    """What became of a descriptor's content."""

    parts: Parts | None = None
    representable: bool = True
    """False when it is JSON without a canonical form."""
    violations: Sequence[Violation] = ()


def read(descriptor: Descriptor) -> Reading:
    """Parse and split the content. Never raises: what is wrong is in the result."""
    content = descriptor.content
    try:
        if isinstance(content, bytes):
            return Reading(split(descriptor.dialect, descriptor.endpoint, parse(content)))
        if isinstance(content, Content):
            return _read_parts(content)
    except NotJson as error:
        return Reading(violations=[_not_json("descriptor.body_json", error)])
    except Unrepresentable:
        return Reading(representable=False)
    except MalformedRequest as malformed:
        return Reading(violations=malformed.violations)
    return Reading()


def _read_parts(content: Content) -> Reading:
    """Read each part, so that everything that is wrong with them is named at once."""
    trees: list[JsonValue] = []
    representable, violations = True, []
    for name in ("messages", "system", "tools", "params"):
        raw = getattr(content, name)
        try:
            trees.append(parse(raw) if raw else None)
        except NotJson as error:
            violations.append(_not_json(f"descriptor.parts.{name}", error))
        except Unrepresentable:
            representable = False
    if violations or not representable:
        return Reading(None, representable, violations)
    return Reading(from_content(*trees))


def _not_json(path: str, error: NotJson) -> Violation:
    return Violation(path, f"is not JSON: {error.problem} at byte {error.offset}")
