"""Turning methods over bytes into gRPC handlers: one place that parses, and that maps errors to statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.rpc import status
from askonce_server.service.faults import FaultLog

MessageT = TypeVar("MessageT", bound=Message)
Method = Callable[[bytes, grpc.ServicerContext], bytes]


def parse(message_type: type[MessageT], raw: bytes) -> MessageT:
    """Parse a request. Raises MalformedRequest when the bytes are no such message."""
    try:
        return message_type.FromString(raw)
    except DecodeError:
        name = message_type.DESCRIPTOR.full_name
        text = f"is not a {name} message: bad wire format, or text that is not UTF-8"
        raise MalformedRequest([Violation("request", text)]) from None


def handler(service: str, methods: Mapping[str, Method], *, faults: FaultLog) -> grpc.GenericRpcHandler:
    """Return the handler of a service whose methods take and return bytes."""
    table: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(_mapped(name, method, faults))
        for name, method in methods.items()
    }
    return grpc.method_handlers_generic_handler(service, table)


def not_yet(name: str) -> Method:
    """Return the method of an RPC that this version does not have."""

    def method(_raw: bytes, _context: grpc.ServicerContext) -> bytes:
        raise status.NotYet(f"{name} is not part of this version")

    return method


def _mapped(name: str, method: Method, faults: FaultLog) -> Method:
    def mapped(raw: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            return method(raw, context)
        except Exception as error:
            if not status.is_told(error):
                faults.record(name, error)
            status.abort(context, error)

    return mapped
