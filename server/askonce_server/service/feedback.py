"""Feedback: somebody says of a served answer whether it was right."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from askonce_server.core.entries import EntryKey, Generations
from askonce_server.core.labels import Judgement, Label, Served
from askonce_server.core.proposed import Method, label_id
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Rule
from askonce_server.ports import Clock, EntryStore
from askonce_server.service.proposals import ExpiredToken
from askonce_server.service.tokens import FillTokens

_NO_GENERATIONS = Generations((), ())


class UnknownEntry(Exception):
    """There is no such entry, or it is none that was near."""


class FeedbackService:
    """Records judgements. What was wrong is not served again where it was, at once and in every worker."""

    def __init__(
        self, store: EntryStore, tokens: FillTokens, clock: Clock, rules: Callable[[], Sequence[Rule]]
    ) -> None:
        self._store = store
        self._tokens = tokens
        self._clock = clock
        self._rules = rules

    def by_token(self, token: bytes, judgement: Judgement, source: str) -> bool:
        """Record what is said of a hit; return whether it was. Raises ForgedToken, StoreUnavailable.

        It is not when the token is too old.
        """
        try:
            served = self._tokens.verify_served(token, now_ms=self._clock.now_ms())
        except ExpiredToken:
            return False
        label = self._label(served.key, served.generations, judgement, source)
        label = label._replace(
            label_id=served.proposed.label_id,
            rule_id=served.rule_id,
            similarity=served.proposed.similarity,
            ticket=served.proposed.ticket,
        )
        self._store.file_labels([label], {}, self._bars(label, served))
        return True

    def by_entry(self, entry_id: bytes, judgement: Judgement, source: str) -> None:
        """Record what is said of an entry, whatever was asked. Raises UnknownEntry, StoreUnavailable."""
        with self._store.read() as view:
            entry = view.find(entry_id)
        if entry is None or entry.key.matcher is not Matcher.SEMANTIC:
            raise UnknownEntry
        label = self._label(entry.key, _NO_GENERATIONS, judgement, source)
        label = label._replace(rule_id=entry.answer.rule_id)
        self._store.file_labels([label], {}, {} if label.right else {entry.key: b""})

    def _label(self, key: EntryKey, generations: Generations, judgement: Judgement, source: str) -> Label:
        now_ms = self._clock.now_ms()
        return Label(
            label_id=label_id(key.entry_id, source.encode(), now_ms=now_ms),
            at_ms=now_ms,
            rule_id="",
            method=Method.FEEDBACK,
            judgement=judgement,
            scope_key=key.scope_key,
            generations=generations,
            partition=key.partition,
            entry_id=key.entry_id,
            similarity=1.0,
            source=source,
        )

    def _bars(self, label: Label, served: Served) -> dict[EntryKey, bytes]:
        """Return what keeps a wrong answer from the same question; under a vote its standing does."""
        rule = next((rule for rule in self._rules() if rule.id == label.rule_id), None)
        voted = rule is not None and rule.semantic is not None and rule.semantic.vote is not None
        return {} if label.right or voted else {served.key: served.vector}
