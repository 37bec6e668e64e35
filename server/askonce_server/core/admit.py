"""Which answers may be stored. What the caller leaves unsaid counts against storing."""

from __future__ import annotations

from dataclasses import dataclass, replace

from askonce_server.core.decision import TOKEN_LIFE_MS
from askonce_server.core.descriptor import GENERATING_ENDPOINTS, Target
from askonce_server.core.entries import Answer, Body, Grant, Usage, Write
from askonce_server.core.finish import FILTERED, REFUSED, AnswerFacts, complete_reasons
from askonce_server.core.freshness import start_ms
from askonce_server.core.keys import key_policy
from askonce_server.core.reasons import RefusalReason
from askonce_server.core.rules import Identity, Rule, RuleMode

_NO_TARGET = Target()


@dataclass(frozen=True, slots=True)
class Response:
    """An answer of the provider with what the gateway says of it. Times are milliseconds since 1970."""

    body: Body
    status_code: int = 0
    finish_reasons: tuple[str, ...] = ()
    stream_complete: bool = False
    usage: Usage | None = None
    cost_usd: float | None = None
    contains_tool_calls: bool = False
    refused: bool = False
    output_guardrail_modified: bool = False
    guardrail_failed_open: bool = False
    cacheable: bool = True
    served: Target = _NO_TARGET
    """The upstream that answered. Empty: as looked up."""
    fallback_used: bool = False
    source_request_id: str = ""
    request_start_ms: int | None = None


def still_wanted(grant: Grant, rule: Rule) -> Grant | None:
    """Return `grant` with those of its keys that `rule` would derive anew; None when no key is left.

    A rule may have changed since the Lookup, and judges answers by what its keys say now: under others it
    would let in what they rule out, such as a fallback's answer under the key of another upstream.
    """
    if grant.scope_dims != rule.scope:
        return None
    kept = [
        (key, policy)
        for key, policy in zip(grant.keys, grant.policies, strict=True)
        if key.matcher in rule.strategy and policy == key_policy(rule.key, key.matcher)
    ]
    if len(kept) == len(grant.keys):
        return grant
    keys, policies = tuple(key for key, _ in kept), tuple(policy for _, policy in kept)
    return replace(grant, keys=keys, policies=policies) if kept else None


def why_refuse(grant: Grant, rule: Rule, response: Response, facts: AnswerFacts) -> RefusalReason | None:
    """Return why the answer must not be stored, or None. `facts` come from a look into the body."""
    return (
        _why_not_allowed(rule, response)
        or _why_not_served(grant, rule, response)
        or _why_not_whole(grant, rule, response, facts)
        or _why_not_sound(grant, rule, response, facts)
    )


def _why_not_allowed(rule: Rule, response: Response) -> RefusalReason | None:
    if rule.mode is RuleMode.OFF:
        return RefusalReason.DISABLED
    if not 200 <= response.status_code <= 299:
        return RefusalReason.UPSTREAM_ERROR
    return None if response.cacheable else RefusalReason.NOT_CACHEABLE


def _why_not_served(grant: Grant, rule: Rule, response: Response) -> RefusalReason | None:
    """Judge who answered: the key names an upstream, and only its answers belong there."""
    target = rule.key.identity is Identity.TARGET
    fallback = target and response.fallback_used
    welcome = fallback and rule.admission.store_fallback
    # Under `target` a gateway may look up before it routes: then there is nothing to contradict.
    unsaid = target and grant.served == _NO_TARGET
    if response.served not in (_NO_TARGET, grant.served) and not (welcome or unsaid):
        return RefusalReason.FALLBACK_SERVED if fallback else RefusalReason.SERVED_MISMATCH
    if response.fallback_used and not welcome:
        return RefusalReason.FALLBACK_SERVED
    return None


