"""The blocking client."""

from __future__ import annotations

import itertools
import threading
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any, Protocol, Self, TypeVar, Unpack

import grpc

from askonce.breaker import CircuitBreaker
from askonce.channel import ChannelOptions, channel_options, failure_of, failure_of_local, targets_of
from askonce.core import METHODS, Call, Policy, Steps, as_lookup
from askonce.descriptor import Descriptor
from askonce.enums import Verdict
from askonce.gate import Reply
from askonce.request import Lookup, LookupOptions, Metadata, Seconds, Store, StoreOptions
from askonce.results import AbandonResult, Decision, FeedbackResult, StoreResult
from askonce.upstream import UpstreamResponse
from askonce.verbs import Verbs

T = TypeVar("T")
Stub = Mapping[str, Callable[..., bytes]]


class Transport(Protocol):
    """Makes calls. Never raises for what happens to a call."""

    def perform(self, call: Call) -> Reply:
        """Make `call` and return its reply."""

    def close(self) -> None:
        """Let go of connections."""


class AskOnce:
    """A client of one sidecar for threads. Thread-safe; make one per process and keep it.

    Fails open: without `strict`, no verb raises because of the sidecar. A sidecar that is down, slow or
    broken gives a bypass, or a refusal, that carries the `error`.
    """

    def __init__(  # noqa: PLR0913 -- settings, by keyword
        self,
        target: str | Sequence[str],
        *,
        budget: Seconds = 0.050,
        store_timeout: Seconds = 2.5,
        strict: bool = False,
        breaker: CircuitBreaker | None = None,
        credentials: grpc.ChannelCredentials | None = None,
        channels: int = 1,
        options: ChannelOptions = (),
    ) -> None:
        """Make a client; the first call connects.

        Args:
            target: `unix:///path` or `host:port`, or several for a sidecar with a socket per worker.
            budget: How long a Lookup may take, connecting included.
            store_timeout: How long every other call may take.
            strict: Raise an `AskOnceError` instead of failing open.
            breaker: In place of a `CircuitBreaker` with its defaults.
            credentials: For TLS. None: plain text.
            channels: Connections per target; at least as many as the sidecar has workers on one TCP port.
            options: gRPC channel options, which win over this client's own.

        Raises:
            ValueError: The target is empty, or there are no channels.
            InvalidRequest: A time is not positive.
        """
        policy = Policy(budget=budget, store_timeout=store_timeout, strict=strict)
        transport = _GrpcTransport(targets_of(target, channels), credentials, options)
        self._attach(Verbs(policy, breaker), transport)

    def _attach(self, core: Verbs, transport: Transport) -> None:
        self._core = core
        self._transport = transport

    @property
    def breaker(self) -> CircuitBreaker:
        """The circuit breaker; its `state` is good to export as a metric."""
        return self._core.gate.breaker

    def lookup(
        self,
        lookup: Descriptor | Lookup,
        *,
        budget: Seconds | None = None,
        metadata: Metadata = (),
        **options: Unpack[LookupOptions],
    ) -> Decision:
        """Ask whether a stored answer may be served; `options` are those of `Lookup`."""
        return self._run(self._core.lookup(as_lookup(lookup, **options), budget, metadata))

    def batch_lookup(
        self,
        lookups: Sequence[Descriptor | Lookup],
        *,
        budget: Seconds | None = None,
        metadata: Metadata = (),
    ) -> list[Decision]:
        """Ask for 1 to 256 decisions at once, in one budget; the order is kept.

        An item's own error stands in that item's `error`, under `strict` too.
        """
        asked = [as_lookup(lookup) for lookup in lookups]
        return self._run(self._core.batch_lookup(asked, budget, metadata))

    def store(
        self,
        source: Decision | bytes | Descriptor,
        response: UpstreamResponse,
        *,
        timeout: Seconds | None = None,
        metadata: Metadata = (),
        **options: Unpack[StoreOptions],
    ) -> StoreResult:
        """File an answer under the decision (or fill token) that asked for it, or under a descriptor.

        A decision that asked for no Store is refused here, without a call: it is safe to store after every
        decision that was not a hit. `options` are those of `Store`.
        """
        return self._run(self._core.store(Store(source, response, **options), timeout, metadata))

    def batch_store(
        self, stores: Sequence[Store], *, timeout: Seconds | None = None, metadata: Metadata = ()
    ) -> list[StoreResult]:
        """File 1 to 256 answers at once; the order is kept, and each item has its own result."""
        return self._run(self._core.batch_store(list(stores), timeout, metadata))

    def abandon(
        self, source: Decision | bytes, *, timeout: Seconds | None = None, metadata: Metadata = ()
    ) -> AbandonResult:
        """Give a lease back, since the provider call failed. A decision without a lease costs no call."""
        return self._run(self._core.abandon(source, timeout, metadata))

    def feedback(
        self,
        subject: Decision | bytes | str,
        verdict: Verdict,
        *,
        source: str = "",
        timeout: Seconds | None = None,
        metadata: Metadata = (),
    ) -> FeedbackResult:
        """Tell whether a served answer was right, by its decision, feedback token or (as `str`) entry id."""
        return self._run(self._core.feedback((subject, verdict, source), timeout, metadata))

    def close(self) -> None:
        """Close the connections. Calls in flight end as bypasses; so does every later one."""
        if self._core.gate.close():
            self._transport.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def _run(self, steps: Steps[T]) -> T:
        try:
            call = next(steps)
            while True:
                try:
                    reply = self._transport.perform(call)
                except Exception as bug:
                    call = steps.throw(bug)
                else:
                    call = steps.send(reply)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()  # an interrupt in the middle must reach the breaker's permit


class _GrpcTransport:
    """Calls over one or more gRPC channels in turn, opened by the first call: before it, a fork is safe."""

    def __init__(
        self, targets: Sequence[str], credentials: grpc.ChannelCredentials | None, options: ChannelOptions
    ) -> None:
        self._targets = targets
        self._credentials = credentials
        self._options = options
        self._lock = threading.Lock()
        self._closed = False
        self._channels: list[grpc.Channel] = []
        self._turns: itertools.cycle[Stub] | None = None

    def perform(self, call: Call) -> Reply:
        try:
            turns = self._turns or self._open()
            return next(turns)[call.method](call.payload, timeout=call.timeout, metadata=call.metadata)
        except grpc.RpcError as error:
            return failure_of(error)
        except Exception as error:  # a channel that was closed meanwhile, bad metadata
            return failure_of_local(error)

    def close(self) -> None:
        with self._lock:
            self._closed = True
            for channel in self._channels:
                channel.close()

    def _open(self) -> itertools.cycle[Stub]:
        with self._lock:
            if self._closed:
                raise ValueError("closed")
            if self._turns is None:
                self._channels = [self._channel(target) for target in self._targets]
                self._turns = itertools.cycle([_stub(channel) for channel in self._channels])
            return self._turns

    def _channel(self, target: str) -> grpc.Channel:
        options = channel_options(target, self._options)
        if self._credentials is None:
            return grpc.insecure_channel(target, options)
        return grpc.secure_channel(target, self._credentials, options)


def _stub(channel: grpc.Channel) -> Stub:
    # Without serializers gRPC carries bytes; its own would log a line for every answer that is no message.
    calls: dict[str, Any] = {name: channel.unary_unary(path) for name, path in METHODS.items()}
    return calls
