"""Plans are remembered by all bytes of a request, under one set of rules, within a bound."""

from __future__ import annotations

import gc
import sys
import types
from enum import Enum

import pytest

from askonce.v1.decision_service_pb2 import LookupRequest
from askonce_server.core.decision import Request
from askonce_server.core.descriptor import Controls
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import Rule
from askonce_server.rpc import convert
from askonce_server.rpc.memo import PlanMemo
from askonce_server.service.asked import plan_for
from core.builders import descriptor, rule
from rpc.requests import describe, request, target

RULES, OTHERS = (rule(),), (rule(),)


def plan():
    return Plan(Request(descriptor(), Controls(), stream=False), None, BypassReason.NO_RULE)


def test_a_plan_is_found_by_the_very_bytes_of_its_request():
    memo, one = PlanMemo(), plan()
    memo.put(b"asked", RULES, one)
    assert memo.get(b"asked", RULES) is one
    assert memo.get(b"asked ", RULES) is None


def test_a_plan_is_never_found_under_other_rules_even_equal_ones():
    memo, old, new = PlanMemo(), plan(), plan()
    memo.put(b"asked", RULES, old)
    assert memo.get(b"asked", OTHERS) is None
    memo.put(b"asked", OTHERS, new)
    assert memo.get(b"asked", OTHERS) is new
    assert memo.get(b"asked", RULES) is None


def test_the_oldest_plans_go_first():
    memo = PlanMemo(max_bytes=18_000)
    for number in range(10):
        memo.put(b"%d" % number, RULES, plan())
    kept = [number for number in range(10) if memo.get(b"%d" % number, RULES) is not None]
    assert kept == [6, 7, 8, 9]


def test_a_large_request_is_not_worth_it():
    memo = PlanMemo(max_request=10)
    memo.put(b"x" * 10, RULES, plan())
    memo.put(b"x" * 11, RULES, plan())
    assert memo.get(b"x" * 10, RULES) is not None
    assert memo.get(b"x" * 11, RULES) is None


SHARED = (type, Rule, Enum, types.ModuleType, types.CodeType, types.BuiltinFunctionType)


def held_bytes(root):
    """What `root` keeps in memory: every object that only it refers to, once."""
    seen, pending, total = {id(None), id(True), id(False)}, [root], 0
    while pending:
        one = pending.pop()
        if id(one) in seen or isinstance(one, SHARED):
            continue
        seen.add(id(one))
        total += sys.getsizeof(one)
        is_function = isinstance(one, types.FunctionType)
        pending.extend(one.__closure__ or () if is_function else gc.get_referents(one))
    return total


def entries(prefix, value):
    return {f"{prefix}{at}": value + str(at) for at in range(60)}


WIDE = "\N{GRINNING FACE}"
HEAVY = {
    "plain": lambda at: describe(f"t{at}"),
    "many names": lambda at: describe(
        scope={"tenant": f"{at}", **entries("s", "")},
        versions=entries("v", ""),
        headers=entries("h", ""),
        attributes=entries("a", ""),
    ),
    "wide characters": lambda at: describe(
        f"{at}", headers=entries("h", WIDE + "x" * 90), versions=entries("v", WIDE)
    ),
    "a wide scope": lambda at: describe(scope={"tenant": WIDE + "x" * 4000 + str(at)}),
    "wide labels": lambda at: describe(
        f"{at}",
        served=target(WIDE + "x" * 250, WIDE + "x" * 250),
        requested=target(WIDE + "y" * 250, WIDE + "y" * 250),
        route_id=WIDE + "r" * 250,
        route_version=WIDE + "v" * 250,
    ),
    "a long text": lambda at: describe(f"{at}", messages=[{"role": "user", "content": "x" * 15_000}]),
}


@pytest.mark.parametrize("asked", HEAVY.values(), ids=HEAVY.keys())
def test_the_bound_is_on_what_is_really_held(asked):
    memo, rules, bound = PlanMemo(max_bytes=1 << 20), (rule(),), 1 << 20
    for at in range(600):
        raw = request(asked(at)).SerializeToString()
        made = plan_for(convert.asked(LookupRequest.FromString(raw)), rules)
        if made.derivation is not None:
            for matcher in (Matcher.EXACT, Matcher.NORMALIZED):
                made.derivation.fingerprint(matcher)
            made.derivation.forget()
        memo.put(raw, rules, made)
    assert bound / 8 < held_bytes(memo._held) < bound
