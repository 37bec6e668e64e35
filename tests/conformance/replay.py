"""Derive the wants of the vectors with the server's own core; run alone, it prints every id it found."""

from __future__ import annotations

import dataclasses
import json
import sys
from functools import cache
from pathlib import Path
from typing import Any

from google.protobuf.json_format import ParseDict

from askonce.v1 import decision_service_pb2
from askonce_server.config.convert import core_rules
from askonce_server.config.load import load as load_config
from askonce_server.core import keys
from askonce_server.core.decide import decide
from askonce_server.core.decision import Decision, ReadGenerations
from askonce_server.core.derive import Derivation
from askonce_server.core.errors import MalformedRequest
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher, Outcome
from askonce_server.core.rules import Rule
from askonce_server.rpc import convert
from askonce_server.service.asked import plan_for

HERE = Path(__file__).resolve().parent
OTHERS = {"rules.json", "streams.json"}
FILES = sorted(path for path in HERE.glob("*.json") if path.name not in OTHERS)
NOW_MS = 1_700_000_000_000


def vectors() -> list[dict[str, Any]]:
    return [case for path in FILES for case in json.loads(path.read_text(encoding="utf-8"))["cases"]]


@cache
def rules() -> tuple[Rule, ...]:
    environ = {"HOME": "/nonexistent", "XDG_RUNTIME_DIR": "/nonexistent"}
    return core_rules(load_config(HERE / "rules.json", environ))


def found(case: dict[str, Any]) -> dict[str, Any]:
    """Return what the server makes of a case, in the shape of its want."""
    given = case["given"]
    request = decision_service_pb2.LookupRequest(anchor="anchor" in case["want"])
    ParseDict(given["descriptor"], request.descriptor)
    request.controls.namespace = given.get("namespace", "")
    try:
        plan = plan_for(convert.asked(request), rules())
    except MalformedRequest as malformed:
        return {"invalid": [violation.field for violation in malformed.violations]}
    if request.anchor:
        return {"anchor": plan.anchor}
    if plan.scope is None or plan.derivation is None or plan.rule is None:
        return {"bypass": plan.bypass_reason.name if plan.bypass_reason else None}
    generations = [bytes.fromhex(value) for value in given.get("generations", ())]
    generations = generations or [bytes(16)] * len(plan.scope.generation_names)
    if "semantic" in given:
        return {"semantic": _semantic(given["semantic"], plan, generations)}
    return _deterministic(plan, generations)


def _deterministic(plan: Plan, generations: list[bytes]) -> dict[str, Any]:
    decision = _decision(plan, generations)
    if decision.outcome is Outcome.BYPASS:
        return {"bypass": decision.bypass_reason.name if decision.bypass_reason else None}
    assert plan.scope is not None
    assert plan.derivation is not None
    assert plan.rule is not None
    assert decision.grant is not None
    wants: dict[str, Any] = {"scope_root": decision.grant.scope_root.hex()}
    for skip in decision.skipped:
        wants[skip.matcher.name.lower()] = {"skipped": skip.reason.name}
    for key in decision.grant.keys:
        material = plan.derivation.material(key.matcher)
        assert isinstance(material, bytes)
        digests = material.startswith(b"\x00")
        wants[key.matcher.name.lower()] = {
            **({"material_hex": material.hex()} if digests else {"material": material.decode()}),
            "fingerprint": key.fingerprint.hex(),
            "key_policy": keys.key_policy(plan.rule.key, key.matcher).hex(),
            "scope_key": key.scope_key.hex(),
            "entry_id": key.entry_id.hex(),
        }
    return wants


def _decision(plan: Plan, generations: list[bytes]) -> Decision:
    deciding = decide(plan, now_ms=NOW_MS)
    try:
        question = next(deciding)
        while True:
            reads = isinstance(question, ReadGenerations)
            question = deciding.send(tuple(generations) if reads else None)
    except StopIteration as done:
        decision: Decision = done.value
        return decision


def _semantic(settings: dict[str, Any], plan: Plan, generations: list[bytes]) -> dict[str, Any]:
    """Derive a semantic key as the rule would have it with these settings."""
    assert plan.rule is not None
    assert plan.scope is not None
    assert plan.derivation is not None
    last = settings["history_max_messages"]
    policy = dataclasses.replace(
        plan.rule.key, history_max_messages=last, history_overflow=settings["history_overflow"]
    )
    descriptor, parts = plan.request.descriptor, plan.derivation._parts
    derivation = Derivation(descriptor, policy, stream=plan.request.stream, parts=parts, reload=lambda: parts)
    surface = derivation.semantic()
    if isinstance(surface, BypassReason):
        return {"skipped": surface.name}
    key_policy = keys.key_policy(policy, Matcher.SEMANTIC)
    embedder = bytes.fromhex(settings["embedder_fingerprint"])
    scope = keys.scope_key(
        generations, Matcher.SEMANTIC, policy=key_policy, parts=plan.scope.parts, embedder=embedder
    )
    partition = keys.partition(scope, surface.context, history_max_messages=last)
    return {
        "text": surface.text,
        "context": surface.context.hex(),
        "key_policy": key_policy.hex(),
        "scope_key": scope.hex(),
        "partition": partition.hex(),
        "entry_id": keys.semantic_key(scope, partition, surface.text).entry_id.hex(),
    }


if __name__ == "__main__":
    json.dump({case["name"]: found(case) for case in vectors()}, sys.stdout, sort_keys=True)
