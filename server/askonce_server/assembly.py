"""The store and the models of a configuration, made of concrete adapters for `app`."""

from __future__ import annotations

import logging
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace

from askonce_server.clock import BootClock, FollowingClock
from askonce_server.config.embedders import Embedder as EmbedderSection
from askonce_server.config.model import Config
from askonce_server.core.rules import Gray, SemanticPolicy
from askonce_server.embed import build, build_queued
from askonce_server.index import FaissVectorIndex
from askonce_server.ports import (
    Clock,
    Embedder,
    EmbedderUnavailable,
    EntryStore,
    StoreUnavailable,
    Verifier,
    VerifierUnavailable,
)
from askonce_server.service.faults import FaultLog
from askonce_server.service.guard_key import GuardKey
from askonce_server.service.labelling import Labelling
from askonce_server.service.ledgers import Ledgers, epoch_of
from askonce_server.service.models import EmbeddingTaker, Models
from askonce_server.service.proofs import Proofs
from askonce_server.service.tallies import Tallies
from askonce_server.service.tokens import FillTokens
from askonce_server.store import (
    LmdbEntryStore,
    MemoryEntryStore,
    ReopeningStore,
    StoreSettings,
    keyring,
    open_store,
)
from askonce_server.truth.compare import Comparator
from askonce_server.verify import KReciprocalVerifier
from askonce_server.verify import build_queued as build_judge
from askonce_server.workers.identity import Worker

_log = logging.getLogger("askonce")
_KEY_BYTES = 32
_FREE_SHARE = 4
"""One in so many threads never waits for a model."""


@dataclass(slots=True)
class Kept:
    """The store of a configuration, and what goes by it whenever it is opened anew."""

    tokens: FillTokens
    store: EntryStore = field(init=False)
    clock: Clock = field(default_factory=FollowingClock)
    """Entries are judged by the time that they were stored by."""
    guard_key: GuardKey = field(default_factory=lambda: GuardKey(os.urandom(_KEY_BYTES)))
    followers: list[Callable[[], None]] = field(default_factory=list)
    """Told when another store is about to be read."""


def keep(config: Config, worker: Worker | None, *, pool: int, key: bytes | None) -> Kept:
    """Open the store of `config`, or what stands in for it until it can be opened.

    Tokens are signed with `key`; without one with the store's own, so that they outlive this process.
    """
    section = config.store
    kept = Kept(FillTokens(os.urandom(_KEY_BYTES) if key is None else key))
    if section.engine == "memory":
        kept.store, kept.clock = MemoryEntryStore(max_bytes=section.max_bytes), BootClock()
        return kept
    settings = StoreSettings(
        path=section.path,
        max_bytes=section.max_bytes,
        durability=section.durability,
        write_timeout=section.write_timeout.total_seconds(),
        workers=config.workers,
        pool=pool,
        instance="" if worker is None else worker.instance,
        counts=None if worker is None else worker.stored,
    )
    clock = FollowingClock()

    def opened() -> LmdbEntryStore:
        keyed = replace(settings, keys=keyring(section))
        store, its_clock, its_key = _open_lmdb(keyed, kept.guard_key)
        clock.follow(its_clock)
        if key is None:
            kept.tokens.use(its_key)
        for follow in kept.followers:
            follow()
        return store

    kept.store, kept.clock = ReopeningStore(opened), clock
    return kept


def _open_lmdb(settings: StoreSettings, guard_key: GuardKey) -> tuple[LmdbEntryStore, BootClock, bytes]:
    """Open the store with what it keeps for its process. Raises StoreUnavailable, whatever the fault."""
    store: LmdbEntryStore | None = None
    try:
        store = open_store(settings, exclusive=not settings.instance)
        guard_key.follow(store.settle_guard_key(os.urandom(_KEY_BYTES)))
        return store, BootClock(store), store.settle_token_key(os.urandom(_KEY_BYTES))
    except Exception as fault:
        if store is not None:
            store.close()
        if isinstance(fault, StoreUnavailable):
            raise
        raise StoreUnavailable(f"the store at {settings.path} cannot be opened: {fault!r}") from fault


def models(config: Config, store: EntryStore, faults: FaultLog, tallies: Tallies) -> Models:
    """Load what the rules of `config` name. What cannot be loaded is logged, and skipped by each Lookup."""
    return Models(
        embedders=_embedders(config),
        verifiers=_verifiers(config),
        index=FaissVectorIndex(store.read, max_bytes=config.index.max_bytes),
        faults=faults,
        slots=max(1, config.threads - config.threads // _FREE_SHARE),
        took=tallies.took,
    )


def labelling(
    config: Config, kept: Kept, models: Models, faults: FaultLog, tallies: Tallies
) -> tuple[Labelling, Proofs]:
    """Return what compares answers and learns from it, under whatever rules, and what its labels bear."""
    comparators: dict[str, Comparator] = {}

    def comparator(policy: SemanticPolicy) -> Comparator:
        known = comparators.get(policy.embedder)
        if known is None:
            found = models.embedders.get(policy.embedder)
            whole = found is not None and not isinstance(found, EmbeddingTaker)
            known = comparators[policy.embedder] = Comparator(found if whole else None)
        return known

    ledgers = Ledgers(
        kept.store,
        comparator=lambda policy: comparator(policy).fingerprint,
        key=lambda: kept.guard_key.key,
        workers=config.workers,
    )
    kept.followers.append(ledgers.forget)

    def epoch(policy: SemanticPolicy) -> bytes:
        found = models.embedders.get(policy.embedder)
        embedder = b"" if found is None else found.fingerprint
        return epoch_of(policy, embedder=embedder, comparator=comparator(policy).fingerprint)

    labelling = Labelling(
        store=kept.store,
        index=models.index,
        comparator=comparator,
        ledgers=ledgers,
        clock=kept.clock,
        epoch=epoch,
        lost=tallies.lost_comparison,
        faults=faults,
    )
    return labelling, Proofs(kept.store, ledgers, epoch=epoch)


def embedder(name: str, section: EmbedderSection) -> Embedder:
    """Return one embedder by itself, for tools. Raises EmbedderUnavailable."""
    return build(name, section)


def _embedders(config: Config) -> Mapping[str, Embedder]:
    """Load the embedders that rules name: a model that nobody asks takes no memory."""
    wanted = {rule.semantic.embedder for rule in config.rules if rule.semantic is not None}
    loaded: dict[str, Embedder] = {}
    for name, section in config.embedders.items():
        if name not in wanted:
            continue
        try:
            loaded[name] = build_queued(name, section)
        except EmbedderUnavailable as unavailable:
            _log.error("%s; rules that name it skip the semantic matcher", unavailable)
    return loaded


def _verifiers(config: Config) -> Mapping[Gray, Verifier]:
    verifiers: dict[Gray, Verifier] = {Gray.KRECIPROCAL: KReciprocalVerifier()}
    asked = {rule.semantic.verifier for rule in config.rules if rule.semantic is not None}
    if config.judge is not None and "judge" in asked:
        try:
            verifiers[Gray.JUDGE] = build_judge(config.judge)
        except VerifierUnavailable as unavailable:
            _log.error("%s; candidates in the gray band are not served", unavailable)
    return verifiers
