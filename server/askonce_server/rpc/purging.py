"""What an operator names: an entry, or what is to be purged."""

from __future__ import annotations

import re

from askonce.v1 import admin_service_pb2
from askonce_server.core.descriptor import Target
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.service.admin import DimTarget, PurgeTarget, ScopeTarget

_ENTRY_ID = re.compile(r"[0-9a-f]{64}")


def entry_id(text: str) -> bytes:
    """Return the 32 bytes of an entry's id. Raises MalformedRequest."""
    if not _ENTRY_ID.fullmatch(text):
        wanted = "must be the full id of an entry: 64 characters of lower-case hex, as in a decision"
        raise MalformedRequest([Violation("entry_id", wanted)])
    return bytes.fromhex(text)


def purge_target(request: admin_service_pb2.PurgeRequest) -> PurgeTarget:
    """Return what is to be purged. Raises MalformedRequest: what is left unsaid never means everything."""
    kind = request.WhichOneof("target")
    if kind == "everything":
        return None
    if kind == "dim":
        _required({"dim.name": request.dim.name, "dim.value": request.dim.value})
        return DimTarget(request.dim.name, request.dim.value)
    if kind == "model":
        _required({"model.provider": request.model.provider, "model.model": request.model.model})
        return Target(request.model.provider, request.model.model)
    if kind == "scope":
        return _scope(request.scope)
    wanted = "is required: everything, dim, model or scope"
    raise MalformedRequest([Violation("target", wanted)])


def _scope(scope: admin_service_pb2.FullScope) -> ScopeTarget:
    said: dict[str, str] = {}
    for at, dim in enumerate(scope.dims):
        said |= {f"scope.dims[{at}].name": dim.name, f"scope.dims[{at}].value": dim.value}
    _required(said or {"scope.dims": scope.namespace})
    return ScopeTarget(tuple((dim.name, dim.value) for dim in scope.dims), scope.namespace)


def _required(said: dict[str, str]) -> None:
    missing = [Violation(path, "must not be empty") for path, value in said.items() if not value]
    if missing:
        raise MalformedRequest(missing)
