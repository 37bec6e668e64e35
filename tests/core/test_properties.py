"""What holds for every request: keys depend on meaning alone, and nothing crashes a lookup."""

from __future__ import annotations

import json
from dataclasses import replace
from typing import Any
from unittest.mock import patch

import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from askonce_server.core import derive
from askonce_server.core.decision import Probe, ReadBody, ReadGenerations
from askonce_server.core.descriptor import Content, Controls, Target
from askonce_server.core.entries import Body
from askonce_server.core.errors import MalformedRequest
from askonce_server.core.reasons import DenyReason, Matcher, Mode, Outcome
from askonce_server.core.rules import RuleMode
from askonce_server.service.asked import Asked, plan_for
from askonce_server.service.twins import identity
from conformance import reference
from conformance.cases.case import b64
from core.builders import NOW, Shelf, entry, plan, run
from core.requests import LAYOUTS, OPEN, as_body, as_parts, built, maps, rules, said, shuffled, texts, wild
from strategies import json_trees

DETERMINISTIC = (Matcher.EXACT, Matcher.NORMALIZED)


def fingerprints(wanted, under=OPEN):
    """The fingerprint, or the reason why there is none, for each matcher."""
    planned = plan(wanted, under)
    assume(planned.derivation is not None)
    return [planned.derivation.fingerprint(matcher) for matcher in DETERMINISTIC]


def as_proto(what: dict[str, Any]) -> dict[str, Any]:
    """Return the request as proto3 JSON, for the second implementation."""
    parts = {name: what[name] for name in ("messages", "system", "tools", "params") if what[name] is not None}
    return {
        "dialect": what["dialect"],
        "endpoint": what["endpoint"],
        "served": {"provider": "p", "model": "m"},
        "parts": {name: b64(json.dumps(tree, default=float)) for name, tree in parts.items()},
        "stream": what["stream"],
        "scope": {"tenant": "acme"},
    }


@given(st.data(), said())
def test_no_spelling_and_no_form_changes_a_key(data, what):
    bodies = [as_body(data.draw, what) for _ in range(2)]
    parts = [as_parts(data.draw, what) for _ in range(2)]
    found = [fingerprints(wanted) for wanted in (*bodies, *parts)]
    assert found.count(found[0]) == 4


@given(st.data(), said())
def test_a_second_implementation_finds_the_same_keys(data, what):
    exact, normalized = fingerprints(as_body(data.draw, what))
    wants = reference.keys({"descriptor": as_proto(what)}, {}, skipped={})
    assert exact.hex() == wants["exact"]["fingerprint"]
    if isinstance(normalized, bytes):
        assert normalized.hex() == wants["normalized"]["fingerprint"]


@given(st.data(), said())
def test_one_look_at_all_texts_gives_the_key_that_a_look_at_each_gives(data, what):
    wanted = as_parts(data.draw, what)
    together = fingerprints(wanted)
    with patch.object(derive, "are_plain", return_value=False):
        assert fingerprints(wanted) == together


@given(st.data(), said())
def test_any_other_change_of_what_is_said_changes_the_key(data, what):
    name = data.draw(st.sampled_from(["messages", "system", "tools", "params"]))
    changed = {**what, name: shuffled(data.draw, what[name])}
    assume(isinstance(changed["params"], dict) and changed["messages"] is not None)
    same = material(changed) == material(what)
    found = [fingerprints(as_parts(data.draw, one))[0] for one in (what, changed)]
    assert (found[0] == found[1]) is same


def material(what):
    """What must decide whether two requests are the same, from the second implementation."""
    return rfc8785.dumps(reference.tree_of(as_proto(what), {}))


@given(st.data(), said(), maps, maps)
def test_everything_around_the_content_is_in_the_key(data, what, one, other):
    plain = as_parts(data.draw, what)
    for name in ("headers", "versions"):
        equal = fingerprints(replace(plain, **{name: one})) == fingerprints(replace(plain, **{name: other}))
        assert equal is (one == other)


