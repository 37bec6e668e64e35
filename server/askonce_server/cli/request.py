"""Reads a request, which is a descriptor or a provider's body, and what the options say of it."""

from __future__ import annotations

import base64
import binascii
import json
import sys
from pathlib import Path
from typing import Any

from google.protobuf import json_format
from google.protobuf.message import Message

from askonce.v1.decision_service_pb2 import LookupRequest
from askonce.v1.descriptor_pb2 import RequestDescriptor
from askonce_server.cli.failure import Failed, misused
from askonce_server.cli.said import STANDARD_STREAM, Said

DESCRIPTOR_MEMBERS = frozenset({"dialect", "endpoint", "parts", "body_json", "bodyJson", "digests"})
"""No provider's body has any of these."""
_KINDS: dict[type[Message], str] = {RequestDescriptor: "descriptor", LookupRequest: "LookupRequest"}


def read(file: str) -> bytes:
    """Return the bytes of `file`, or of the standard input for `-`. Raises Failed."""
    if file == STANDARD_STREAM:
        return sys.stdin.buffer.read()
    try:
        return Path(file).read_bytes()
    except OSError as error:
        raise Failed(f"cannot read {file}: {error.strerror}") from None


def write(file: str, data: bytes) -> None:
    """Write `data` to `file`, or to the standard output for `-`. Raises Failed."""
    if file == STANDARD_STREAM:
        sys.stdout.buffer.write(data)
        sys.stdout.buffer.flush()
        return
    try:
        Path(file).write_bytes(data)
    except OSError as error:
        raise Failed(f"cannot write {file}: {error.strerror}") from None


def lookup(raw: bytes, said: Said, namespace: str) -> LookupRequest:
    """Return the Lookup that `raw` is, or one of the descriptor or body that it is. Raises Failed."""
    document = _parsed(raw, said)
    asked = LookupRequest()
    if isinstance(document, dict) and "descriptor" in document:
        document = _strict(raw)
        raw = json.dumps(document.pop("descriptor")).encode()
        _read_into(asked, document)
    asked.descriptor.CopyFrom(descriptor(raw, said))
    if namespace:
        asked.controls.namespace = namespace
    return asked


def descriptor(raw: bytes, said: Said) -> RequestDescriptor:
    """Return the descriptor that `raw` is, or one of the provider's body that it is. Raises Failed."""
    document = _parsed(raw, said)
    if isinstance(document, dict) and DESCRIPTOR_MEMBERS & document.keys():
        described = _described(_strict(raw))
    else:
        described = _body(raw, document, said)
    for name in ("dialect", "endpoint"):
        if value := getattr(said, name):
            setattr(described, name, value)
    if said.provider is not None:
        described.served.provider = said.provider
    if said.model is not None:
        described.served.model = said.model
    if said.stream is not None:
        described.stream = said.stream
    if said.personalized:
        described.personalized = True
    for name in ("scope", "versions", "headers", "attributes"):
        getattr(described, name).update(getattr(said, name))
    return described


def _parsed(raw: bytes, said: Said) -> Any:
    try:
        return json.loads(raw)
    except (ValueError, RecursionError) as error:
        if said.dialect and said.endpoint:
            return None  # the server says what is wrong with it, and where
        where = f" at byte {error.pos}" if isinstance(error, json.JSONDecodeError) else ""
        raise misused(f"the request is not JSON{where}") from None


def _strict(raw: bytes) -> dict[str, Any]:
    """Parse `raw` again, now that it will not be sent as it is, without losing anything that was said."""

    def distinct(members: list[tuple[str, Any]]) -> dict[str, Any]:
        found = dict(members)
        if len(found) < len(members):
            names = [name for name, _ in members]
            raise misused(f"the request names {max(names, key=names.count)!r} twice in one object")
        return found

    document = json.loads(raw, object_pairs_hook=distinct)
    return document if isinstance(document, dict) else {}


def _body(raw: bytes, document: Any, said: Said) -> RequestDescriptor:
    if not said.dialect or not said.endpoint:
        raise misused(
            "the request is a provider's body: say --dialect and --endpoint, for example openai and chat"
        )
    described = RequestDescriptor(body_json=raw)
    described.served.provider = said.dialect
    model = document.get("model") if isinstance(document, dict) else None
    if isinstance(model, str):
        described.served.model = model
    return described


def _described(document: dict[str, Any]) -> RequestDescriptor:
    """Read the JSON form of a descriptor, in which content may stand as JSON instead of base64."""
    document = dict(document)
    if isinstance(document.get("parts"), dict):
        parts = document["parts"].items()
        document["parts"] = {name: _as_base64(value) for name, value in parts if value is not None}
    for name in ("body_json", "bodyJson"):
        if name in document:
            document[name] = _as_base64(document[name])
    described = RequestDescriptor()
    _read_into(described, document)
    return described


def _read_into(message: Message, document: dict[str, Any]) -> None:
    try:
        json_format.ParseDict(document, message)
    except json_format.ParseError as error:
        problem = " ".join(str(error).split()).partition(" Available Fields")[0]
        raise misused(f"the request is no {_KINDS[type(message)]}: {problem.rstrip('.')}") from None


def _as_base64(value: Any) -> str:
    """Return `value` as base64 of a JSON document, as which it may already stand."""
    if isinstance(value, str) and _is_json_in_base64(value):
        return value
    try:
        text = json.dumps(value, separators=(",", ":"), allow_nan=False)
    except ValueError:
        raise misused("the request holds a number that is none in JSON (NaN, or beyond a double)") from None
    return base64.b64encode(text.encode()).decode()


def _is_json_in_base64(value: str) -> bool:
    try:
        json.loads(base64.b64decode(value, validate=True))
    except (binascii.Error, ValueError, RecursionError):
        return False
    return bool(value)
