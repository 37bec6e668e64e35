"""What became of the entries that a request would have found, and what else is stored in its scope."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from askonce_server.core import keys
from askonce_server.core.entries import Entry, EntryKey
from askonce_server.core.fates import Fate, Gone
from askonce_server.core.freshness import living_under
from askonce_server.core.guards import Token
from askonce_server.core.outline import with_embedder
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher, RefusalReason
from askonce_server.core.rules import Rule
from askonce_server.core.segments import Difference, Subject
from askonce_server.ports import Kept, ReadView
from askonce_server.service.nearest import NearAnswer, Nearest

LOOKED = 256
"""So many of the newest answers of a scope are looked at: about 5 ms of a read transaction."""


@dataclass(frozen=True, slots=True)
class Whereabouts:
    """What became of one matcher's entry."""

    matcher: Matcher
    entry_id: bytes
    fate: Fate
    at_ms: int | None = None
    """When it was stored, expired, removed or refused; None: unknown."""
    refusal: RefusalReason | None = None
    note: str = ""
    """What is to be said besides."""


@dataclass(frozen=True, slots=True)
class ScopeSeen:
    """What is stored in a scope."""

    dims: tuple[str, ...]
    namespace: bool
    answers: int
    bounded: bool
    """Whether there are more than were looked at."""
    last_purge_ms: int | None
    last_purge_of: str


@dataclass(frozen=True, slots=True)
class Found:
    """All that the store tells about one request."""

    whereabouts: tuple[Whereabouts, ...]
    scope: ScopeSeen
    nearest: tuple[NearAnswer, ...]