def _why_not_whole(grant: Grant, rule: Rule, response: Response, facts: AnswerFacts) -> RefusalReason | None:
    """Judge whether the answer came to its end, by what the gateway says and by what the body says."""
    if facts.error:
        return RefusalReason.UPSTREAM_ERROR
    if not _has_end(grant, response, facts):
        return RefusalReason.STREAM_INCOMPLETE
    if facts.empty:
        return RefusalReason.EMPTY
    if facts.cut:
        return RefusalReason.TRUNCATED
    if grant.endpoint not in GENERATING_ENDPOINTS:
        return None
    told = response.finish_reasons
    reasons = (*told, *filter(None, facts.finish_reasons))  # a body may leave it to the gateway to say
    if any(reason in FILTERED for reason in reasons):
        return RefusalReason.CONTENT_FILTERED
    if response.refused or facts.refused or any(reason in REFUSED for reason in reasons):
        return RefusalReason.REFUSAL
    complete = complete_reasons(grant.dialect) or frozenset(rule.admission.complete)
    if not told or any(reason not in complete for reason in reasons):
        return RefusalReason.TRUNCATED
    unheard = "" in facts.finish_reasons and len(told) < len(facts.finish_reasons)
    return RefusalReason.TRUNCATED if unheard else None  # nobody says how some choice ended


def _has_end(grant: Grant, response: Response, facts: AnswerFacts) -> bool:
    """Whether an answer that is a stream came to its terminal event.

    A gateway may gather a stream into one document, to be streamed anew: there is no event to look for then.
    A stream where a document was asked for speaks for itself.
    """
    if grant.stream:
        return response.stream_complete and (facts.terminal is not False or facts.wrong_shape)
    return not facts.wrong_shape or facts.terminal is not False


def _why_not_sound(grant: Grant, rule: Rule, response: Response, facts: AnswerFacts) -> RefusalReason | None:
    """Judge what the answer is worth to another reader."""
    admission = rule.admission
    if facts.wrong_shape and not grant.stream and not rule.key.stream_shared:
        return RefusalReason.NOT_CACHEABLE
    if response.output_guardrail_modified:
        return RefusalReason.GUARDRAIL_MODIFIED
    if response.guardrail_failed_open:
        return RefusalReason.GUARDRAIL_FAILED_OPEN
    if admission.usage_required and response.usage is None:
        return RefusalReason.NO_USAGE
    if len(response.body.data) > admission.max_body:
        return RefusalReason.TOO_LARGE
    if not admission.tool_calls and (response.contains_tool_calls or facts.contains_tool_calls):
        return RefusalReason.TOOL_CALLS
    if admission.validate_tool_json and facts.invalid_tool_json:
        return RefusalReason.INVALID_TOOL_JSON
    return None


def write(  # noqa: PLR0913 - one answer has this many sides
    grant: Grant,
    rule: Rule,
    response: Response,
    facts: AnswerFacts,
    *,
    ttl_ms: int | None,
    now_ms: int,
    by_descriptor: bool = False,
) -> Write:
    """Return what to store.

    The ttl is the Store's, else the Lookup's, else the rule's, and never above what the rule allows now; it
    counts from the start of the request that was answered. Of a Store `by_descriptor` that does not say when
    that was it is only known that it is no older than a fill token could be.
    """
    start = start_ms(response.request_start_ms, looked_up_ms=grant.start_ms, now_ms=now_ms)
    lifetime = next(ttl for ttl in (ttl_ms, grant.ttl_ms, rule.ttl_ms) if ttl is not None)
    answer = Answer(
        rule_id=rule.id,
        start_ms=start,
        store_ms=now_ms,
        expire_ms=start + min(lifetime, rule.max_ttl_ms),
        stream=_is_stream(grant, rule, facts),
        contains_tool_calls=response.contains_tool_calls or facts.contains_tool_calls,
        usage=response.usage,
        cost_usd=response.cost_usd,
        source_request_id=response.source_request_id,
    )
    return Write(
        grant.scope_root,
        grant.generations,
        grant.keys,
        answer,
        response.body,
        semantic=grant.semantic,
        stale_ms=rule.stale.longest_ms,
        by_descriptor=by_descriptor,
        outline=grant.outline,
        began_ms=now_ms - TOKEN_LIFE_MS if by_descriptor and response.request_start_ms is None else None,
    )


def _is_stream(grant: Grant, rule: Rule, facts: AnswerFacts) -> bool:
    """Return the shape of the body: where shapes share entries, what the body itself shows."""
    if rule.key.stream_shared and facts.wrong_shape:
        return not grant.stream
    return grant.stream
