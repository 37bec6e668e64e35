"""Store: file an answer under what was looked up, if it may be replayed at all."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from askonce_server.core.admit import Response, still_wanted, why_refuse, write
from askonce_server.core.decide import decide
from askonce_server.core.density import Allowance
from askonce_server.core.descriptor import Controls, Descriptor
from askonce_server.core.entries import EntryKey, Grant, Write, leases_over
from askonce_server.core.errors import MalformedRequest, Violation
from askonce_server.core.finish import AnswerFacts
from askonce_server.core.reasons import BypassReason, Mode, RefusalReason
from askonce_server.core.requirements import ttl_violations
from askonce_server.core.rules import Rule
from askonce_server.dialects.answers import inspect
from askonce_server.ports import EntryStore
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.driver import never
from askonce_server.service.labelling import Labelling
from askonce_server.service.proposals import ExpiredToken, ForgedToken
from askonce_server.service.shared import Shared
from askonce_server.service.tokens import FillTokens

_EMBED_PATIENCE_MS = 1000
"""How long a Store by descriptor may embed: nobody waits for a decision."""
_FORGED = Violation("fill_token", "is not a token of this service; give it back as Lookup returned it")


@dataclass(frozen=True, slots=True)
class Filed:
    """A Store as it came over the wire, not yet judged."""

    source: bytes | Descriptor | None
    """A fill token, or the descriptor of a request that no Lookup preceded."""
    response: Response
    ttl_ms: int | None = None
    namespace: str = ""
    logging_disabled: bool = False
    known_fields: bool = True
    """False when the message had fields that this version does not know: one may say not to store."""
    violations: tuple[Violation, ...] = ()


@dataclass(frozen=True, slots=True)
class Stored:
    """What became of a Store: entries, or the reason why there are none."""

    refusal: RefusalReason | None = None
    keys: tuple[EntryKey, ...] = ()
    expire_ms: int = 0
    now_ms: int = 0


@dataclass(frozen=True, slots=True)
class Admitted:
    """A judged answer: what to write or why not, and the lease that ends with it."""

    result: Write | RefusalReason
    lease: bytes = b""
    holder: bytes = b""
    """Empty: the caller has no lease."""
    rule_id: str = ""
    """Under which it is counted; empty where no rule is known."""
    grant: Grant | None = None
    """What the answer was for, where that is known."""


class StoreService:
    """Admits answers and files them under the current rules."""

    def __init__(
        self, shared: Shared, *, store: EntryStore, tokens: FillTokens, labelling: Labelling | None = None
    ) -> None:
        """`labelling` compares what is stored with what was near; None: nobody does."""
        self._shared = shared
        self._store = store
        self._tokens = tokens
        self._labelling = labelling

    def admit(self, filed: Filed, allowance: Allowance) -> Admitted:
        """Judge one answer: what to write, or why not. Raises MalformedRequest naming everything wrong.

        `allowance` is what the answers of its message may make.
        """
        now_ms = self._shared.clock.now_ms()
        try:
            granted = self._grant(filed, now_ms)
            if isinstance(granted, RefusalReason):
                return self.refuse(filed, granted)
            grant, rule = granted
            wanted = still_wanted(grant, rule) if isinstance(filed.source, bytes) else grant
            if wanted is None:
                return _admitted(RefusalReason.TOKEN_EXPIRED, grant)
            result = _admit(wanted, rule, filed, allowance, now_ms=now_ms)
            return _admitted(result, grant)
        except MalformedRequest:
            raise
        except Exception as error:
            self._shared.faults.record("store", error)
            return self.refuse(filed)

    def refuse(self, filed: Filed, reason: RefusalReason = RefusalReason.STORE_FAILED) -> Admitted:
        """Refuse an answer unjudged: the lease that its token says ends all the same. Never raises."""
        if not isinstance(filed.source, bytes):
            return Admitted(reason)
        try:
            grant = self._tokens.verify(filed.source, now_ms=self._shared.clock.now_ms())
        except Exception:  # a token that cannot be read says no lease
            return Admitted(reason)
        return _admitted(reason, grant)

    def commit(self, admitted: Sequence[Admitted]) -> list[Stored]:
        """Write what was admitted, wait until it is durable, and count each once. Never raises.

        Those who wait for an answer are told once it is there, or refused.
        """
        writes = [one.result for one in admitted if isinstance(one.result, Write)]
        refusals = iter(self._put(writes) if writes else ())
        results = [
            _stored(one.result, next(refusals) if isinstance(one.result, Write) else one.result)
            for one in admitted
        ]
        for one, result in zip(admitted, results, strict=True):
            self._shared.tallies.stored(result.refusal, one.rule_id)
            for watch in self._shared.store_watches:
                watch.stored(result.refusal)
            self._tell(one, result)
            self._remember(one.grant, result.refusal)
            if result.refusal is None:
                self._label(one)
        return results

    def _label(self, admitted: Admitted) -> None:
        """Have what was stored compared with what was near."""
        grant = admitted.grant
        if self._labelling is None or grant is None or not isinstance(admitted.result, Write):
            return
        rule = next((rule for rule in self._shared.rules() if rule.id == grant.rule_id), None)
        try:
            if rule is not None:
                self._labelling.stored(grant, rule, looked_up=not admitted.result.by_descriptor)
        except Exception as error:  # what was stored is stored
            self._shared.faults.record("labelling", error)

    def _remember(self, grant: Grant | None, refusal: RefusalReason | None) -> None:
        """Remember a refusal, to explain the misses by that follow; not where nothing may be kept."""
        if grant is None or refusal is None or refusal is RefusalReason.LOGGING_DISABLED:
            return
        at_ms = self._shared.clock.now_ms()
        try:
            self._store.note_refused(grant.keys, grant.scope_root, refusal, at_ms=at_ms)
        except Exception as error:
            self._shared.faults.record("remembering a refusal", error)

    def _put(self, writes: Sequence[Write]) -> Sequence[RefusalReason | None]:
        try:
            return [result for _, result in zip(writes, self._store.put(writes), strict=True)]
        except Exception as error:
            self._shared.faults.record("commit", error)
            return [RefusalReason.STORE_FAILED] * len(writes)

    def abandon(self, token: bytes) -> bool:
        """Let go of the lease that `token` says; return whether it was held. Raises MalformedRequest."""
        try:
            grant = self._tokens.verify(token, now_ms=self._shared.clock.now_ms())
        except ExpiredToken:
            return False
        except ForgedToken:
            raise MalformedRequest([_FORGED]) from None
        return self._shared.flight.leases.release(grant.lease, grant.holder)

    def _tell(self, admitted: Admitted, result: Stored) -> None:
        """Let those who wait look again: for their turn, or for what is stored now, whoever brought it.

        Whose lease was over, and is another's by now, stores all the same.
        """
        leases = self._shared.flight.leases
        try:
            told = bool(admitted.holder) and leases.release(admitted.lease, admitted.holder)
            if isinstance(admitted.result, Write) and result.refusal is None:
                for lease in leases_over(admitted.result.keys):
                    if not told or lease != admitted.lease:
                        leases.touch(lease)
        except Exception as error:  # what was stored is stored; a lease ends by itself
            self._shared.faults.record("telling who waits", error)

    def store(self, filed: Filed) -> Stored:
        """File one answer. Raises MalformedRequest."""
        return self.commit([self.admit(filed, Allowance())])[0]

    def _grant(self, filed: Filed, now_ms: int) -> tuple[Grant, Rule] | RefusalReason:
        if isinstance(filed.source, Descriptor):
            return self._grant_by_descriptor(filed.source, filed, now_ms)
        if filed.source is not None and filed.known_fields:
            return self._grant_by_token(filed.source, filed, now_ms)
        if filed.violations:
            raise MalformedRequest(list(filed.violations))
        return RefusalReason.UNREPRESENTABLE_CONTENT

    def _grant_by_token(self, token: bytes, filed: Filed, now_ms: int) -> tuple[Grant, Rule] | RefusalReason:
        granted: tuple[Grant, Rule] | RefusalReason = RefusalReason.NO_RULE
        violations = list(filed.violations)
        try:
            grant = self._tokens.verify(token, now_ms=now_ms)
        except ExpiredToken:
            granted = RefusalReason.TOKEN_EXPIRED
        except ForgedToken:
            violations += [] if any(one.field == _FORGED.field for one in violations) else [_FORGED]
        else:
            rule = next((rule for rule in self._shared.rules() if rule.id == grant.rule_id), None)
            if rule is not None:
                granted = grant, rule
                violations += ttl_violations("ttl", filed.ttl_ms, rule)
        if violations:
            raise MalformedRequest(violations)
        return granted

    def _grant_by_descriptor(
        self, descriptor: Descriptor, filed: Filed, now_ms: int
    ) -> tuple[Grant, Rule] | RefusalReason:
        """Derive the keys as a Lookup with mode REFRESH would: nothing is read, everything is judged."""
        asked = Asked(
            descriptor,
            Controls(mode=Mode.REFRESH, namespace=filed.namespace),
            known_fields=filed.known_fields,
            violations=filed.violations,
        )

        def more(rule: Rule, wanted: Descriptor) -> Sequence[Violation]:
            found = self._shared.driver.models.violations(rule, wanted)
            return [*found, *ttl_violations("ttl", filed.ttl_ms, rule)]

        plan = plan_for(asked, self._shared.rules(), more=more)
        deciding = decide(plan, now_ms=now_ms, token=self._shared.guard_token)
        decision = self._shared.driver.run(deciding, never, budget_ms=_EMBED_PATIENCE_MS)
        if decision.grant is not None and plan.rule is not None:
            return decision.grant, plan.rule
        reason = decision.bypass_reason
        return _as_refusal(reason) if reason is not None else RefusalReason.NO_MATCHER


def _admitted(result: Write | RefusalReason, grant: Grant) -> Admitted:
    return Admitted(result, grant.lease, grant.holder, grant.rule_id, grant)


def _admit(
    grant: Grant, rule: Rule, filed: Filed, allowance: Allowance, *, now_ms: int
) -> Write | RefusalReason:
    if filed.logging_disabled:
        return RefusalReason.LOGGING_DISABLED
    response = filed.response
    body = response.body.data
    small = len(body) <= rule.admission.max_body
    dense = small and not allowance.take_answer(body)
    facts = _look_into(grant, response) if small and not dense else AnswerFacts()
    refusal = why_refuse(grant, rule, response, facts)
    if refusal is not None:
        return refusal
    if dense:
        return RefusalReason.TOO_LARGE
    by_descriptor = isinstance(filed.source, Descriptor)
    wanted = write(
        grant, rule, response, facts, ttl_ms=filed.ttl_ms, now_ms=now_ms, by_descriptor=by_descriptor
    )
    return wanted if wanted.remove_ms > now_ms else RefusalReason.EXPIRED


def _look_into(grant: Grant, response: Response) -> AnswerFacts:
    return inspect(
        grant.dialect,
        grant.endpoint,
        stream=grant.stream,
        content_type=response.body.content_type,
        body=response.body.data,
    )


def _stored(admitted: Write | RefusalReason, refusal: RefusalReason | None) -> Stored:
    if refusal is not None or not isinstance(admitted, Write):
        return Stored(refusal)
    answer = admitted.answer
    return Stored(None, admitted.keys, answer.expire_ms, answer.store_ms)


def _as_refusal(reason: BypassReason) -> RefusalReason:
    """Return the refusal that repeats why the descriptor itself is not cacheable."""
    return RefusalReason.__members__.get(reason.name, RefusalReason.NO_MATCHER)
