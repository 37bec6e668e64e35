"""The conversation anchor: later turns keep it, another beginning does not."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.anchor import conversation_anchor
from askonce_server.core.parts import Parts
from core.builders import body, descriptor, plan, rule

SYSTEM = {"role": "system", "content": "Be brief."}
USER = {"role": "user", "content": "hi"}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AA"}}


def anchor(*messages, system=None):
    return conversation_anchor(Parts(list(messages), system, None, {}, None))


def test_it_is_64_hex_characters():
    assert len(anchor(SYSTEM, USER)) == 64
    assert bytes.fromhex(anchor(SYSTEM, USER))


@pytest.mark.parametrize(
    "later",
    [
        [{"role": "assistant", "content": "yes?"}],
        [{"role": "assistant", "content": "yes?"}, {"role": "user", "content": "what is this?"}],
        [{"role": "user", "content": "another"}],
        [{"role": "tool", "content": "21"}, SYSTEM],
    ],
)
def test_later_turns_keep_it(later):
    assert anchor(SYSTEM, USER, *later) == anchor(SYSTEM, USER)


@pytest.mark.parametrize(
    "messages",
    [
        [USER],
        [{"role": "developer", "content": "Be brief."}, USER],
        [{"role": "system", "content": "Be long."}, USER],
        [SYSTEM, {"role": "user", "content": "hello"}],
        [SYSTEM, SYSTEM, USER],
        [SYSTEM],
        [{"role": "system", "content": "Be brief.hi"}],
        [{"role": "system", "content": ""}, {"role": "user", "content": "Be brief.hi"}],
        [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "hi"}, IMAGE]}],
        [SYSTEM, {"role": "user", "content": [IMAGE, {"type": "text", "text": "hi"}]}],
        [SYSTEM, {"role": "user", "content": [{"type": "text", "text": "h"}, {"type": "text", "text": "i"}]}],
    ],
)
def test_another_beginning_has_another(messages):
    assert anchor(*messages) != anchor(SYSTEM, USER)


def test_every_part_of_the_first_user_turn_counts():
    def turn(data):
        return {"role": "user", "content": [{"type": "image", "source": {"data": data}}]}

    assert anchor(turn("AA")) != anchor(turn("AB"))


def test_cache_marks_that_move_along_do_not_count():
    def marked(*content):
        return {"role": "user", "content": list(content)}

    mark = {"cache_control": {"type": "ephemeral"}}
    assert anchor(marked({**IMAGE, **mark})) == anchor(marked(IMAGE))
    assert anchor(USER, system=[{**IMAGE, **mark}]) == anchor(USER, system=[IMAGE])
    assert anchor({**USER, **mark}) == anchor(USER)


def test_a_system_prompt_apart_counts_and_is_no_user_turn():
    assert anchor(USER, system="Be brief.") != anchor(USER)
    assert anchor(USER, system="Be brief.") != anchor(USER, system="Be long.")
    assert anchor(system="hi") != anchor(USER)


def test_a_bare_input_is_the_first_user_turn():
    bare = conversation_anchor(Parts("hi", None, None, {}, None))
    assert bare == anchor(USER)
    assert bare != conversation_anchor(Parts("ho", None, None, {}, None))


texts = st.lists(st.text(st.characters(exclude_categories=["Cs"]), max_size=3), max_size=3)


@given(texts, texts)
def test_parts_cannot_be_split_otherwise(one, other):
    def turn(parts):
        return {"role": "user", "content": [{"type": "text", "text": text} for text in parts]}

    assert (anchor(turn(one)) == anchor(turn(other))) is (one == other)


def test_it_comes_only_when_asked_for_and_with_bypasses_too():
    assert plan(descriptor()).anchor == ""
    assert plan(descriptor(), anchor=True).anchor == anchor(USER)
    sampled = body("openai", "chat", {"messages": [SYSTEM, USER]})
    assert plan(sampled, anchor=True).anchor == anchor(SYSTEM, USER)
    assert plan(sampled, rule(scope=("absent",)), anchor=True).anchor == anchor(SYSTEM, USER)


def test_content_without_a_canonical_form_has_none():
    odd = body("openai", "chat", {}, content=b'{"messages":[{"role":"user","content":{"n":1e999}}]}')
    assert plan(odd, anchor=True).anchor == ""
