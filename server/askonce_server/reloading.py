"""Going by another configuration while the server runs: at a signal, or when the file has changed.

Rules are exchanged at once, all or none. What else differs takes a start, and is named.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import replace

from askonce_server.config.convert import core_rules
from askonce_server.config.load import ConfigError
from askonce_server.config.model import Config
from askonce_server.config.reload import ConfigFile, fixed_changes
from askonce_server.core.changes import cold_matchers
from askonce_server.core.rules import Rule
from askonce_server.ports import StoreUnavailable

_log = logging.getLogger("askonce")

Rules = Sequence[Rule]


class Reloading:
    """Reads the configuration again and hands its rules on."""

    def __init__(
        self,
        file: ConfigFile,
        *,
        exchange: Callable[[Rules], Rules],
        entries: Callable[[], Mapping[str, int]],
        embedders: Collection[str],
        most_waiters: int,
    ) -> None:
        """Keep to `file`.

        `exchange` puts rules in the place of those that it returns, `entries` counts what each rule stored,
        `embedders` are there, and no rule lets more than `most_waiters` wait.
        """
        self._file = file
        self._exchange = exchange
        self._entries = entries
        self._embedders = embedders
        self._most_waiters = most_waiters

    def look(self, *, asked: bool = False) -> None:
        """Take over what the file says, where that is new; `asked` by an operator, say so in any case."""
        try:
            config = self._file.look(at_once=asked)
        except ConfigError as error:
            problems = "; ".join(str(error).splitlines())
            _log.error("the configuration has mistakes, and the one before it stays: %s", problems)
            return
        if config is not None:
            self._take(config)
        elif asked:
            _log.info("%s says what it said before", self._file.path)

    def _take(self, config: Config) -> None:
        after = [self._bounded(rule) for rule in core_rules(config)]
        before = self._exchange(tuple(after))
        _log.info("%s was read again: %d rules are in force", self._file.path, len(after))
        fixed = fixed_changes(self._file.running, config)
        if fixed:
            _log.warning("changed, but taken over at the next start alone: %s", ", ".join(fixed))
        self._tell_what_is_missing(after)
        self._tell(before, after)

    def _tell_what_is_missing(self, rules: Rules) -> None:
        for rule in rules:
            if rule.semantic is not None and rule.semantic.embedder not in self._embedders:
                _log.warning(
                    "rule %s skips the semantic matcher: its embedder %s is loaded at the next start",
                    rule.id,
                    rule.semantic.embedder,
                )

    def _bounded(self, rule: Rule) -> Rule:
        if rule.coalesce is None or rule.coalesce.max_waiters <= self._most_waiters:
            return rule
        _log.warning(
            "rule %s: coalesce.max_waiters is %d until the server is started again",
            rule.id,
            self._most_waiters,
        )
        return replace(rule, coalesce=replace(rule.coalesce, max_waiters=self._most_waiters))

    def _tell(self, before: Rules, after: Rules) -> None:
        """Say which rules come, go, and start cold."""
        old, new = ({rule.id: rule for rule in rules} for rules in (before, after))
        cold = {name: cold_matchers(old[name], rule) for name, rule in new.items() if name in old}
        counts = self._counts() if any(cold.values()) else {}
        for name in new.keys() - old.keys():
            _log.info("rule %s is new", name)
        for name in old.keys() - new.keys():
            _log.info("rule %s is gone", name)
        for name, matchers in cold.items():
            if matchers:
                _log.warning(
                    "rule %s makes other keys for %s and starts cold there; of the %s entries that it stored "
                    "before, those are not found any more",
                    name,
                    " and ".join(matcher.name.lower() for matcher in matchers),
                    counts.get(name, 0) if counts is not None else "uncounted",
                )

    def _counts(self) -> Mapping[str, int] | None:
        try:
            return self._entries()
        except StoreUnavailable:
            return None
