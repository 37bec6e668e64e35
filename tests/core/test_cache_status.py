"""The Cache-Status field: the syntax of RFC 9211, and what each decision says."""

from __future__ import annotations

import re
from dataclasses import replace

import pytest

from askonce_server.core.cache_status import of_decision, of_store
from askonce_server.core.decision import Candidate, Decision
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Outcome, RefusalReason
from core.builders import HOUR, NOW, entry, keys_of, said

KEY = keys_of(said("hi"))[Matcher.EXACT]
CANDIDATE = Candidate(entry(KEY))
HIT = Decision(Outcome.HIT, NOW + 1_500, kind=Matcher.EXACT, candidate=CANDIDATE)
MISS = Decision(Outcome.MISS, NOW)

# RFC 8941: an item of a list with parameters; values are tokens or integers here
PARAMETER = re.compile(r"; ([a-z*][a-z0-9_.*-]*)(?:=(-?[0-9]{1,15}|[A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*))?")
FORWARDS = {"bypass", "method", "uri-miss", "vary-miss", "miss", "request", "stale", "partial"}


def read(field):
    """Return the parameters of a field of one member; true stands for a parameter without value."""
    name, rest = re.match(r"([A-Za-z*][A-Za-z0-9!#$%&'*+.^_`|~:/-]*)(.*)", field).groups()
    assert name == "askonce"
    found, at = {}, 0
    while at < len(rest):
        parameter = PARAMETER.match(rest, at)
        assert parameter, rest[at:]
        assert parameter[1] not in found
        found[parameter[1]] = parameter[2] if parameter[2] is not None else True
        at = parameter.end()
    return found


def decisions():
    yield HIT
    yield replace(HIT, kind=Matcher.NORMALIZED)
    yield MISS
    yield replace(MISS, shadow=True, candidate=CANDIDATE)
    for bypassed in [None, *BypassReason]:
        yield Decision(Outcome.BYPASS, NOW, bypass_reason=bypassed)
    for denied in DenyReason:
        yield replace(MISS, deny_reason=denied, candidate=CANDIDATE)


@pytest.mark.parametrize("decision", list(decisions()), ids=repr)
def test_hit_and_fwd_exclude_each_other(decision):
    found = read(of_decision(decision))
    assert ("hit" in found) is (decision.outcome is Outcome.HIT)
    assert ("fwd" in found) is (decision.outcome is not Outcome.HIT)
    assert found.get("hit", True) is True
    assert found.get("fwd", "miss") in FORWARDS
    assert "stored" not in found
    assert "collapsed" not in found


def test_a_hit_says_what_is_left_of_its_ttl_in_whole_seconds():
    assert of_decision(HIT) == "askonce; hit; ttl=3598; detail=exact"
    last = replace(HIT, now_ms=NOW + HOUR - 1, kind=Matcher.NORMALIZED)
    assert of_decision(last) == "askonce; hit; ttl=0; detail=normalized"


def test_misses_say_why():
    assert of_decision(MISS) == "askonce; fwd=miss"
    assert of_decision(replace(MISS, shadow=True)) == "askonce; fwd=miss; detail=shadow"
    assert read(of_decision(replace(MISS, deny_reason=DenyReason.EXPIRED))) == {
        "fwd": "stale",
        "detail": "expired",
    }
    for denied in (DenyReason.TOO_OLD, DenyReason.REFRESH, DenyReason.STREAM_SHAPE):
        found = read(of_decision(replace(MISS, deny_reason=denied)))
        assert found == {"fwd": "request", "detail": denied.name.lower()}


def test_bypasses_say_why():
    bypassed = Decision(Outcome.BYPASS, NOW, bypass_reason=BypassReason.SCOPE_MISSING)
    assert of_decision(bypassed) == "askonce; fwd=bypass; detail=scope_missing"


@pytest.mark.parametrize("refusal", [None, *RefusalReason])
def test_a_store_says_whether_it_was_stored(refusal):
    found = read(of_store(refusal))
    assert found["fwd"] == "miss"
    assert found.get("stored") is (True if refusal is None else None)
    assert found.get("detail") == (refusal.name.lower() if refusal else None)
