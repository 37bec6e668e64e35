"""What an operator should know of a configuration that is valid all the same."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

from askonce_server.config.model import Config
from askonce_server.config.problems import Problem
from askonce_server.config.quantities import format_size, format_time
from askonce_server.config.rule import MatchSection, RuleSection
from askonce_server.config.semantic import SemanticSection

_LEAST_JUDGED = timedelta(milliseconds=200)
"""What a small chat model on a machine of its own takes for one word."""


def notes(config: Config) -> list[Problem]:
    """Return settings that have no effect, or another one than they seem to."""
    return [Problem(path, message) for path, message in _notes(config)]


def _notes(config: Config) -> Iterator[tuple[str, str]]:
    if config.max_in_flight_bytes < config.max_request:
        limit = format_size(config.max_in_flight_bytes)
        yield "max_in_flight_bytes", f"is less than max_request, so no call above {limit} is ever taken"
    if config.store.engine == "memory":
        yield "store.engine", "is memory, which forgets every answer when the server stops"
    yield from _encryption_notes(config)
    if not config.rules:
        yield "rules", "is empty, so nothing is cached"
    used = {rule.semantic.embedder for rule in config.rules if rule.semantic is not None}
    for name in config.embedders:
        if name not in used:
            yield f"embedders.{name}", "is used by no rule"
    judged = any(rule.semantic is not None and rule.semantic.verifier == "judge" for rule in config.rules)
    if config.judge is not None and not judged:
        yield "judge", "is asked by no rule"
    yield from _unreachable(config.rules)
    for at, rule in enumerate(config.rules):
        for path, message in _rule_notes(rule, config):
            yield f"rules[{at}].{path}", message


def _encryption_notes(config: Config) -> Iterator[tuple[str, str]]:
    encryption = config.store.encryption
    if encryption is not None and config.store.engine == "memory":
        yield "store.encryption", "has no effect, since engine is memory and nothing is written to a disk"
    elif encryption is not None and not encryption.enabled:
        yield "store.encryption.enabled", "is off, so answers are written in plain and the keys only read"


def _unreachable(rules: tuple[RuleSection, ...]) -> Iterator[tuple[str, str]]:
    catch_all = next((at for at, rule in enumerate(rules) if rule.match == MatchSection()), len(rules))
    for at in range(catch_all + 1, len(rules)):
        yield f"rules[{at}]", f"is never reached, since rules[{catch_all}] matches every request"


def _verifier_notes(semantic: SemanticSection) -> Iterator[tuple[str, str]]:
    if semantic.verifier == "none":
        if semantic.low_threshold > 0:
            yield "semantic.low_threshold", "has no effect, since verifier is none"
        return
    if semantic.low_threshold == 0:
        yield "semantic.verifier", "is never asked, since low_threshold is 0: there is no gray band"
    if semantic.verifier == "judge" and semantic.budget < _LEAST_JUDGED:
        budget = format_time(semantic.budget)
        yield "semantic.budget", f"is {budget}, and few chat models answer within that"


def _rule_notes(rule: RuleSection, config: Config) -> Iterator[tuple[str, str]]:
    if rule.semantic is not None and "semantic" not in rule.strategy:
        yield "semantic", "has no effect, since strategy does not name semantic"
    elif rule.semantic is not None:
        yield from _verifier_notes(rule.semantic)
    if "normalized" in rule.model_fields_set and "normalized" not in rule.strategy:
        yield "normalized", "has no effect, since strategy does not name normalized"
    if rule.admission.max_body > config.max_response:
        limit = format_size(config.max_response)
        yield "admission.max_body", f"is more than max_response ({limit}), so no batch serves larger answers"
    elif rule.admission.max_body >= config.max_request:
        limit = format_size(config.max_request)
        yield "admission.max_body", f"is not less than max_request ({limit}), so larger answers never arrive"
    if not rule.scope:
        yield "scope", "is empty: everybody shares the answers of this rule"