@given(st.data(), said(), st.lists(texts, min_size=2, max_size=2), st.lists(texts, min_size=2, max_size=2))
def test_target_and_shape_are_in_the_key(data, what, one, other):
    assume(all(one) and all(other))
    plain = as_parts(data.draw, what)
    keys = [fingerprints(replace(plain, served=Target(*target))) for target in (one, other)]
    assert (keys[0][0] == keys[1][0]) is (one == other)
    assert fingerprints(plain)[0] != fingerprints(replace(plain, stream=not plain.stream))[0]


one_turn = texts.map(lambda text: [{"role": "user", "content": text}])


@given(one_turn, one_turn)
def test_the_normalized_key_is_a_function_of_the_content(one, other):
    """Equal exact keys have equal normalized ones; equal normalized ones differ in white space alone."""
    what = {"dialect": "openai", "endpoint": "chat"}
    keys = [
        fingerprints(built(what, Content(messages=json.dumps(turn).encode()), stream=False))
        for turn in (one, other)
    ]
    if keys[0][0] == keys[1][0]:
        assert keys[0][1] == keys[1][1]
    if isinstance(keys[0][1], bytes):
        folded = [reference.fold(turn[0]["content"]) for turn in (one, other)]
        assert (keys[0][1] == keys[1][1]) <= (folded[0] == folded[1])


@given(st.data(), said())
def test_folding_prose_before_asking_leaves_the_normalized_key(data, what):
    folded = reference.normalized_tree(
        {name: what[name] for name in ("messages", "system") if what[name] is not None},
        {"endpoint": what["endpoint"]},
        {},
    )
    before = fingerprints(as_parts(data.draw, what))[1]
    after = fingerprints(as_parts(data.draw, {**what, **folded}))[1]
    if isinstance(before, bytes):
        assert after == before


PAIRS = st.sampled_from([*LAYOUTS, ("gemini", "chat"), ("cohere", "rerank"), ("openai", "images"), ("", "")])
documents = wild.map(lambda tree: json.dumps(tree).encode())
raws = documents | st.binary(max_size=40) | documents.map(lambda raw: raw[:-1])


def looked_up(wanted, under, asked=None):
    """Look a request up in an empty store: a decision, or the faults of the request."""
    try:
        planned = plan_for(asked or Asked(wanted, anchor=True), [under])
    except MalformedRequest:
        return None
    decision = run(planned)
    assert (decision.grant is not None) is decision.store_answer
    assert decision.outcome is not Outcome.HIT
    assert (decision.outcome is Outcome.BYPASS) <= (decision.bypass_reason is not None)
    identity(planned)
    return decision


@given(PAIRS, wild, rules())
@example(("openai", "chat"), {"messages": [{"role": []}], "temperature": 0}, OPEN)
@example(("anthropic", "messages"), {"messages": [{"content": [{"type": {}}]}]}, OPEN)
@example(("openai", "chat"), {"tools": [{"type": []}]}, OPEN)
def test_no_body_crashes_a_lookup(pair, tree, under):
    what = {"dialect": pair[0], "endpoint": pair[1]}
    looked_up(built(what, json.dumps(tree).encode(), stream=None), under)
    if isinstance(tree, dict):
        likely = {"messages": [tree], "input": [tree], "temperature": 0, **tree}
        looked_up(built(what, json.dumps(likely).encode(), stream=None), under)


@given(PAIRS, st.lists(raws | st.just(b""), min_size=4, max_size=4), st.none() | st.booleans(), rules())
def test_no_parts_crash_a_lookup(pair, raw, stream, under):
    looked_up(built({"dialect": pair[0], "endpoint": pair[1]}, Content(*raw), stream=stream), under)


@given(PAIRS, raws, rules())
def test_no_bytes_crash_a_lookup(pair, raw, under):
    looked_up(built({"dialect": pair[0], "endpoint": pair[1]}, raw, stream=None), under)


