"""Turning methods over bytes into gRPC handlers: one place that parses, and that maps errors to statuses."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from threading import Condition, Lock
from typing import Any, Protocol, TypeVar

import grpc
from google.protobuf.message import DecodeError, Message

from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.rpc import status
from askonce_server.rpc.wire import check_fields
from askonce_server.service.faults import FaultLog

MessageT = TypeVar("MessageT", bound=Message)
Method = Callable[[bytes, grpc.ServicerContext], bytes]


def parse(message_type: type[MessageT], raw: bytes, *, requests: int = 1) -> MessageT:
    """Parse a message of up to so many requests.

    Raises MalformedRequest when the bytes are no such message, or one with too many fields.
    """
    check_fields(message_type, raw, requests=requests)
    try:
        return message_type.FromString(raw)
    except DecodeError:
        name = message_type.DESCRIPTOR.full_name
        text = f"is not a {name} message: bad wire format, or text that is not UTF-8"
        raise MalformedRequest([Violation("request", text)]) from None


class Recorder(Protocol):
    """Whoever follows some of the calls."""

    def begin(self, method: str, metadata: Sequence[tuple[str, str | bytes]], /) -> Any | None:
        """Return what is kept of a call to `method` that begins now; None: this one is not followed."""

    def end(self, recording: Any, code: str, /) -> None:
        """Take note of how a call ended: the name of its gRPC status."""


class Gate:
    """Counts the calls that are being answered, and turns new ones away once it is closed.

    `recorder` may follow the calls that go through.
    """

    def __init__(self, recorder: Recorder | None = None) -> None:
        self.recorder = recorder
        self._lock = Lock()
        self._changed = Condition(self._lock)
        self._calls = 0
        self._closed = False

    def begin(self) -> None:
        """Begin a call. Raises Draining."""
        with self._lock:  # `Condition` is entered at three times the cost
            if self._closed:
                raise status.Draining
            self._calls += 1

    def end(self) -> None:
        """End a call that began."""
        with self._lock:
            self._calls -= 1
            if self._closed:
                self._changed.notify_all()

    def close(self) -> None:
        """Turn away every call that has not begun."""
        with self._changed:
            self._closed = True

    def wait_until_idle(self, timeout_seconds: float) -> bool:
        """Return whether every call that began has ended in time."""
        with self._changed:
            return self._changed.wait_for(lambda: not self._calls, timeout_seconds)


def handler(
    service: str, methods: Mapping[str, Method], *, faults: FaultLog, gate: Gate
) -> grpc.GenericRpcHandler:
    """Return the handler of a service whose methods take and return bytes."""
    table: dict[str, Any] = {
        name: grpc.unary_unary_rpc_method_handler(
            _followed(f"{service}/{name}", _mapped(name, method, faults, gate), gate.recorder)
        )
        for name, method in methods.items()
    }
    return grpc.method_handlers_generic_handler(service, table)


def _mapped(name: str, method: Method, faults: FaultLog, gate: Gate) -> Method:
    def mapped(raw: bytes, context: grpc.ServicerContext) -> bytes:
        try:
            gate.begin()
            try:
                return method(raw, context)
            finally:
                gate.end()
        except Exception as error:
            if not status.is_told(error):
                faults.record(name, error)
            status.abort(context, error)

    return mapped


def _followed(name: str, method: Method, recorder: Recorder | None) -> Method:
    """Return the method with its calls told to `recorder`; without one, as it is."""
    if recorder is None:
        return method

    def followed(raw: bytes, context: grpc.ServicerContext) -> bytes:
        recording = recorder.begin(name, context.invocation_metadata())
        if recording is None:
            return method(raw, context)
        try:
            return method(raw, context)
        finally:
            recorder.end(recording, status.name_of(context))

    return followed
