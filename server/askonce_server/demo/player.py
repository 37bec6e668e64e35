"""Plays the cases through a running sidecar: Lookup, and after a miss the provider's answer and a Store."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from askonce import AskOnce, Decision, Descriptor, StoreResult, Target, UpstreamResponse
from askonce.descriptor import ProviderBody
from askonce.enums import BypassReason, MatchKind, Outcome
from askonce_server.demo.corpus import DemoCase

BUDGET_SECONDS = 2.0
"""Far above what a gateway would allow: the first call of a demo also opens the connection."""


@dataclass(frozen=True, slots=True)
class Played:
    """One case as it was decided."""

    case: DemoCase
    decision: Decision
    stored: StoreResult | None
    """What became of the answer; None when there was nothing to store."""
    expected: str
    """As the corpus says it."""

    @property
    def result(self) -> str:
        """What became of it, in the corpus's words."""
        decision = self.decision
        if decision.outcome is Outcome.HIT:
            return f"hit {decision.kind.name.lower()}"
        if decision.outcome is not Outcome.MISS:
            return f"bypass {decision.bypass_reason.name.lower()}"
        if self.stored is None:
            return f"miss {decision.deny_reason.name.lower()}" if decision.deny_reason else "miss"
        return (
            "miss, stored"
            if self.stored.stored
            else f"miss, refused {self.stored.refusal_reason.name.lower()}"
        )

    @property
    def as_expected(self) -> bool:
        """Whether the corpus expected it. Where it expects a bare miss, any Store will do."""
        return self.result == self.expected or (self.expected == "miss" and self.result.startswith("miss"))

    @property
    def right_body(self) -> bool:
        """Whether a hit brought bytes that were stored for it; true for everything else."""
        return not self.decision.hit or self.decision.body == self.case.answer

    @property
    def note(self) -> str:
        """Why, as far as the decision says: a skipped matcher, a denied candidate, the client's own error."""
        decision = self.decision
        if decision.error is not None:
            return str(decision.error)
        if decision.deny_reason:
            return decision.deny_reason.name.lower()
        skips = [
            f"{skip.matcher.name.lower()} skipped: {skip.reason.name.lower()}" for skip in decision.skipped
        ]
        if skips:
            return ", ".join(skips)
        if decision.bypass_reason is not BypassReason.NONE:
            return decision.bypass_reason.name.lower()
        return ""

    @property
    def entry(self) -> str:
        """The first seven characters of the entry that was found or written."""
        if self.decision.candidate is not None:
            return self.decision.candidate.entry_sha7
        if self.stored is not None and self.stored.entries:
            return self.stored.entries[0].entry_id[:7]
        return ""

    @property
    def similarity(self) -> str:
        """How near the candidate was, where that was asked."""
        candidate = self.decision.candidate
        return "" if candidate is None or candidate.similarity is None else f"{candidate.similarity:.3f}"

    @property
    def kind(self) -> str:
        """The matcher that answered."""
        kind = self.decision.kind
        return "" if kind is MatchKind.NONE else kind.name.lower()


def play(client: AskOnce, cases: list[DemoCase], *, second: bool) -> Iterator[Played]:
    """Play `cases` in order, once; `second` says which of their expectations holds."""
    for case in cases:
        decision = client.lookup(_descriptor(case), budget=BUDGET_SECONDS)
        stored = None
        if decision.store_answer and case.status:
            stored = client.store(decision, _response(case))
        yield Played(case, decision, stored, case.second if second else case.first)


def _descriptor(case: DemoCase) -> Descriptor:
    return Descriptor(
        dialect=case.dialect,
        endpoint=case.endpoint,
        content=ProviderBody(case.body),
        served=Target(case.provider, case.model),
        scope=case.scope,
    )


def _response(case: DemoCase) -> UpstreamResponse:
    return UpstreamResponse(
        body=case.answer,
        content_type=case.content_type,
        status_code=case.status,
        finish_reasons=case.finish_reasons,
        stream_complete=case.stream_complete,
        source_request_id=case.title,
    )
