"""The methods of `DecisionService`."""

from __future__ import annotations

from collections.abc import Hashable, Sequence

import grpc
from askonce.v1 import decision_pb2, decision_service_pb2

from askonce_server.core.decision import Decision
from askonce_server.core.entries import Write
from askonce_server.core.errors import MalformedRequest
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, RefusalReason
from askonce_server.ports import Randomness
from askonce_server.rpc import convert, encode, validate
from askonce_server.rpc.handlers import handler, not_yet, parse
from askonce_server.rpc.memo import PlanMemo
from askonce_server.rpc.permits import Limits, Permits
from askonce_server.rpc.status import TooLarge, item_error
from askonce_server.service.lookup import LookupService, identity
from askonce_server.service.store import StoreService
from askonce_server.service.tokens import FillTokens

SERVICE = "askonce.v1.DecisionService"
_WAIT_SECONDS = 1.0
"""How long a call waits for a permit at most."""


class DecisionServicer:
    """Parses, asks the services, and encodes. Holds no policy of its own."""

    def __init__(
        self,
        *,
        lookups: LookupService,
        stores: StoreService,
        tokens: FillTokens,
        randomness: Randomness,
        limits: Limits,
    ) -> None:
        self._lookups = lookups
        self._stores = stores
        self._tokens = tokens
        self._randomness = randomness
        self._limits = limits
        self._permits = Permits(limits)
        self._memo = PlanMemo()

    def handler(self) -> grpc.GenericRpcHandler:
        """Return the service's handler."""
        return handler(
            SERVICE,
            {
                "Lookup": self.lookup,
                "BatchLookup": self.batch_lookup,
                "Store": self.store,
                "BatchStore": self.batch_store,
                "Abandon": not_yet("Abandon"),
                "RecordFeedback": not_yet("RecordFeedback"),
            },
        )

    def lookup(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a Lookup."""
        self._check_size(raw)
        with self._permits.bytes_in_flight(len(raw)) as fits:
            with self._permits.lookup(timeout_seconds=_patience(context) if fits else 0) as held:
                if fits and held:
                    decision = self._lookups.lookup(self._plan(raw))
                else:
                    decision = self._lookups.give_up(BypassReason.OVER_BUDGET)
            message = decision_service_pb2.LookupResponse(decision=self._message(decision))
            return message.SerializeToString()

    def batch_lookup(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a BatchLookup: one view of the store, one result an item, order kept."""
        self._check_size(raw)
        request = parse(decision_service_pb2.BatchLookupRequest, raw)
        validate.batch(len(request.items))
        with self._permits.bytes_in_flight(len(raw)) as fits:
            with self._permits.lookup(timeout_seconds=_patience(context) if fits else 0) as held:
                plans = [self._plan_item(item) for item in request.items]
                good = [plan for plan in plans if isinstance(plan, Plan)]
                if fits and held:
                    decisions = self._lookups.lookup_all(good)
                else:
                    decisions = [self._lookups.give_up(BypassReason.OVER_BUDGET) for _ in good]
            return self._batch_response(plans, decisions).SerializeToString()

    def store(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a Store. Waiting for the commit takes no permit."""
        self._check_size(raw)
        with self._permits.bytes_in_flight(len(raw)) as fits:
            with self._permits.store(timeout_seconds=_patience(context) if fits else 0) as held:
                filed = convert.filed(parse(decision_service_pb2.StoreRequest, raw))
                admitted = self._stores.admit(filed) if fits and held else RefusalReason.STORE_FAILED
            return encode.stored(self._stores.commit([admitted])[0]).SerializeToString()

    def batch_store(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a BatchStore: one commit, one result an item, order kept."""
        self._check_size(raw)
        request = parse(decision_service_pb2.BatchStoreRequest, raw)
        validate.batch(len(request.items))
        with self._permits.bytes_in_flight(len(raw)) as fits:
            with self._permits.store(timeout_seconds=_patience(context) if fits else 0) as held:
                able = fits and held
                admitted = [
                    self._admit_item(item) if able else RefusalReason.STORE_FAILED for item in request.items
                ]
            good = [one for one in admitted if not isinstance(one, MalformedRequest)]
            results = iter(self._stores.commit(good))
        response = decision_service_pb2.BatchStoreResponse()
        for one in admitted:
            if isinstance(one, MalformedRequest):
                response.results.add(error=item_error(one))
            else:
                response.results.add(response=encode.stored(next(results)))
        return response.SerializeToString()

    def _check_size(self, raw: bytes) -> None:
        limit = self._limits.max_request
        if len(raw) > limit:
            raise TooLarge("the request", size=len(raw), limit=limit, setting="max_request")

    def _plan(self, raw: bytes) -> Plan:
        rules = self._lookups.rules
        plan = self._memo.get(raw, rules)
        if plan is None:
            plan = self._lookups.plan(convert.asked(parse(decision_service_pb2.LookupRequest, raw)))
            self._memo.put(raw, rules, plan)
        return plan

    def _plan_item(self, item: decision_service_pb2.LookupRequest) -> Plan | MalformedRequest:
        try:
            return self._lookups.plan(convert.asked(item))
        except MalformedRequest as malformed:
            return malformed

    def _admit_item(
        self, item: decision_service_pb2.StoreRequest
    ) -> Write | RefusalReason | MalformedRequest:
        try:
            return self._stores.admit(convert.filed(item))
        except MalformedRequest as malformed:
            return malformed

    def _message(self, decision: Decision) -> decision_pb2.Decision:
        token = self._tokens.sign(decision.grant) if decision.grant is not None else b""
        decision_id = self._randomness.token(16).hex()
        return encode.decision(decision, decision_id=decision_id, fill_token=token)

    def _batch_response(
        self, plans: Sequence[Plan | MalformedRequest], decisions: Sequence[Decision]
    ) -> decision_service_pb2.BatchLookupResponse:
        """Gather the results. Twins point at their first; bodies stop at `max_response`."""
        response = decision_service_pb2.BatchLookupResponse()
        remaining = iter(decisions)
        firsts: dict[Hashable, int] = {}
        size, limit = 0, self._limits.max_response
        for index, plan in enumerate(plans):
            if isinstance(plan, MalformedRequest):
                response.results.add(error=item_error(plan))
                continue
            message = self._message(next(remaining))
            same = identity(plan)
            if same is not None and firsts.setdefault(same, index) != index:
                _make_twin(message, firsts[same])
            body = len(message.candidate.body.data)
            if size + body > limit:
                error = TooLarge("the batch's bodies", size=size + body, limit=limit, setting="max_response")
                response.results.add(error=item_error(error))
                continue
            size += body
            response.results.add(decision=message)
        return response


def _make_twin(message: decision_pb2.Decision, first: int) -> None:
    """Turn a decision into one that carries nothing of its own: its answer is that of item `first`."""
    message.same_as = first
    message.candidate.ClearField("body")
    message.store_answer = False
    message.fill_token = b""


def _patience(context: grpc.ServicerContext) -> float:
    """Return how long the call may wait for a permit, in seconds: half of what its deadline leaves."""
    remaining = context.time_remaining()
    return _WAIT_SECONDS if remaining is None else min(_WAIT_SECONDS, remaining / 2)
