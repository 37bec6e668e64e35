# ruff: noqa: ASYNC109 -- the timeout becomes the deadline of the gRPC call
"""The client for asyncio."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable, Coroutine, Sequence
from functools import partial
from types import TracebackType
from typing import Any, Self, TypeAlias, TypeVar, Unpack

import grpc

from askonce.aio_transport import AsyncTransport, GrpcAioTransport
from askonce.breaker import CircuitBreaker
from askonce.channel import ChannelOptions, targets_of
from askonce.core import Call, Pause, Policy, as_lookup
from askonce.descriptor import Descriptor
from askonce.enums import Verdict
from askonce.fetching import Ask, FetchingVerbs, FetchSteps, Step
from askonce.refreshing import RefreshTasks
from askonce.request import Lookup, LookupOptions, Metadata, Seconds, Store, StoreOptions
from askonce.results import AbandonResult, Decision, FeedbackResult, Fetched, StoreResult
from askonce.upstream import UpstreamResponse

T = TypeVar("T")
Fill: TypeAlias = Callable[[], Awaitable[UpstreamResponse]]
Refresh: TypeAlias = Callable[[Callable[[], Coroutine[Any, Any, None]]], object]


class AsyncAskOnce:
    """A client of one sidecar for asyncio; make one per event loop and keep it.

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
        coalescing: bool = True,
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
            coalescing: Send Lookups that come while others are in flight together, as one call. What may wait
                for an embedding, has `wait_for_fill` or metadata goes alone, as does a lone one.
            options: gRPC channel options, which win over this client's own.

        Raises:
            ValueError: The target is empty, or there are no channels.
            InvalidRequest: A time is not positive.
        """
        targets = targets_of(target, channels)
        lanes = len(targets) if coalescing else 0
        policy = Policy(budget=budget, store_timeout=store_timeout, strict=strict, lanes=lanes)
        transport = GrpcAioTransport(targets, credentials, options)
        self._attach(FetchingVerbs(policy, breaker), transport)

    def _attach(self, core: FetchingVerbs, transport: AsyncTransport) -> None:
        self._core = core
        self._transport = transport
        self._refreshes = RefreshTasks()

    @property
    def breaker(self) -> CircuitBreaker:
        """The circuit breaker; its `state` is good to export as a metric."""
        return self._core.gate.breaker

    async def lookup(
        self,
        lookup: Descriptor | Lookup,
        *,
        budget: Seconds | None = None,
        metadata: Metadata = (),
        **options: Unpack[LookupOptions],
    ) -> Decision:
        """Ask whether a stored answer may be served; `options` are those of `Lookup`."""
        return await self._run(self._core.lookup(as_lookup(lookup, **options), budget, metadata))

    async def batch_lookup(
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
        return await self._run(self._core.batch_lookup(asked, budget, metadata))

    async def fetch(
        self,
        lookup: Descriptor | Lookup,
        fill: Fill,
        *,
        refresh: bool | Refresh = True,
        budget: Seconds | None = None,
        metadata: Metadata = (),
        **options: Unpack[LookupOptions],
    ) -> Fetched:
        """Serve from the cache, or call `fill` and store what it brings: all verbs of a request in one call.

        Callers with identical requests, in this process and, as far as the sidecar's rule says so, in others,
        wait for one of them to fill, a minute at most or `wait_for_fill`. What `fill` raises is raised here,
        and one of those who wait comes next. Without a sidecar every caller calls `fill`.

        A stale answer is served at once. The one caller that is to refresh it calls `fill` in the background;
        `refresh` may be a function that is given the refresh to run, or False: leave it to another caller.
        """
        steps = self._core.fetch(as_lookup(lookup, **options), budget, metadata, refresh=refresh is not False)
        return await self._run(steps, fill, refresh if callable(refresh) else self._refreshes.start)

    async def store(
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
        return await self._run(self._core.store(Store(source, response, **options), timeout, metadata))

    async def batch_store(
        self, stores: Sequence[Store], *, timeout: Seconds | None = None, metadata: Metadata = ()
    ) -> list[StoreResult]:
        """File 1 to 256 answers at once; the order is kept, and each item has its own result."""
        return await self._run(self._core.batch_store(list(stores), timeout, metadata))

    async def abandon(
        self, source: Decision | bytes, *, timeout: Seconds | None = None, metadata: Metadata = ()
    ) -> AbandonResult:
        """Give a lease back, since the provider call failed. A decision without a lease costs no call."""
        return await self._run(self._core.abandon(source, timeout, metadata))

    async def feedback(
        self,
        subject: Decision | bytes | str,
        verdict: Verdict,
        *,
        source: str = "",
        timeout: Seconds | None = None,
        metadata: Metadata = (),
    ) -> FeedbackResult:
        """Tell whether a served answer was right, by its decision, feedback token or (as `str`) entry id."""
        return await self._run(self._core.feedback((subject, verdict, source), timeout, metadata))

    async def close(self) -> None:
        """Close the connections. Calls in flight end as bypasses; so does every later one."""
        if self._core.gate.close():
            await self._transport.close()

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.close()

    async def _run(self, steps: FetchSteps[T], fill: Fill | None = None, refresh: Refresh | None = None) -> T:
        try:
            step = next(steps)
            while True:
                try:
                    came = await self._take(step, fill, refresh)
                except BaseException as fault:  # what `fill` raises has its lease to give back first
                    step = steps.throw(fault)
                else:
                    step = steps.send(came)
        except StopIteration as end:
            result: T = end.value
            return result
        finally:
            steps.close()  # a cancellation in the middle must reach the breaker's permit

    async def _take(self, step: Step, fill: Fill | None, refresh: Refresh | None) -> object:
        if isinstance(step, Call):
            return await self._transport.perform(step)
        if isinstance(step, Pause):
            return await asyncio.wait((asyncio.wrap_future(step.until),), timeout=step.seconds)
        if isinstance(step, Ask):
            assert fill is not None
            return await fill()
        return (refresh or self._refreshes.start)(partial(self._run, step.steps, fill, refresh))
