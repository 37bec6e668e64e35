"""The models of a configuration, made of concrete adapters for `app`."""

from __future__ import annotations

import logging
from collections.abc import Mapping

from askonce_server.config.embedders import Embedder as EmbedderSection
from askonce_server.config.model import Config
from askonce_server.core.rules import Gray
from askonce_server.embed import build, build_queued
from askonce_server.index import FaissVectorIndex
from askonce_server.ports import Embedder, EmbedderUnavailable, EntryStore, Verifier, VerifierUnavailable
from askonce_server.service.faults import FaultLog
from askonce_server.service.models import Models
from askonce_server.verify import KReciprocalVerifier
from askonce_server.verify import build_queued as build_judge

_log = logging.getLogger("askonce")
_FREE_SHARE = 4
"""One in so many threads never waits for a model."""


def models(config: Config, store: EntryStore, faults: FaultLog) -> Models:
    """Load what the rules of `config` name. What cannot be loaded is logged, and skipped by each Lookup."""
    return Models(
        embedders=_embedders(config),
        verifiers=_verifiers(config),
        index=FaissVectorIndex(store.read, max_bytes=config.index.max_bytes),
        faults=faults,
        slots=max(1, config.threads - config.threads // _FREE_SHARE),
    )


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
