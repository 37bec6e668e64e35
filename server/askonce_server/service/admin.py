"""What operators do: look at an entry, delete it, purge what a generation covers."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from askonce_server.core import keys
from askonce_server.core.descriptor import Target
from askonce_server.core.entries import Entry, EntryKey
from askonce_server.core.rules import Rule
from askonce_server.ports import Clock, EntryStore, Randomness

_RANDOM_BYTES = 8
_TIME_BYTES = 8


@dataclass(frozen=True, slots=True)
class DimTarget:
    """Every scope that has this dim value."""

    name: str
    value: str


@dataclass(frozen=True, slots=True)
class ScopeTarget:
    """One whole scope."""

    dims: tuple[tuple[str, str], ...]
    """Names and values in the order of the rule."""
    namespace: str = ""
    """Empty: the entries that were stored without one."""


PurgeTarget = DimTarget | ScopeTarget | Target | None
"""What is purged; a Target stands for a model, None for everything."""


@dataclass(frozen=True, slots=True)
class Purged:
    """What a purge did, or would do."""

    entries: int
    """Entries that are unreachable now."""
    uncovered_rules: tuple[str, ...]
    """Rules whose answers it does not cover, since their scope lacks what it names."""
    rows_gone_by_ms: int
    """When the rows will have left the disk; 0 for what was only counted."""
    entries_left: int = 0
    """Of a whole scope: entries with all of its dim values that lie elsewhere, under another namespace or
    further dims."""


class AdminService:
    """Changes the store for operators. `purge_within_ms` is how long the rows of a purge may stay on disk."""

    def __init__(
        self,
        *,
        store: EntryStore,
        clock: Clock,
        randomness: Randomness,
        rules: Callable[[], Sequence[Rule]],
        purge_within_ms: int,
    ) -> None:
        self._store = store
        self._clock = clock
        self._randomness = randomness
        self._rules = rules
        self._purge_within_ms = purge_within_ms

    def now_ms(self) -> int:
        """Return the time that ages are counted to."""
        return self._clock.now_ms()

    def entry(self, entry_id: bytes) -> Entry | None:
        """Return the entry with that id, 32 bytes, or None. Raises StoreUnavailable."""
        with self._store.read() as view:
            return view.find(entry_id)

    def delete(self, entry_id: bytes) -> list[EntryKey]:
        """Delete the entries of the Store that made this one; return their keys. Raises StoreUnavailable."""
        return self._store.delete(entry_id, at_ms=self._clock.now_ms())

    def purge(self, target: PurgeTarget, *, dry_run: bool) -> Purged:
        """Make what `target` covers unreachable, for good. Raises StoreUnavailable when it was not done.

        It takes no longer for many entries than for few; the count beforehand walks scopes, not entries.
        """
        name = _generation(target)
        reach = self._store.reach([name])
        uncovered = tuple(rule.id for rule in self._rules() if not _covers(rule, target))
        left = self._left(target, reach.entries)
        if dry_run:
            return Purged(reach.entries, uncovered, 0, left)
        now_ms = self._clock.now_ms()
        value = now_ms.to_bytes(_TIME_BYTES, "big") + self._randomness.token(_RANDOM_BYTES)
        self._store.raise_generations({name: value}, at_ms=now_ms)
        return Purged(reach.entries, uncovered, now_ms + self._purge_within_ms, left)

    def _left(self, target: PurgeTarget, covered: int) -> int:
        """Count what a purge of a whole scope leaves of its dim values; it covers `covered` entries."""
        if not isinstance(target, ScopeTarget):
            return 0
        dims = [keys.dim_generation(name, value) for name, value in target.dims]
        return self._store.reach(dims, within=dims).entries - covered


def _generation(target: PurgeTarget) -> bytes:
    if target is None:
        return keys.EVERYTHING
    if isinstance(target, DimTarget):
        return keys.dim_generation(target.name, target.value)
    if isinstance(target, Target):
        return keys.model_generation(target.provider, target.model)
    parts = [part.encode() for dim in target.dims for part in dim]
    if target.namespace:
        parts.append(target.namespace.encode())
    return keys.scope_generation(keys.scope_root(parts))


def _covers(rule: Rule, target: PurgeTarget) -> bool:
    if isinstance(target, DimTarget):
        return target.name in rule.scope
    if isinstance(target, ScopeTarget):
        return tuple(name for name, _ in target.dims) == rule.scope
    return True
