"""Batches: what one call brought is put together item by item; no item can spoil another."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import TypeVar

from askonce import decoding, encoding
from askonce.core import Core, Steps, call_of, nothing_to_fill
from askonce.errors import AskOnceError, RequestTooLarge, SidecarFailed, let_go_of_frames
from askonce.request import Lookup, Metadata, Seconds, Store
from askonce.results import Decision, StoreResult
from askonce.status import error_from_item
from askonce.v1 import decision_service_pb2 as pb

G = TypeVar("G")
P = TypeVar("P")


class LookupBatch:
    """One BatchLookup, and what it takes to complete its items."""

    def __init__(self, core: Core, lookups: Sequence[Lookup], metadata: Metadata) -> None:
        """Prepare to ask for `lookups`."""
        self._core = core
        self._lookups = lookups
        self._metadata = metadata
        self._decisions: dict[int, Decision] = {}
        """By position in `lookups`."""
        self._sent: list[int] = []
        """The positions of the items that were sent, in their order on the wire."""
        self._deadline = core.clock()

    def run(self, budget: Seconds | None) -> Steps[list[Decision]]:
        """Ask, and return the decisions in order; raises AskOnceError when the call as a whole failed."""
        if self._lookups:
            results = yield from self._ask(budget)
            for index, result in enumerate(results):
                decision = yield from self._complete(index, result)
                self._decisions[self._sent[index]] = decision
        return [self._decisions[position] for position in range(len(self._lookups))]

    def _ask(self, budget: Seconds | None) -> Steps[Sequence[pb.BatchLookupResult]]:
        core = self._core
        seconds = core.budget_seconds(budget)
        self._deadline += seconds
        messages, refused = _encode_each(
            dict(enumerate(self._lookups)),
            lambda item: encoding.lookup_request(item, budget_seconds=seconds),
        )
        self._decisions = {position: self._failed(error) for position, error in refused.items()}
        self._sent = list(messages)
        if not messages:
            return ()
        request = pb.BatchLookupRequest(items=list(messages.values()))
        return (yield from batch_lookup(core, request, self._deadline, self._metadata))

    def _complete(self, index: int, result: pb.BatchLookupResult) -> Steps[Decision]:
        """Return an item's decision; ask for the item alone where the batch could not carry its body."""
        lookup = self._lookups[self._sent[index]]
        # Items that were not sent have no index on the wire, but one in the caller's list.
        try:
            decision = item_decision(index, result, lookup, lambda twin: self._decisions[self._sent[twin]])
        except AskOnceError as error:
            if worth_asking_alone(error, result):
                return (yield from self._ask_alone(lookup))
            return self._failed(error)
        if decision.same_as is None:
            return decision
        return replace(decision, same_as=self._sent[decision.same_as])

    def _ask_alone(self, lookup: Lookup) -> Steps[Decision]:
        alone = replace(lookup, wait_for_fill=None)  # a batch does not wait for others

        def ask() -> Steps[Decision]:
            left = self._core.time_left(self._deadline)
            return (yield from self._core.lookup_once(alone, left, self._metadata))

        return (yield from self._core.guarded(ask(), decoding.no_decision, strict=False))

    def _failed(self, error: AskOnceError) -> Decision:
        self._core.reporter.report(error)
        return decoding.no_decision(error)


def batch_lookup(
    core: Core, request: pb.BatchLookupRequest, deadline: float, metadata: Metadata
) -> Steps[Sequence[pb.BatchLookupResult]]:
    """Make the call, and return as many results as items; raises AskOnceError."""
    with core.gate.attempt() as attempt:
        reply = yield call_of("BatchLookup", request, core.time_left(deadline), metadata)
        response = attempt.answer(reply, pb.BatchLookupResponse)
    return _as_many(response.results, request.items)


def item_decision(
    index: int, result: pb.BatchLookupResult, lookup: Lookup, earlier: Callable[[int], Decision]
) -> Decision:
    """Decode the result at `index`; `earlier` returns the decision at a lower one. Raises AskOnceError."""
    kind = result.WhichOneof("result")
    if kind is None:
        raise SidecarFailed("the sidecar sent neither a decision nor an error")
    if kind == "error":
        raise error_from_item(result.error)
    message = result.decision
    is_twin = message.HasField("same_as") and message.same_as < index
    twin_of = earlier(message.same_as) if is_twin else None
    decision = decoding.decision(message, omit_body=lookup.omit_body, twin_of=twin_of)
    return decision if is_twin else replace(decision, same_as=None)


def worth_asking_alone(error: AskOnceError, result: pb.BatchLookupResult) -> bool:
    """Whether `error` came only of the item's being in a batch, which could not carry its body."""
    return isinstance(error, RequestTooLarge) or result.decision.HasField("same_as")


def store_batch(
    core: Core, stores: Sequence[Store], timeout: Seconds | None, metadata: Metadata
) -> Steps[list[StoreResult]]:
    """File `stores` in order; raises AskOnceError when the call as a whole failed."""
    asked = {position: store for position, store in enumerate(stores) if not nothing_to_fill(store)}
    results = dict.fromkeys(range(len(stores)), decoding.nothing_to_fill())
    if not asked:
        return list(results.values())
    with core.gate.attempt() as attempt:
        messages, refused = _encode_each(asked, encoding.store_request)
        results.update({position: _not_stored(core, error) for position, error in refused.items()})
        if not messages:
            return list(results.values())
        request = pb.BatchStoreRequest(items=list(messages.values()))
        reply = yield call_of("BatchStore", request, core.timeout_seconds(timeout), metadata)
        response = attempt.answer(reply, pb.BatchStoreResponse)
    for position, result in zip(messages, _as_many(response.results, messages), strict=True):
        results[position] = _store_result(core, result)
    return list(results.values())


def _store_result(core: Core, result: pb.BatchStoreResult) -> StoreResult:
    kind = result.WhichOneof("result")
    if kind == "response":
        return decoding.store_result(result.response)
    if kind == "error":
        return _not_stored(core, error_from_item(result.error))
    return _not_stored(core, SidecarFailed("the sidecar sent neither a response nor an error"))


def _not_stored(core: Core, error: AskOnceError) -> StoreResult:
    core.reporter.report(error)
    return decoding.not_stored(error)


def _encode_each(
    items: Mapping[int, G], encode: Callable[[G], P]
) -> tuple[dict[int, P], dict[int, AskOnceError]]:
    """Encode each item by itself, so that a bad one does not keep the others from being sent."""
    messages: dict[int, P] = {}
    refused: dict[int, AskOnceError] = {}
    for position, item in items.items():
        try:
            messages[position] = encode(item)
        except AskOnceError as error:
            let_go_of_frames(error)
            refused[position] = error
    return messages, refused


def _as_many(results: Sequence[G], sent: Sequence[object] | Mapping[int, object]) -> Sequence[G]:
    if len(results) != len(sent):
        raise SidecarFailed(f"the sidecar answered {len(results)} of {len(sent)} items")
    return results
