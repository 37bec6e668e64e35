"""What the normalized matcher may fold, and what it must not."""

from __future__ import annotations

import pytest

from rpc.replies import filed, outcome, verdict
from rpc.requests import describe, turns


def test_white_space_between_words_parts_exact_requests_and_not_normalized_ones(gateway, tenant):
    gateway.fill(describe(tenant, turns("what is  the time\n")))
    assert verdict(gateway.ask(describe(tenant, turns(" what is the\ttime")))) == "hit normalized"
    only = {"attributes": {"rule": "exact-only"}}
    gateway.fill(describe(tenant, turns("what is  it"), **only))
    assert verdict(gateway.ask(describe(tenant, turns("what is it"), **only))) == "miss"


@pytest.mark.parametrize(
    ("stored", "asked"),
    [
        ("```\na  b\n```", "```\na b\n```"),
        ("run `a  b` now", "run `a b` now"),
        ('say "a  b"', 'say "a b"'),
        ("- one\n- two", "- one - two"),
        ("a\n\nb", "a b"),
        ("\tindented", "indented"),
    ],
    ids=["fence", "back-ticks", "quotes", "list", "paragraphs", "tab"],
)
def test_white_space_that_may_carry_meaning_is_not_folded(gateway, tenant, stored, asked):
    first = gateway.ask(describe(tenant, turns(stored)))
    skipped = [(skip.matcher, skip.reason) for skip in first.skipped]
    assert skipped == [(2, 13)]
    assert filed(gateway.store(first.fill_token)) == "stored"
    assert outcome(gateway.ask(describe(tenant, turns(asked)))) == "miss"


def test_white_space_that_matters_leaves_nothing_to_a_rule_that_only_normalizes(gateway, tenant):
    asked = describe(tenant, turns("```\na  b\n```"), attributes={"rule": "normalized-only"})
    assert verdict(gateway.ask(asked)) == "bypass whitespace_significant"
    assert filed(gateway.store(asked)) == "no_matcher"


def test_case_parts_requests_unless_the_rule_folds_it(gateway, tenant):
    rule = {"attributes": {"rule": "folding"}}
    gateway.fill(describe(tenant, turns("Polish the US text"), **rule))
    assert verdict(gateway.ask(describe(tenant, turns("polish the us  text"), **rule))) == "hit normalized"
