"""The demo's cases are what they claim to be."""

import re
from collections import Counter

import pytest

from askonce_server.core.canonical import parse
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.finish import AnswerFacts, complete_reasons
from askonce_server.core.reasons import BypassReason, RefusalReason
from askonce_server.demo import cases
from askonce_server.dialects import inspect, split

CASES = cases()
EXPECTED = re.compile(r"hit (exact|normalized)|miss, stored|miss, refused (\w+)|bypass (\w+)")


def named(*words):
    return [case for case in CASES if all(word in case.title for word in words)]


def parts(case):
    return split(case.dialect, case.endpoint, parse(case.body))


def facts(case):
    stream = parts(case).stream is True
    return inspect(
        case.dialect, case.endpoint, stream=stream, content_type=case.content_type, body=case.answer
    )


def test_the_cases_cover_what_gateways_meet():
    assert len(CASES) >= 20
    assert len({case.title for case in CASES}) == len(CASES)
    assert {(case.dialect, case.endpoint) for case in CASES} == {
        ("openai", "chat"),
        ("openai", "responses"),
        ("openai", "embeddings"),
        ("anthropic", "messages"),
    }
    firsts = Counter(case.first for case in CASES)
    for first in [
        "miss, stored",
        "hit exact",
        "hit normalized",
        "bypass scope_missing",
        "bypass sampled_request",
        "bypass remote_content",
        "bypass stateful_request",
        "bypass unrepresentable_content",
        "miss, refused truncated",
        "miss, refused upstream_error",
        "miss, refused empty",
        "miss, refused content_filtered",
        "miss, refused refusal",
        "miss, refused stream_incomplete",
    ]:
        assert firsts[first] >= 1, first


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_what_is_expected_is_in_the_words_of_the_contract(case):
    match = EXPECTED.fullmatch(case.first)
    assert match
    _, refusal, bypass = match.groups()
    assert refusal is None or refusal.upper() in RefusalReason.__members__
    assert bypass is None or bypass.upper() in BypassReason.__members__
    if case.first == "miss, stored":
        assert case.second == "hit exact"
    elif refusal:
        assert case.second == "miss"
    else:
        assert case.second == case.first


@pytest.mark.parametrize("case", CASES, ids=lambda case: case.title)
def test_bodies_and_answers_agree_with_what_is_said_of_them(case):
    if case.first == "bypass unrepresentable_content":
        with pytest.raises(Unrepresentable):
            parse(case.body)
        return
    assert parts(case).messages is not None
    if not case.answer:
        assert case.first.startswith("bypass")
        return
    found = facts(case)
    assert found.understood
    assert not found.wrong_shape
    assert found.error == (case.status != 200)
    assert found.empty == (case.first == "miss, refused empty")
    if case.first == "miss, refused stream_incomplete":
        assert (found.terminal, case.stream_complete) == (False, False)
        return
    assert found.finish_reasons == case.finish_reasons
    assert found.terminal is (True if case.stream_complete else None)
    complete = complete_reasons(case.dialect)
    whole = all(reason in complete for reason in case.finish_reasons) and not (found.empty or found.error)
    assert whole == (case.first == "miss, stored" or case.first.startswith("hit"))
    assert not found.invalid_tool_json


def test_equal_requests_are_equal_and_others_are_not():
    plain, reordered, bookkeeping = CASES[:3]
    assert plain.body != reordered.body
    assert parts(plain) == parts(reordered)
    assert parts(plain).messages == parts(bookkeeping).messages
    assert parts(bookkeeping).params.keys() - parts(plain).params.keys() == {
        "metadata",
        "prompt_cache_key",
        "safety_identifier",
    }
    white_space = CASES[3]
    assert parts(white_space).messages != parts(plain).messages
    for one, other in zip(parts(white_space).messages, parts(plain).messages, strict=True):
        assert one["content"].split() == other["content"].split()


def test_answers_that_call_tools_do():
    calling = [case.title for case in CASES if case.answer and facts(case).contains_tool_calls]
    assert calling == ["tools, answered by a call", "same, tool schema changed", "tool_use"]
    assert facts(named("refused by")[0]) == AnswerFacts(
        understood=True, finish_reasons=("refusal",), refused=True
    )
