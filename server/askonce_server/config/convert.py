"""Turns the rules of a configuration into the core's."""

from __future__ import annotations

from dataclasses import replace
from datetime import timedelta

from askonce_server.config.model import Config
from askonce_server.config.quantities import ONE_MS
from askonce_server.config.rule import DAY, AdmissionSection, EligibilitySection, MatchSection, RuleSection
from askonce_server.config.semantic import SemanticSection
from askonce_server.core.guards import GuardSettings
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import (
    Admission,
    Coalesce,
    Eligibility,
    Gray,
    Identity,
    KeyPolicy,
    Match,
    Rule,
    RuleMode,
    SemanticPolicy,
    Stale,
    Verified,
)
from askonce_server.core.vote import VoteShape
from askonce_server.core.voting import Start, VotePolicy

DEFAULT_MIN_TTL = timedelta(seconds=1)


def core_rules(config: Config) -> tuple[Rule, ...]:
    """Return the rules of `config`, in the order in which they are tried."""
    return tuple(core_rule(section) for section in config.rules)


def core_rule(section: RuleSection) -> Rule:
    """Return the core's rule of `section`, with the defaults that depend on other settings."""
    return Rule(
        id=section.id,
        match=_match(section.match),
        mode=RuleMode(section.mode),
        strategy=tuple(Matcher[name.upper()] for name in section.strategy),
        ttl_ms=section.ttl // ONE_MS,
        min_ttl_ms=least_ttl(section) // ONE_MS,
        max_ttl_ms=greatest_ttl(section) // ONE_MS,
        scope=section.scope,
        key=_key(section),
        eligibility=_eligibility(section.eligibility),
        admission=_admission(section.admission),
        semantic=_semantic(section),
        stale=Stale(
            on_request_ms=section.max_stale // ONE_MS,
            while_revalidate_ms=section.stale_while_revalidate // ONE_MS,
            if_error_ms=section.stale_if_error // ONE_MS,
        ),
        coalesce=_coalesce(section),
    )


def least_ttl(section: RuleSection) -> timedelta:
    """Return the least ttl that a request may ask for."""
    return section.min_ttl if section.min_ttl is not None else min(section.ttl, DEFAULT_MIN_TTL)


def greatest_ttl(section: RuleSection) -> timedelta:
    """Return the greatest ttl that a request may ask for."""
    return section.max_ttl if section.max_ttl is not None else max(section.ttl, DAY)


def _match(section: MatchSection) -> Match:
    return Match(
        endpoint=section.endpoint,
        dialect=section.dialect,
        provider=section.provider,
        model=section.model,
        stream=section.stream,
        attributes=section.attributes,
        scope=section.scope,
    )


def _key(section: RuleSection) -> KeyPolicy:
    semantic = section.semantic
    policy = KeyPolicy(
        identity=Identity(section.key.identity),
        stream_shared=section.key.stream == "shared",
        params_class=section.key.params == "class",
        ignore_params=tuple(sorted(section.key.ignore_params)),
        normalized_guard=section.normalized.guard,
        case_fold=section.normalized.case_fold,
    )
    if semantic is None:
        return policy
    return replace(
        policy,
        history_max_messages=semantic.history_max_messages,
        history_overflow=semantic.history_overflow,
    )


def _coalesce(section: RuleSection) -> Coalesce | None:
    if section.coalesce is None:
        return None
    return Coalesce(section.coalesce.lease // ONE_MS, section.coalesce.max_waiters)


def _semantic(section: RuleSection) -> SemanticPolicy | None:
    semantic = section.semantic
    if semantic is None or "semantic" not in section.strategy:
        return None
    return SemanticPolicy(
        embedder=semantic.embedder,
        threshold=semantic.threshold,
        low_threshold=semantic.low_threshold,
        verifier=Gray(semantic.verifier),
        budget_ms=semantic.budget // ONE_MS,
        tool_calls=semantic.tool_calls == "serve",
        store_text=semantic.store_text,
        guards=GuardSettings(**semantic.guards.model_dump()),
        vote=_vote(semantic),
        verified=_verified(semantic),
    )


def _verified(semantic: SemanticSection) -> Verified | None:
    section = semantic.verified
    if section is None:
        return None
    return Verified(section.max_wrong_hit_rate, section.confidence, section.min_labels)


def _vote(semantic: SemanticSection) -> VotePolicy | None:
    if semantic.policy == "fixed":
        return None
    shape = VoteShape(floor=semantic.threshold)
    if semantic.policy == "vote-fixed":
        return VotePolicy(fixed=semantic.vote, audit_every=semantic.audit_every, shape=shape)
    return VotePolicy(
        max_wrong=semantic.max_wrong_hit_rate,
        start=Start(semantic.start),
        min_labels=semantic.min_labels,
        audit_every=semantic.audit_every,
        shape=shape,
    )


def _eligibility(section: EligibilitySection) -> Eligibility:
    return Eligibility(
        sampled=section.sampling == "all",
        remote_content=section.remote_content == "allow",
        time_sensitive=tuple(word.casefold() for word in section.time_sensitive),
        max_content=section.max_content,
    )


def _admission(section: AdmissionSection) -> Admission:
    return Admission(
        tool_calls=section.tool_calls == "store",
        usage_required=section.usage == "required",
        max_body=section.max_body,
        validate_tool_json=section.tool_json == "validate",
        complete=section.complete,
        store_fallback=section.fallback == "store",
    )