moments = st.none() | st.integers(-1, 100_000)
controls = st.builds(
    Controls,
    mode=st.sampled_from(Mode),
    ttl_ms=moments,
    namespace=st.sampled_from(["", "blue"]),
    max_age_ms=moments,
    min_fresh_ms=moments,
    max_stale_ms=moments,
    logging_disabled=st.booleans(),
)


@given(st.data(), said(), controls, rules())
def test_a_hit_has_a_candidate_that_may_be_served(data, what, asked, under):
    wanted = replace(as_parts(data.draw, what), scope={"tenant": "acme", "user": "ada"})
    fields, known, omit_body = (data.draw(st.booleans()) for _ in range(3))
    request = Asked(wanted, asked, known_fields=fields, known_mode=known, omit_body=omit_body)
    try:
        planned = plan_for(request, [under])
    except MalformedRequest:
        return
    probed = []

    def script(question):
        if isinstance(question, ReadGenerations):
            assert not probed
            return tuple(data.draw(st.binary(min_size=16, max_size=16)) for _ in question.names)
        if isinstance(question, ReadBody):
            return data.draw(st.none() | st.just(Body(b"x", "t")))
        assert isinstance(question, Probe)
        probed.append(question.key)
        start = NOW - data.draw(st.integers(0, 1000))
        stored = {"start_ms": start, "expire_ms": start + data.draw(st.integers(0, 2000))}
        found = entry(question.key, stream=data.draw(st.booleans()), **stored)
        return data.draw(st.none() | st.just(found))

    decision = run(planned, script)
    assert len(probed) <= len(under.strategy)
    if decision.outcome is Outcome.HIT:
        answer = decision.candidate.entry.answer
        assert decision.candidate.entry.key == probed[-1]
        assert under.mode is RuleMode.SERVE
        assert answer.expire_ms > NOW
        assert answer.stream == wanted.stream
        assert (decision.candidate.body is None) is omit_body
        assert (decision.grant, decision.deny_reason, decision.bypass_reason) == (None, None, None)
        assert asked.mode in (Mode.DEFAULT, Mode.READ_ONLY)
    if decision.outcome is Outcome.BYPASS:
        assert (decision.candidate, decision.grant) == (None, None)
    if decision.grant is not None:
        assert asked.mode in (Mode.DEFAULT, Mode.REFRESH)
        assert not asked.logging_disabled
    if decision.deny_reason not in (None, DenyReason.REFRESH):
        assert decision.candidate is not None


@given(st.data(), said(), st.integers(0, 3))
def test_the_same_plan_decides_the_same_whatever_was_forgotten(data, what, times):
    wanted = as_parts(data.draw, what)
    planned = plan(wanted, OPEN)
    first = run(planned)
    for _ in range(times):
        if planned.derivation is not None and data.draw(st.booleans()):
            planned.derivation.forget()
        assert run(planned) == first
    assert run(plan(wanted, OPEN)) == first


@given(st.data(), said())
def test_what_was_stored_under_a_leave_is_found(data, what):
    decision = run(plan(as_body(data.draw, what), OPEN))
    assume(decision.grant is not None)
    stored = Shelf(*(entry(key, stream=what["stream"]) for key in decision.grant.keys), body=Body(b"x", "t"))
    found = run(plan(as_parts(data.draw, what), OPEN), stored)
    assert (found.outcome, found.kind) == (Outcome.HIT, Matcher.EXACT)


@given(json_trees(), json_trees())
def test_a_param_is_in_the_key_exactly_by_its_value(one, other):
    def key(value):
        what = {"dialect": "openai", "endpoint": "chat"}
        tree = {"messages": [], "x": value}
        raw = json.dumps(tree, default=float).encode()
        return fingerprints(built(what, raw, stream=None))[0]

    def canonical(value):
        return rfc8785.dumps(json.loads(json.dumps(value, default=float)))

    assert (key(one) == key(other)) is (canonical(one) == canonical(other))
