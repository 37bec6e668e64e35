"""What is prose and what is not, and shapes that no dialect has."""

from __future__ import annotations

import pytest

from askonce_server.core.turns import map_prose, map_system, prose, user_texts, without_user_text
from core.builders import content as parts_content
from core.builders import descriptor, plan, run

UNHASHABLE = [[], {}, ["user"], {"a": 1}]
PART_TYPES = ["text", "input_text", "output_text"]


def upper(messages, *, bare_text=False):
    return map_prose(messages, str.upper, bare_text=bare_text)


@pytest.mark.parametrize("role", ["system", "developer", "user", "assistant"])
@pytest.mark.parametrize("kind", PART_TYPES)
def test_text_of_people_and_models_is_prose(role, kind):
    assert upper([{"role": role, "content": "a"}]) == [{"role": role, "content": "A"}]
    part = {"type": kind, "text": "a", "extra": "a"}
    assert upper([{"role": role, "content": [part]}])[0]["content"] == [{**part, "text": "A"}]


@pytest.mark.parametrize(
    "turn",
    [
        {"role": "tool", "content": "a"},
        {"role": "function", "content": "a"},
        {"role": "User", "content": "a"},
        {"content": "a"},
        {"type": "function_call_output", "output": "a"},
        {"role": "user", "name": "a"},
        {"role": "user", "content": {"type": "text", "text": "a"}},
        {"role": "user", "content": [{"type": "tool_result", "content": [{"type": "text", "text": "a"}]}]},
        {"role": "user", "content": [{"type": "image", "text": "a"}]},
        {"role": "user", "content": [{"text": "a"}]},
        {"role": "user", "content": [{"type": "text", "text": ["a"]}]},
        {"role": "user", "content": ["a"]},
        {"role": "assistant", "content": [{"type": "tool_use", "input": {"text": "a"}}]},
        {"role": "assistant", "tool_calls": [{"function": {"arguments": "a"}}]},
        "a",
        None,
        ["a"],
    ],
    ids=str,
)
def test_everything_else_is_not(turn):
    assert upper([turn]) == [turn]
    assert list(prose([turn], None, bare_text=True)) == []


def test_a_bare_string_is_prose_only_where_it_stands_for_a_turn():
    assert upper("a", bare_text=True) == "A"
    assert upper("a") == "a"
    assert list(prose("a", "s", bare_text=True)) == ["s", "a"]
    assert list(prose("a", "s", bare_text=False)) == ["s"]


def test_a_system_prompt_is_a_string_or_blocks():
    assert map_system("a", str.upper) == "A"
    blocks = [{"type": "text", "text": "a"}, {"type": "image", "data": "a"}]
    assert map_system(blocks, str.upper) == [{"type": "text", "text": "A"}, blocks[1]]
    assert map_system({"text": "a"}, str.upper) == {"text": "a"}


def test_the_input_stays_as_it_was():
    messages = [{"role": "user", "content": [{"type": "text", "text": "a"}]}]
    upper(messages)
    without_user_text(messages, last=1)
    assert messages == [{"role": "user", "content": [{"type": "text", "text": "a"}]}]


def test_embedded_text_is_replaced_in_place():
    image = {"type": "image", "data": "AA"}
    talk = [
        {"role": "user", "content": "one"},
        {"role": "assistant", "content": "1"},
        {"role": "user", "content": [image, {"type": "text", "text": "two"}]},
    ]
    blanked = {"role": "user", "content": [image, {"type": "text", "text": None}]}
    assert without_user_text(talk, last=1) == [talk[0], talk[1], blanked]
    assert without_user_text(talk, last=0) == [{"role": "user", "content": None}, talk[1], blanked]
    assert without_user_text(talk, last=9) == without_user_text(talk, last=0)
    assert without_user_text("a", last=1) is None
    assert without_user_text(None, last=1) is None
    assert user_texts(talk) == [["one"], ["two"]]


@pytest.mark.parametrize("odd", UNHASHABLE, ids=str)
@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages", "embeddings"])
def test_roles_and_types_that_are_no_strings_crash_nothing(odd, endpoint):
    turns = [
        {"role": odd, "content": "a  b"},
        {"role": "user", "content": [{"type": odd, "text": "a  b"}]},
        {"type": odd},
    ]
    wanted = descriptor(
        endpoint=endpoint,
        content=parts_content(turns, system=[{"type": odd}], tools=[{"type": "function", "name": odd}]),
    )
    decision = run(plan(wanted, anchor=True))
    assert decision.grant is not None
    assert len(decision.anchor) == 64
