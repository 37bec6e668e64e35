"""What a rule that was changed no longer finds."""

from __future__ import annotations

from askonce_server.core.keys import key_policy
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Rule


def cold_matchers(before: Rule, after: Rule) -> tuple[Matcher, ...]:
    """Return the matchers that find nothing of what they stored under `before`: other keys are made.

    A matcher that is new in `after` has stored nothing yet, and is none of them.
    """
    return tuple(
        matcher
        for matcher in after.strategy
        if matcher in before.strategy
        and (
            before.scope != after.scope
            or key_policy(before.key, matcher) != key_policy(after.key, matcher)
            or (matcher is Matcher.SEMANTIC and _embedder(before) != _embedder(after))
        )
    )


def _embedder(rule: Rule) -> str:
    return "" if rule.semantic is None else rule.semantic.embedder
