"""Plans are remembered by all bytes of a request, under one set of rules, within a bound."""

from __future__ import annotations

from askonce_server.core.decision import Request
from askonce_server.core.descriptor import Controls
from askonce_server.core.plan import Plan
from askonce_server.core.reasons import BypassReason
from askonce_server.rpc.memo import PlanMemo
from core.builders import descriptor, rule

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
    memo = PlanMemo(max_bytes=10_000)
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
