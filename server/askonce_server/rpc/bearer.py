"""The optional bearer token of the admin service."""

from __future__ import annotations

import hmac
from collections.abc import Callable
from typing import Any

import grpc

from askonce_server.rpc import status

_OPEN = ("/grpc.health.v1.Health/",)
"""Probes carry no token."""


class BearerToken(grpc.ServerInterceptor):
    """Lets calls pass that show the token in `authorization: Bearer …`; the others are UNAUTHENTICATED."""

    def __init__(self, token: bytes) -> None:
        self._expected = b"Bearer " + token
        self._refusal: grpc.RpcMethodHandler[Any, Any] = grpc.unary_unary_rpc_method_handler(_refuse)

    def intercept_service(
        self,
        continuation: Callable[[grpc.HandlerCallDetails], grpc.RpcMethodHandler[Any, Any] | None],
        handler_call_details: grpc.HandlerCallDetails,
    ) -> grpc.RpcMethodHandler[Any, Any] | None:
        """Continue, or refuse."""
        if handler_call_details.method.startswith(_OPEN):
            return continuation(handler_call_details)
        shown = dict(handler_call_details.invocation_metadata or ()).get("authorization", "")
        given = shown if isinstance(shown, bytes) else shown.encode()
        if hmac.compare_digest(given, self._expected):
            return continuation(handler_call_details)
        return self._refusal


def _refuse(_request: bytes, context: grpc.ServicerContext) -> bytes:
    text = "show the admin token: metadata `authorization: Bearer <token>`"
    status.abort(context, status.Unauthenticated(text))
