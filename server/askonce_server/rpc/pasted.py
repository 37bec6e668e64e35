"""Requests as a person pastes them: a provider's body, and what is said of it in a form."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from askonce.v1.decision_service_pb2 import LookupRequest
from askonce_server.core.errors import MalformedRequest, Violation

_TEXTS: Final = ("body", "dialect", "endpoint", "provider", "model", "namespace")
_MAPS: Final = ("scope", "headers", "versions")


def lookup(pasted: object, name: str) -> LookupRequest:
    """Return the Lookup that `pasted` describes; `name` is what it is called. Raises MalformedRequest.

    The body is taken as it is, byte by byte: its spelling may be what tells two requests apart. Where no
    provider or model is said, they are the dialect's name and what the body says.
    """
    said = _checked(pasted, name)
    body = said.get("body", "")
    asked = LookupRequest()
    described = asked.descriptor
    described.dialect, described.endpoint = said.get("dialect", ""), said.get("endpoint", "")
    described.body_json = body.encode("utf-8", "surrogatepass")
    described.served.provider = said.get("provider") or described.dialect
    described.served.model = said.get("model") or _model(body)
    for one in _MAPS:
        getattr(described, one).update(said.get(one, {}))
    if said.get("namespace"):
        asked.controls.namespace = said["namespace"]
    return asked


def _checked(pasted: object, name: str) -> Mapping[str, Any]:
    if not isinstance(pasted, dict):
        raise MalformedRequest([Violation(name, "is required: an object with body, dialect and endpoint")])
    wrong = [Violation(f"{name}.{one}", "is not known") for one in pasted if one not in (*_TEXTS, *_MAPS)]
    wrong += [
        Violation(f"{name}.{one}", "must be text") for one in _TEXTS if not _is_text(pasted.get(one, ""))
    ]
    for one in _MAPS:
        values = pasted.get(one, {})
        if not isinstance(values, dict) or not all(map(_is_text, (*values, *values.values()))):
            wrong.append(Violation(f"{name}.{one}", "must be an object of texts"))
    if wrong:
        raise MalformedRequest(wrong)
    return pasted


def _is_text(value: object) -> bool:
    """Whether `value` is text that a message can hold."""
    return isinstance(value, str) and value.encode(errors="replace").decode() == value


def _model(body: str) -> str:
    """Return the model that a body names, or nothing: what is wrong with a body is said later."""
    try:
        document = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    model = document.get("model") if isinstance(document, dict) else None
    return model if isinstance(model, str) and _is_text(model) else ""
