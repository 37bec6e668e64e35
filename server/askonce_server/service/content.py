"""Reading a descriptor's content into parts, with everything that can be wrong with it."""

from __future__ import annotations

from askonce_server.core.canonical import parse
from askonce_server.core.descriptor import Content, Descriptor
from askonce_server.core.errors import MalformedRequest, NotJson, Unrepresentable, Violation
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.dialects import from_content, split


def read(descriptor: Descriptor) -> Parts | None:
    """Parse and split the content. None for digests.

    Raises MalformedRequest naming all that is wrong, Unrepresentable for JSON without a canonical form.
    """
    content = descriptor.content
    if isinstance(content, bytes):
        try:
            tree = parse(content)
        except NotJson as error:
            raise MalformedRequest([_not_json("descriptor.body_json", error)]) from None
        return split(descriptor.dialect, descriptor.endpoint, tree)
    return _read_parts(content) if isinstance(content, Content) else None


def _read_parts(content: Content) -> Parts:
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
    if violations:
        raise MalformedRequest(violations)
    if not representable:
        raise Unrepresentable
    return from_content(*trees)


def _not_json(path: str, error: NotJson) -> Violation:
    return Violation(path, f"is not JSON: {error.problem} at byte {error.offset}")
