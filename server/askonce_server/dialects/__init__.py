"""What the APIs of providers look like: where a request keeps its parts, and how an answer ends."""

from __future__ import annotations

from collections.abc import Mapping

from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.dialects import anthropic, openai
from askonce_server.dialects.answers import inspect
from askonce_server.dialects.layout import BODY, Layout, kind, without_nulls, wrong_stream

__all__ = ["from_content", "inspect", "split"]

_PARAMS = "descriptor.parts.params"

_LAYOUTS: Mapping[tuple[str, str], Layout] = {
    (dialect, endpoint): layout
    for dialect, layouts in (("openai", openai.LAYOUTS), ("anthropic", anthropic.LAYOUTS))
    for endpoint, layout in layouts.items()
}


def split(dialect: str, endpoint: str, body: JsonValue) -> Parts:
    """Take a provider's request body apart into its parts. What is left of `body` may become the params.

    A generating body that says nothing of `stream` asks for none: false. Raises MalformedRequest for a
    dialect and endpoint without a known layout, a root that is no object, absent messages and a `stream`
    that is neither a boolean nor null.
    """
    layout = _LAYOUTS.get((dialect, endpoint))
    if layout is None:
        known = ", ".join(" ".join(pair) for pair in _LAYOUTS)
        problem = f"is not known for {dialect!r} {endpoint!r} (only for {known}); send `parts` instead"
        raise MalformedRequest([Violation(BODY, problem)])
    return layout.split(body)


def from_content(messages: JsonValue, system: JsonValue, tools: JsonValue, params: JsonValue) -> Parts:
    """Return the parts of a request that came in parts, each parsed, None where it is absent or null.

    `model` and `stream` are taken out of `params`, as they are out of a body, so that both forms of one
    request are equal. Raises MalformedRequest when `params` is no object or its `stream` no boolean.
    """
    if params is None:
        return Parts(messages, system, tools, {}, None)
    if not isinstance(params, dict):
        raise MalformedRequest([Violation(_PARAMS, f"is {kind(params)}; send an object")])
    stream = params.pop("stream", None)
    params.pop("model", None)
    if violations := wrong_stream(stream, _PARAMS):
        raise MalformedRequest(violations)
    return Parts(messages, system, tools, without_nulls(params), stream)  # type: ignore[arg-type]  # checked above
