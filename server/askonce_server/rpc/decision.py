"""The methods of `DecisionService`."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from functools import partial
from uuid import uuid4

import grpc

from askonce.v1 import decision_service_pb2
from askonce_server.core.decision import Decision
from askonce_server.core.density import Allowance
from askonce_server.core.errors import MalformedRequest, TooDense, Violation
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, RefusalReason
from askonce_server.ports import Randomness
from askonce_server.rpc import convert, encode, validate
from askonce_server.rpc.batch import BatchOfDecisions
from askonce_server.rpc.drawn import DrawnIds
from askonce_server.rpc.feedback import Feedback
from askonce_server.rpc.handlers import Gate, handler, parse
from askonce_server.rpc.memo import PlanMemo
from askonce_server.rpc.patience import Caller, Items, in_time
from askonce_server.rpc.permits import Limits, Permits
from askonce_server.rpc.replies import Replies
from askonce_server.rpc.status import TooLarge, item_error
from askonce_server.service.call import Call
from askonce_server.service.driver import CutOff
from askonce_server.service.faults import FaultLog
from askonce_server.service.flight import Turn
from askonce_server.service.lookup import LookupService
from askonce_server.service.steps import Steps
from askonce_server.service.store import Admitted, StoreService
from askonce_server.service.tokens import FillTokens

SERVICE = "askonce.v1.DecisionService"


def nobody() -> Steps | None:
    """Return None: no call is followed."""
    return None


class DecisionServicer:
    """Parses, asks the services, and encodes. Holds no policy of its own."""

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        *,
        lookups: LookupService,
        stores: StoreService,
        tokens: FillTokens,
        feedback: Feedback,
        randomness: Randomness,
        limits: Limits,
        faults: FaultLog,
        steps: Callable[[], Steps | None] = nobody,
    ) -> None:
        """`steps` returns what is to be told the steps of the call under way, where it is followed."""
        self._lookups = lookups
        self._stores = stores
        self._feedback = feedback
        self._replies = Replies(lookups, tokens, faults)
        self._ids = DrawnIds(randomness)
        self._limits = limits
        self._faults = faults
        self._steps = steps
        self._permits = Permits(limits)
        self._memo = PlanMemo()

    def handler(self, gate: Gate) -> grpc.GenericRpcHandler:
        """Return the service's handler, whose calls go through `gate`."""
        return handler(
            SERVICE,
            {
                "Lookup": self.lookup,
                "BatchLookup": self.batch_lookup,
                "Store": self.store,
                "BatchStore": self.batch_store,
                "Abandon": self.abandon,
                "RecordFeedback": self._feedback.record,
            },
            faults=self._faults,
            gate=gate,
        )

    def lookup(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a Lookup. A decision that still holds takes no permit: giving it again costs no more."""
        call = Call(self._decision_id(), steps=self._steps())
        self._check_size(raw)
        plan = self._memo.get(raw, self._lookups.rules)
        if plan is not None and (kept := self._lookups.again(plan, call)) is not None:
            return self._replies.again(kept, call)
        with self._permits.bytes_in_flight(len(raw)) as fits:
            decision = self._decide(raw, context, call, fits=fits and in_time(context))
        return self._replies.response(decision, call)

    def batch_lookup(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a BatchLookup: one view of the store, one result an item, order kept."""
        began_ns = time.perf_counter_ns()
        self._check_size(raw)
        caller = Caller(context, lambda: items)
        with self._permits.bytes_in_flight(len(raw)) as room:
            fits = room and in_time(context)
            request = parse(decision_service_pb2.BatchLookupRequest, raw, requests=validate.BATCH_ITEMS)
            validate.batch(len(items := request.items))
            with self._permits.lookup(lambda: caller.patience() if fits else 0.0) as held:
                calls = [Call(self._decision_id(), began_ns) for _ in items]
                if not (fits and held):
                    return self._batch_given_up(calls).SerializeToString()
                with self._lookups.led(context.is_active) as led:
                    return self._batch(items, calls, caller.cut_off, led).SerializeToString()

    def store(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a Store. Waiting for the commit takes no permit."""
        self._check_size(raw)
        with self._permits.bytes_in_flight(len(raw)) as fits, self._permits.storing() as free:
            request = parse(decision_service_pb2.StoreRequest, raw)
            able = fits and free
            with self._permits.store(lambda: Caller(context).patience() if able else 0.0) as held:
                admitted = self._admit(request, Allowance(), able=able and held)
            return encode.stored(self._stores.commit([admitted])[0]).SerializeToString()

    def batch_store(self, raw: bytes, context: grpc.ServicerContext) -> bytes:
        """Answer a BatchStore: one commit, one result an item, order kept."""
        self._check_size(raw)
        with self._permits.bytes_in_flight(len(raw)) as fits, self._permits.storing() as free:
            request = parse(decision_service_pb2.BatchStoreRequest, raw, requests=validate.BATCH_ITEMS)
            validate.batch(len(request.items))
            able = fits and free
            with self._permits.store(lambda: Caller(context).patience() if able else 0.0) as held:
                allowance = Allowance()
                admitted = [self._admit_item(item, allowance, able=able and held) for item in request.items]
            results = iter(self._stores.commit([one for one in admitted if isinstance(one, Admitted)]))
        response = decision_service_pb2.BatchStoreResponse()
        for one in admitted:
            if isinstance(one, MalformedRequest):
                response.results.add(error=item_error(one))
            else:
                response.results.add(response=encode.stored(next(results)))
        return response.SerializeToString()

    def abandon(self, raw: bytes, _context: grpc.ServicerContext) -> bytes:
        """Answer an Abandon: the caller will not fill what it was to fill."""
        request = parse(decision_service_pb2.AbandonRequest, raw)
        violations: list[Violation] = []
        validate.fill_token(request.fill_token, violations)
        if violations:
            raise MalformedRequest(violations)
        released = self._stores.abandon(request.fill_token)
        return decision_service_pb2.AbandonResponse(released=released).SerializeToString()

    def _check_size(self, raw: bytes) -> None:
        limit = self._limits.max_request
        if len(raw) > limit:
            raise TooLarge("the request", size=len(raw), limit=limit, setting="max_request")

    def _decide(self, raw: bytes, context: grpc.ServicerContext, call: Call, *, fits: bool) -> Decision:
        """Decide one lookup. Raises MalformedRequest; a fault inside is a bypass."""
        try:
            caller = Caller(context, lambda: (parse(decision_service_pb2.LookupRequest, raw),))
            with self._permits.lookup(lambda: caller.patience() if fits else 0.0) as held:
                begun = self._lookups.begin(self._plan(raw), caller.cut_off, call) if fits and held else None
            if begun is None:
                return self._lookups.give_up(BypassReason.OVER_BUDGET, call)
            decision = self._lookups.end(begun, self._turn(context), caller.cut_off, call)
        except MalformedRequest:
            raise
        except Exception as error:
            return self._failed(error, call)
        if decision.lease_holder and not context.is_active():
            self._lookups.let_go(decision)
        return decision

    def _turn(self, context: grpc.ServicerContext) -> Turn:
        caller = Caller(context)  # waiting for another's answer comes on top of the budget
        return Turn(partial(self._permits.look_again, caller.patience), caller.left)

    def _decision_id(self) -> str:
        try:
            return self._ids.draw()
        except Exception as error:
            self._faults.record("drawing an id", error)
            return uuid4().hex

    def _failed(self, error: Exception, call: Call) -> Decision:
        """Return, and count, the bypass that a fault inside leads to."""
        self._faults.record("lookup", error)
        return self._lookups.give_up(BypassReason.STORE_FAILED, call)

    def _plan(
        self,
        raw: bytes,
        parsed: decision_service_pb2.LookupRequest | None = None,
        allowance: Allowance | None = None,
    ) -> Plan:
        """Return the plan of the request that `raw` is; `parsed` is the same, where it has been parsed.

        Raises MalformedRequest, and TooDense when its content is new and more than `allowance` has left.
        """
        rules = self._lookups.rules
        plan = self._memo.get(raw, rules)
        if plan is None:
            request = parse(decision_service_pb2.LookupRequest, raw) if parsed is None else parsed
            if allowance is not None:
                allowance.take(convert.documents(request.descriptor))
            plan = self._lookups.plan(convert.asked(request), rules)
            self._memo.put(raw, rules, plan)
        return plan

    def _batch(
        self, items: Items, calls: Sequence[Call], by: CutOff, led: list[Decision]
    ) -> decision_service_pb2.BatchLookupResponse:
        """Decide the items of a batch; `led` is given what was decided, some of it with a lease."""
        allowance = Allowance()
        plans = [self._plan_item(item, allowance, call) for item, call in zip(items, calls, strict=True)]
        try:
            taken = [(one, call) for one, call in zip(plans, calls, strict=True) if isinstance(one, Plan)]
            led += self._lookups.lookup_all([plan for plan, _ in taken], by, [call for _, call in taken])
        except Exception as error:
            plans = [
                self._failed(error, call) if isinstance(one, Plan) else one
                for one, call in zip(plans, calls, strict=True)
            ]
        decided = iter(led)
        batch = BatchOfDecisions(self._replies.message, max_response=self._limits.max_response)
        for plan, call in zip(plans, calls, strict=True):
            if isinstance(plan, MalformedRequest):
                batch.add_error(plan)
            elif not isinstance(plan, Plan):
                batch.add(plan, call)
            elif batch.add(decision := next(decided), call):
                self._lookups.count(decision, call)
            else:
                self._lookups.let_go(decision)
        return batch.response

    def _batch_given_up(self, calls: Sequence[Call]) -> decision_service_pb2.BatchLookupResponse:
        response = decision_service_pb2.BatchLookupResponse()
        for call in calls:
            given_up = self._lookups.give_up(BypassReason.OVER_BUDGET, call)
            response.results.add(decision=self._replies.message(given_up, call))
        return response

    def _plan_item(
        self, item: decision_service_pb2.LookupRequest, allowance: Allowance, call: Call
    ) -> Plan | Decision | MalformedRequest:
        try:
            call.plan = self._plan(item.SerializeToString(), item, allowance)
        except MalformedRequest as malformed:
            return malformed
        except TooDense:
            return self._lookups.give_up(BypassReason.TOO_LARGE, call)
        except Exception as error:
            return self._failed(error, call)
        return call.plan

    def _admit(self, item: decision_service_pb2.StoreRequest, room: Allowance, *, able: bool) -> Admitted:
        """Judge one answer. Raises MalformedRequest; a fault inside is a refusal."""
        try:
            filed = convert.filed(item)
            return self._stores.admit(filed, room) if able else self._stores.refuse(filed)
        except MalformedRequest:
            raise
        except Exception as error:
            self._faults.record("store", error)
            return Admitted(RefusalReason.STORE_FAILED)

    def _admit_item(
        self, item: decision_service_pb2.StoreRequest, allowance: Allowance, *, able: bool
    ) -> Admitted | MalformedRequest:
        try:
            allowance.take(convert.documents(item.descriptor))
            return self._admit(item, allowance, able=able)
        except MalformedRequest as malformed:
            return malformed
        except TooDense:
            return Admitted(RefusalReason.TOO_LARGE)
