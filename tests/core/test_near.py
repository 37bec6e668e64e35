"""The semantic matcher's part of the decision, driven from a list of answers."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core import keys
from askonce_server.core.decision import Embed, EmbeddedText, ReadBody, Recall, Verdict, Verify
from askonce_server.core.guards import ALL_OFF
from askonce_server.core.reasons import BypassReason, DenyReason, Matcher, Mode, Outcome
from askonce_server.core.rules import Admission, Gray, RuleMode
from askonce_server.core.zones import Zone, zone
from core.builders import NOW, Shelf, descriptor, digests, entry, plan, request, run, said
from core.near import BODY, EMBEDDER, VECTOR, NearShelf, near_rule, neighbor

ASKED = said("How do I reset my password?")
ALIKE = "How can I reset my password?"


def decided(*neighbors, under=None, wanted=ASKED, shelf=None, **asked):
    return run(plan(wanted, under or near_rule(), **asked), shelf or NearShelf(*neighbors))


def test_a_near_answer_is_served_with_what_was_compared():
    found = decided(neighbor(ALIKE, 0.97))
    assert (found.outcome, found.kind, found.deny_reason) == (Outcome.HIT, Matcher.SEMANTIC, None)
    nearness = found.candidate.nearness
    assert (nearness.similarity, nearness.zone) == (0.97, Zone.ABOVE)
    assert (nearness.threshold, nearness.low_threshold) == (0.95, 0.85)
    assert (nearness.verifier, nearness.verified) == ("", False)
    assert found.candidate.body == BODY
    assert found.embed_cost_usd == 0.25
    assert found.grant is None


def test_the_best_of_three_is_taken():
    found = decided(neighbor(ALIKE, 0.97), neighbor("reset my password", 0.91), neighbor("password?", 0.86))
    assert found.candidate.nearness.similarity == 0.97


@pytest.mark.parametrize(
    ("similarity", "reason", "where"),
    [
        (0.84, DenyReason.BELOW_THRESHOLD, Zone.BELOW),
        (0.85, DenyReason.GRAY_UNVERIFIED, Zone.GRAY),
        (0.9499, DenyReason.GRAY_UNVERIFIED, Zone.GRAY),
        (-1.0, DenyReason.BELOW_THRESHOLD, Zone.BELOW),
        (float("nan"), DenyReason.BELOW_THRESHOLD, Zone.BELOW),
    ],
)
def test_a_refused_candidate_is_a_counted_miss_that_says_how_near_it_was(similarity, reason, where):
    found = decided(neighbor(ALIKE, similarity))
    assert (found.outcome, found.deny_reason, found.kind) == (Outcome.MISS, reason, Matcher.SEMANTIC)
    assert found.candidate.nearness.zone is where
    assert found.candidate.body is None
    assert found.store_answer


def test_low_threshold_zero_means_no_gray_band():
    shelf = NearShelf(neighbor(ALIKE, 0.9499))
    found = decided(shelf=shelf, under=near_rule(low_threshold=0.0, verifier=Gray.JUDGE))
    assert found.deny_reason is DenyReason.BELOW_THRESHOLD
    assert not shelf.asked_for(Verify)


def test_threshold_one_serves_equal_vectors_alone():
    under = near_rule(threshold=1.0, low_threshold=0.0)
    assert decided(neighbor(ALIKE, 1 - 1e-7), under=under).outcome is Outcome.HIT
    assert decided(neighbor(ALIKE, 1 - 1e-5), under=under).deny_reason is DenyReason.BELOW_THRESHOLD


@given(st.floats(-1, 1), st.floats(-1, 1), st.floats(0, 1), st.floats(0, 1))
def test_zones_are_monotone(one, other, some, more):
    low, high = sorted((some, more))
    one, other = sorted((one, other))
    zones = [zone(value, threshold=high, low_threshold=low) for value in (one, other)]
    assert zones[1] <= zones[0]


@pytest.mark.parametrize(
    ("asked", "stored", "reason"),
    [
        ("How do I turn on dark mode?", "How do I turn off dark mode?", DenyReason.GUARD_NEGATION),
        ("Refund 100 dollars to my card", "Refund 1000 dollars to my card", DenyReason.GUARD_NUMBER),
        ("Alice sues Bob over the house", "Bob sues Alice over the house", DenyReason.GUARD_ORDER),
        ("Fly to Paris in spring", "Fly to London in spring", DenyReason.GUARD_ENTITY),
        ("Bake a chocolate cake", "Repair the bicycle chain", DenyReason.GUARD_LEXICAL),
    ],
)
@pytest.mark.parametrize("verifier", [Gray.NONE, Gray.JUDGE])
@pytest.mark.parametrize("similarity", [0.9, 0.999])
def test_a_guard_denies_whatever_a_verifier_would_say(asked, stored, reason, verifier, similarity):
    shelf = NearShelf(neighbor(stored, similarity), verdict=Verdict())
    found = decided(shelf=shelf, wanted=said(asked), under=near_rule(verifier=verifier))
    assert (found.outcome, found.deny_reason) == (Outcome.MISS, reason)
    assert found.candidate.nearness.guard
    assert not shelf.asked_for(Verify)


def test_guards_can_be_off_per_rule():
    stored = neighbor("How do I turn off dark mode?", 0.97)
    found = decided(stored, wanted=said("How do I turn on dark mode?"), under=near_rule(guards=ALL_OFF))
    assert found.outcome is Outcome.HIT


@pytest.mark.parametrize("kept", [b"", b"\x07", b"\xff" * 40])
def test_what_the_guards_cannot_read_is_not_served(kept):
    one = neighbor(ALIKE, 0.99)
    found = decided(one._replace(row=one.row._replace(features=kept)))
    assert (found.outcome, found.deny_reason) == (Outcome.MISS, DenyReason.GUARD_LEXICAL)


def test_the_verifier_is_asked_in_the_gray_band_alone():
    under = near_rule(verifier=Gray.KRECIPROCAL)
    for similarity, asked in ((0.84, 0), (0.86, 1), (0.96, 0)):
        shelf = NearShelf(neighbor(ALIKE, similarity))
        decided(shelf=shelf, under=under)
        assert len(shelf.asked_for(Verify)) == asked


def test_a_confirmed_candidate_is_served_as_verified():
    found = decided(neighbor(ALIKE, 0.9), under=near_rule(verifier=Gray.JUDGE))
    assert (found.outcome, found.candidate.nearness.zone) == (Outcome.HIT, Zone.GRAY)
    assert (found.candidate.nearness.verifier, found.candidate.nearness.verified) == ("judge", True)


@pytest.mark.parametrize(
    "reason",
    [DenyReason.VERIFIER_REJECTED, DenyReason.VERIFIER_FAILED, DenyReason.VERIFIER_TOO_FEW_NEIGHBORS],
)
def test_an_unconfirmed_candidate_is_a_miss(reason):
    shelf = NearShelf(neighbor(ALIKE, 0.9), verdict=Verdict(reason))
    found = decided(shelf=shelf, under=near_rule(verifier=Gray.JUDGE))
    assert (found.outcome, found.deny_reason) == (Outcome.MISS, reason)
    assert (found.candidate.nearness.verifier, found.candidate.nearness.verified) == ("judge", False)


def test_an_answer_that_calls_tools_is_not_served_unless_the_rule_says_so():
    one = neighbor(ALIKE, 0.99, contains_tool_calls=True)
    assert decided(one).deny_reason is DenyReason.TOOL_CALLS
    assert decided(one, under=near_rule(tool_calls=True)).outcome is Outcome.HIT


def test_the_ttl_of_a_candidate_is_that_of_the_rule_that_was_asked():
    under = near_rule(ttl_ms=1_000)
    for start_ms, outcome in ((NOW, Outcome.HIT), (NOW - 1_000, Outcome.MISS)):
        found = decided(neighbor(ALIKE, 0.99, rule_id="other", start_ms=start_ms), under=under)
        assert (found.outcome, found.candidate.entry.answer.expire_ms) == (outcome, start_ms + 1_000)


@pytest.mark.parametrize(
    ("admission", "reason"),
    [
        (Admission(tool_calls=False), DenyReason.TOOL_CALLS),
        (Admission(usage_required=True), DenyReason.NOT_ADMITTED),
        (Admission(max_body=1), DenyReason.NOT_ADMITTED),
    ],
)
def test_what_a_rule_would_not_have_stored_it_does_not_serve(admission, reason):
    one = neighbor(ALIKE, 0.99, contains_tool_calls=True)
    decision = decided(one, under=near_rule(tool_calls=True, admission=admission))
    assert (decision.outcome, decision.deny_reason) == (Outcome.MISS, reason)


def test_the_next_fresh_one_is_tried_where_the_nearest_is_too_old():
    old, young = neighbor(ALIKE, 0.99, start_ms=NOW - 5_000), neighbor("Reset my password how?", 0.96)
    found = decided(old, young, max_age_ms=1_000)
    assert (found.outcome, found.candidate.nearness.similarity) == (Outcome.HIT, 0.96)
    assert decided(old, max_age_ms=1_000).deny_reason is DenyReason.TOO_OLD


def test_a_body_that_has_gone_is_a_miss():
    found = decided(shelf=NearShelf(neighbor(ALIKE, 0.99), body=None), under=near_rule())
    assert (found.outcome, found.bypass_reason) == (Outcome.MISS, BypassReason.STORE_FAILED)
    assert found.store_answer


def test_what_was_embedded_travels_in_the_leave_to_store():
    shelf = NearShelf()
    found = decided(shelf=shelf)
    assert [key.matcher for key in found.grant.keys] == [Matcher.EXACT, Matcher.SEMANTIC]
    assert found.grant.semantic.vector == VECTOR
    assert found.grant.semantic.features
    assert found.grant.semantic.text == ""
    assert len(shelf.asked_for(Embed)) == 1


def test_text_is_kept_only_where_the_rule_says_so():
    found = decided(under=near_rule(store_text=True), shelf=NearShelf())
    assert found.grant.semantic.text == "How do I reset my password?"


@pytest.mark.parametrize(
    "reason",
    [
        BypassReason.OVER_BUDGET,
        BypassReason.EMBEDDER_FAILED,
        BypassReason.TEXT_TOO_LONG,
        BypassReason.EMBEDDING_MISSING,
    ],
)
def test_without_a_vector_only_this_matcher_is_skipped(reason):
    found = decided(shelf=NearShelf(embedded=reason), under=near_rule())
    assert (found.outcome, found.bypass_reason) == (Outcome.MISS, reason)
    assert [(skip.matcher, skip.reason) for skip in found.skipped] == [(Matcher.SEMANTIC, reason)]
    assert [key.matcher for key in found.grant.keys] == [Matcher.EXACT]


def test_over_budget_is_a_counted_miss_where_no_other_matcher_is_asked_too():
    alone = near_rule(strategy=(Matcher.SEMANTIC,))
    over = decided(shelf=NearShelf(embedded=BypassReason.OVER_BUDGET), under=alone)
    assert (over.outcome, over.store_answer) == (Outcome.MISS, False)
    failed = decided(shelf=NearShelf(embedded=BypassReason.EMBEDDER_FAILED), under=alone)
    assert failed.outcome is Outcome.BYPASS


def test_a_partition_that_is_being_read_is_skipped_and_filled():
    found = decided(shelf=NearShelf(recalled=BypassReason.PARTITION_LOADING), under=near_rule())
    assert (found.outcome, found.bypass_reason) == (Outcome.MISS, BypassReason.PARTITION_LOADING)
    assert Matcher.SEMANTIC in {key.matcher for key in found.grant.keys}


@pytest.mark.parametrize("while_asked", [Embed, Verify])
def test_a_purge_while_a_model_is_asked_hides_what_was_there_before(while_asked):
    shelf = NearShelf(neighbor(ALIKE, 0.9))
    shelf.raise_on(while_asked)
    found = decided(shelf=shelf, under=near_rule(verifier=Gray.JUDGE))
    assert (found.outcome, found.candidate) == (Outcome.MISS, None)
    assert not shelf.asked_for(ReadBody)
    assert set(found.grant.generations.values) == {bytes(16)}


def test_refresh_embeds_to_store_and_recalls_nothing():
    shelf = NearShelf(neighbor(ALIKE, 0.99))
    found = decided(shelf=shelf, mode=Mode.REFRESH, under=near_rule())
    assert (found.outcome, found.deny_reason) == (Outcome.MISS, DenyReason.REFRESH)
    assert not shelf.asked_for(Recall)
    assert found.grant.semantic is not None


def test_read_only_keeps_nothing():
    found = decided(neighbor(ALIKE, 0.5), mode=Mode.READ_ONLY)
    assert (found.grant, found.store_answer) == (None, False)


def test_an_exact_hit_embeds_nothing():
    under = near_rule()
    key = next(key for key in run(plan(ASKED, under), NearShelf()).grant.keys if key.matcher is Matcher.EXACT)
    shelf = Shelf(entry(key), body=BODY)
    assert run(plan(ASKED, under), shelf).kind is Matcher.EXACT


def test_a_shadow_rule_says_what_it_would_have_served():
    found = decided(neighbor(ALIKE, 0.97), under=near_rule(mode=RuleMode.SHADOW))
    assert (found.outcome, found.shadow, found.kind) == (Outcome.MISS, True, Matcher.SEMANTIC)
    assert (found.candidate.body, found.candidate.nearness.zone) == (None, Zone.ABOVE)
    assert found.store_answer


def test_digests_have_no_text_to_embed():
    found = decided(wanted=descriptor(content=digests()), under=near_rule())
    assert found.skipped[0].reason is BypassReason.NO_EMBEDDABLE_TEXT


def test_nobody_elses_partition_is_ever_asked():
    under = near_rule()
    turn = {"role": "user", "content": "How do I reset my password?"}
    partitions = set()
    for wanted in (
        ASKED,
        descriptor(content=ASKED.content, scope={"tenant": "other"}),
        request([{"role": "system", "content": "Be brief."}, turn]),
        request([turn], top_p=0.5),
    ):
        shelf = NearShelf()
        decided(shelf=shelf, wanted=wanted, under=under)
        partitions.add(shelf.asked_for(Recall)[0].partition)
    assert len(partitions) == 4


def test_another_embedder_has_another_partition():
    shelves = [NearShelf(embedded=EmbeddedText(VECTOR, other)) for other in (EMBEDDER, b"f" * 32)]
    for shelf in shelves:
        decided(shelf=shelf, under=near_rule())
    assert shelves[0].asked_for(Recall)[0].partition != shelves[1].asked_for(Recall)[0].partition


def test_the_text_is_embedded_as_it_is_and_names_no_scope():
    shelf = NearShelf()
    decided(shelf=shelf, under=near_rule())
    assert shelf.asked_for(Embed)[0].text == "How do I reset my password?"


def test_a_semantic_entry_lies_under_its_partition():
    found = decided(shelf=NearShelf(), under=near_rule())
    key = next(key for key in found.grant.keys if key.matcher is Matcher.SEMANTIC)
    assert key.prefix == key.partition
    assert key == keys.semantic_key(key.scope_key, key.partition, "How do I reset my password?")