class Search:
    """Looks for what a request would have found, over one view. `embedder` is a fingerprint, where known."""

    def __init__(  # noqa: PLR0913 - what a search is made of
        self, view: ReadView, plan: Plan, subject: Subject, *, now_ms: int, embedder: bytes, token: Token
    ) -> None:
        assert plan.rule is not None
        assert plan.scope is not None
        assert plan.derivation is not None
        self._view = view
        self._archive = view.archive
        self._rule: Rule = plan.rule
        self._scope = plan.scope
        self._derivation = plan.derivation
        self._controls = plan.request.controls
        self._now_ms = now_ms
        self._embedder = embedder
        mine = plan.derivation.outline(token)
        mine = with_embedder(mine, embedder, token) if embedder else mine
        self._nearest = Nearest(subject, plan.rule, mine, token)
        self._values = view.generations(plan.scope.generation_names)
        self._raised = self._archive.raised_ms(plan.scope.generation_names)
        self._kept: Sequence[Kept] = self._archive.newest(plan.scope.root, limit=LOOKED + 1)

    def run(self) -> Found:
        """Return what there is. Raises StoreUnavailable, Unrepresentable."""
        wanted = [key for matcher in self._rule.strategy if (key := self._key(matcher)) is not None]
        there = {key: self._view.entry(key) for key in wanted}
        looked = [
            (kept, list(self._apart(kept)))
            for kept in self._kept[:LOOKED]
            if not any(there.get(entry.key) == entry for entry in kept.entries)
        ]
        return Found(
            tuple(self._whereabouts(key, entry) for key, entry in there.items()),
            self._seen(),
            self._nearest.of(looked),
        )

    def _seen(self) -> ScopeSeen:
        labels = ("everything", "model", *(f"dim {name}" for name in self._rule.scope), "scope")
        purges = [
            (at_ms, label) for at_ms, label in zip(self._raised, labels, strict=True) if at_ms is not None
        ]
        last_ms, last = max(purges, default=(None, ""))
        return ScopeSeen(
            dims=self._rule.scope,
            namespace=bool(self._controls.namespace),
            answers=min(len(self._kept), LOOKED),
            bounded=len(self._kept) > LOOKED,
            last_purge_ms=last_ms,
            last_purge_of=last,
        )

    def _scope_key(self, matcher: Matcher) -> bytes:
        return keys.scope_key(
            self._values,
            matcher,
            policy=keys.key_policy(self._rule.key, matcher),
            parts=self._scope.parts,
            embedder=self._embedder if matcher is Matcher.SEMANTIC else b"",
        )

    def _key(self, matcher: Matcher) -> EntryKey | None:
        """Return where the matcher's entry would be now; None where it has no key, or no vector."""
        scope_key = self._scope_key(matcher)
        if matcher is not Matcher.SEMANTIC:
            fingerprint = self._derivation.fingerprint(matcher)
            return (
                None
                if isinstance(fingerprint, BypassReason)
                else keys.entry_key(matcher, scope_key, fingerprint)
            )
        surface = self._derivation.semantic()
        if isinstance(surface, BypassReason) or not self._embedder:
            return None
        partition = keys.partition(
            scope_key, surface.context, history_max_messages=self._rule.key.history_max_messages
        )
        return keys.semantic_key(scope_key, partition, surface.text)

    def _whereabouts(self, key: EntryKey, entry: Entry | None) -> Whereabouts:
        if entry is None:
            return self._missing(key)
        ends_ms = living_under(entry, self._rule).answer.expire_ms
        if ends_ms <= self._now_ms:
            return Whereabouts(key.matcher, key.entry_id, Fate.EXPIRED, ends_ms)
        note = "" if self._archive.holds_body(entry) else "its answer cannot be read"
        return Whereabouts(key.matcher, key.entry_id, Fate.LIVE, entry.answer.store_ms, note=note)

    def _missing(self, key: EntryKey) -> Whereabouts:
        """Say why there is no entry, by what happened to it last."""
        gone = self._archive.gone(key, self._scope.root)
        old = self._old(key)
        note = ""
        if old is not None:
            raised_ms = self._raised_since(old)
            if raised_ms is not None:
                purged = Gone(Fate.PURGED, raised_ms)
                gone = purged if gone is None or gone.at_ms < raised_ms else gone
            elif gone is None:
                note = "the same request was stored under other key settings"
                note += " or with another embedder" if key.matcher is Matcher.SEMANTIC else ""
        if gone is None:
            return Whereabouts(key.matcher, key.entry_id, Fate.UNKNOWN, note=note)
        if gone.fate is Fate.PURGED:  # it is remembered when its rows were removed, some time after the purge
            raised = [at_ms for at_ms in self._raised if at_ms is not None and at_ms <= gone.at_ms]
            gone = gone._replace(at_ms=max(raised, default=gone.at_ms))
        return Whereabouts(key.matcher, key.entry_id, gone.fate, gone.at_ms, gone.refusal)

    def _old(self, key: EntryKey) -> Entry | None:
        """Return the newest entry of the same request under another scope key."""
        for kept in self._kept:
            for entry in kept.entries:
                same = (entry.key.matcher, entry.key.fingerprint) == (key.matcher, key.fingerprint)
                if not same or entry.key.scope_key == key.scope_key:
                    continue
                if key.matcher is not Matcher.SEMANTIC or self._nearest.same(kept):
                    return entry
        return None

    def _raised_since(self, entry: Entry) -> int | None:
        """Return when a generation of the request was raised after `entry` was stored, the last time."""
        since = [at_ms for at_ms in self._raised if at_ms is not None and at_ms >= entry.answer.start_ms]
        return max(since, default=None)

    def _apart(self, kept: Kept) -> Iterator[Difference]:
        """Say what tells a stored answer apart besides its outline."""
        rule_ids = dict.fromkeys(entry.answer.rule_id for entry in kept.entries)
        if rule_ids and self._rule.id not in rule_ids:
            yield Difference("rule", "", f"was stored under {', '.join(rule_ids)}")
        moved = [
            entry
            for entry in kept.entries
            if entry.key.matcher in self._rule.strategy
            and entry.key.matcher is not Matcher.SEMANTIC
            and entry.key.scope_key != self._scope_key(entry.key.matcher)
        ]
        purged = [entry for entry in kept.entries if self._raised_since(entry) is not None]
        if purged and (moved or all(entry.key.matcher is Matcher.SEMANTIC for entry in kept.entries)):
            told = tuple(m for m in self._rule.strategy if m in {entry.key.matcher for entry in kept.entries})
            yield Difference("generation", "", "was stored before a purge", told)
