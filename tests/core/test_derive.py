"""From a request to fingerprints: what is derived, when, and what becomes of it when content is forgotten."""

from __future__ import annotations

import sys
import threading

import pytest

from askonce_server.core.derive import Derivation
from askonce_server.core.errors import Unrepresentable
from askonce_server.core.reasons import BypassReason, Matcher
from askonce_server.core.rules import KeyPolicy
from askonce_server.service.content import read
from core.builders import body, content, descriptor, digests, dumps, said

PLAIN = KeyPolicy()
DETERMINISTIC = (Matcher.EXACT, Matcher.NORMALIZED)


def derivation(wanted, policy=PLAIN, *, kind=Derivation, stream=False):
    return kind(wanted, policy, stream=stream, parts=read(wanted), reload=lambda: read(wanted))


def fingerprints(derived):
    return [derived.fingerprint(matcher) for matcher in DETERMINISTIC]


def test_material_is_canonical_json_of_the_parts_that_are_present():
    wanted = descriptor(
        content=content([{"role": "user", "content": "hi"}], params={"b": 1.0, "a": None}),
        headers={"x": "1"},
    )
    found = derivation(wanted).material(Matcher.EXACT)
    assert found == b'{"headers":{"x":"1"},"messages":[{"content":"hi","role":"user"}],"params":{"b":1}}'


def test_normalized_material_folds_white_space_and_keeps_the_rest():
    found = derivation(said(" a \u00a0 b\n")).material(Matcher.NORMALIZED)
    assert found == b'{"messages":[{"content":"a b","role":"user"}],"params":{"temperature":0}}'


def test_the_two_profiles_have_fingerprints_of_their_own_even_for_equal_material():
    derived = derivation(said("plain"))
    assert derived.material(Matcher.EXACT) == derived.material(Matcher.NORMALIZED)
    exact, normalized = fingerprints(derived)
    assert exact != normalized
    assert {len(exact), len(normalized)} == {32}


def test_significant_white_space_is_a_reason_not_a_key():
    assert derivation(said("- a\n- b")).fingerprint(Matcher.NORMALIZED) is BypassReason.WHITESPACE_SIGNIFICANT


@pytest.mark.parametrize("text", ["Roses are red,\n", "Roses  are red,", "It is "])
def test_white_space_in_a_text_that_the_model_goes_on_from_is_significant(text):
    """A last turn that is the assistant's is the beginning of the answer."""
    asked, begun = {"role": "user", "content": "a poem"}, {"role": "assistant", "content": text}
    parted = {"role": "assistant", "content": [{"type": "text", "text": text}]}
    for messages in ([asked, begun], [asked, parted]):
        wanted = descriptor(content=content(messages))
        found = derivation(wanted).fingerprint(Matcher.NORMALIZED)
        assert found is BypassReason.WHITESPACE_SIGNIFICANT
    before = descriptor(content=content([asked, begun, asked]))
    assert isinstance(derivation(before).fingerprint(Matcher.NORMALIZED), bytes)


@pytest.mark.parametrize("texts", [("re", " sign"), ("re ", "sign"), ("re", "\nsign", "s")])
def test_white_space_between_parts_is_significant(texts):
    """Nothing says what a provider puts between two parts."""
    content_of = [{"type": "text", "text": text} for text in texts]
    wanted = descriptor(content=content([{"role": "user", "content": content_of}]))
    assert derivation(wanted).fingerprint(Matcher.NORMALIZED) is BypassReason.WHITESPACE_SIGNIFICANT
    outer = [{"type": "text", "text": " re"}, {"type": "text", "text": ""}, {"type": "text", "text": "sign "}]
    wanted = descriptor(content=content([{"role": "user", "content": outer}]))
    assert isinstance(derivation(wanted).fingerprint(Matcher.NORMALIZED), bytes)


def test_white_space_in_what_becomes_a_vector_is_significant():
    wanted = descriptor(content=content([{"role": "user", "content": "a  b"}]), endpoint="embeddings")
    assert derivation(wanted).fingerprint(Matcher.NORMALIZED) is BypassReason.WHITESPACE_SIGNIFICANT


def test_the_guard_can_be_turned_off():
    policy = KeyPolicy(normalized_guard=False)
    assert derivation(said("- a\n\n- b"), policy).material(Matcher.NORMALIZED) == derivation(
        said("- a - b"), policy
    ).material(Matcher.NORMALIZED)


def test_case_fold_folds_prose_only_and_only_when_asked():
    upper = descriptor(content=content([{"role": "user", "content": "HI"}], params={"stop": "HI"}))
    assert b'"HI","role"' in derivation(upper).material(Matcher.NORMALIZED)
    folded = derivation(upper, KeyPolicy(case_fold=True))
    assert folded.material(Matcher.NORMALIZED) == (
        b'{"messages":[{"content":"hi","role":"user"}],"params":{"stop":"HI"}}'
    )
    assert b'"HI","role"' in folded.material(Matcher.EXACT)


def test_what_was_derived_stays_known_after_the_content_was_forgotten():
    loads = []
    wanted = said("a  b")
    derived = Derivation(
        wanted, KeyPolicy(), stream=False, parts=read(wanted), reload=lambda: loads.append(1)
    )
    before = fingerprints(derived)
    derived.forget()
    assert fingerprints(derived) == before
    assert loads == []


def test_what_was_not_derived_is_read_anew_after_the_content_was_forgotten():
    loads = []

    def reload():
        loads.append(1)
        return read(said("a  b"))

    derived = Derivation(said("a  b"), KeyPolicy(), stream=False, parts=reload(), reload=reload)
    derived.forget()
    assert fingerprints(derived) == fingerprints(derivation(said("a  b")))
    assert len(loads) == 2


def test_content_that_cannot_be_read_anew_is_unrepresentable():
    derived = Derivation(said("a"), KeyPolicy(), stream=False, parts=None, reload=lambda: None)
    with pytest.raises(Unrepresentable):
        derived.fingerprint(Matcher.EXACT)


class ForgottenAtOnce(Derivation):
    """A derivation whose remembered content is gone the moment it was written, by another thread."""

    _content = property(lambda self: None, lambda self, value: None)
    _exact_material = property(lambda self: b"", lambda self, value: None)


@pytest.mark.parametrize("text", ["plain", "a  b"])
def test_another_thread_that_forgets_the_content_never_empties_a_key(text):
    wanted = said(text)
    assert fingerprints(derivation(wanted, kind=ForgottenAtOnce)) == fingerprints(derivation(wanted))


def test_threads_that_share_a_derivation_derive_the_same():
    wanted = said("a  b")
    want, found = fingerprints(derivation(wanted)), set()
    interval = sys.getswitchinterval()
    sys.setswitchinterval(1e-6)

    def work(derived, gate):
        gate.wait()
        found.add(tuple(fingerprints(derived)))
        derived.forget()

    try:
        for _ in range(100):
            shared, gate = derivation(wanted), threading.Barrier(4)
            threads = [threading.Thread(target=work, args=(shared, gate)) for _ in range(4)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()
    finally:
        sys.setswitchinterval(interval)
    assert found == {tuple(want)}


def test_digests_have_a_key_space_of_their_own():
    wanted = descriptor(content=digests())
    found = derivation(wanted).material(Matcher.EXACT)
    assert found.startswith(b"\x00")  # no JSON document does
    assert derivation(wanted).material(Matcher.NORMALIZED) != found


def test_digests_without_a_normalized_one_skip_that_matcher():
    derived = derivation(descriptor(content=digests(normalized_sha256=b"")))
    assert isinstance(derived.fingerprint(Matcher.EXACT), bytes)
    assert derived.fingerprint(Matcher.NORMALIZED) is BypassReason.UNREPRESENTABLE_CONTENT
    assert derived.semantic() is BypassReason.NO_EMBEDDABLE_TEXT


@pytest.mark.parametrize(
    "change",
    [
        {"content": digests(canonicalization="other")},
        {"content": digests(canonicalization_version="2")},
        {"content": digests(exact_sha256=b"x" * 32, normalized_sha256=b"y" * 32)},
        {"headers": {"anthropic-beta": "x"}},
        {"versions": {"guardrail": "2"}},
    ],
)
def test_everything_around_digests_is_keyed(change):
    plain = descriptor(content=digests())
    changed = descriptor(**{"content": digests(), **change})
    for one, other in zip(fingerprints(derivation(plain)), fingerprints(derivation(changed)), strict=True):
        assert one != other


def test_name_and_version_of_a_canonicalization_cannot_be_shifted_into_each_other():
    one = derivation(descriptor(content=digests(canonicalization="ab", canonicalization_version="c")))
    other = derivation(descriptor(content=digests(canonicalization="a", canonicalization_version="bc")))
    assert fingerprints(one) != fingerprints(other)


def semantic(messages, policy=PLAIN, endpoint="chat", **changes):
    return derivation(descriptor(endpoint=endpoint, content=content(messages), **changes), policy).semantic()


TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "one"},
    {"role": "assistant", "content": "1"},
    {"role": "user", "content": [{"type": "text", "text": "two"}, {"type": "text", "text": "more"}]},
]


def test_the_semantic_text_is_that_of_the_last_user_turns():
    assert semantic(TALK).text == "two\nmore"
    assert semantic(TALK, KeyPolicy(history_max_messages=2)).text == "one\ntwo\nmore"
    assert semantic(TALK, KeyPolicy(history_max_messages=0)).text == "one\ntwo\nmore"


def test_earlier_user_turns_are_context_by_default():
    changed = [TALK[0], {"role": "user", "content": "uno"}, *TALK[2:]]
    assert semantic(TALK).context != semantic(changed).context
    all_turns = KeyPolicy(history_max_messages=0)
    assert semantic(TALK, all_turns).context == semantic(changed, all_turns).context


def test_a_history_beyond_the_limit_can_be_refused():
    policy = KeyPolicy(history_overflow="reject")
    assert semantic(TALK, policy) is BypassReason.HISTORY_TOO_LONG
    assert semantic(TALK[3:], policy).text == "two\nmore"
    assert semantic(TALK, KeyPolicy(history_max_messages=0, history_overflow="reject")).text


def test_the_embedded_text_alone_leaves_the_context():
    plain = semantic([{"role": "user", "content": "a"}])
    assert plain.context == semantic([{"role": "user", "content": "b"}]).context
    for other in (
        [{"role": "user", "content": [{"type": "text", "text": "a"}]}],
        [{"role": "user", "content": "a", "name": "ann"}],
        [{"role": "system", "content": "x"}, {"role": "user", "content": "a"}],
        [{"role": "user", "content": "a"}, {"role": "assistant", "content": "prefill"}],
    ):
        assert semantic(other).context != plain.context


def test_images_and_tool_results_are_context():
    def turn(part, text="look"):
        return [{"role": "user", "content": [part, {"type": "text", "text": text}]}]

    image = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
    other = {"type": "image", "source": {"type": "base64", "data": "AAAB"}}
    result = {"type": "tool_result", "tool_use_id": "t", "content": "21"}
    assert semantic(turn(image)).text == "look"
    assert semantic(turn(result)).text == "look"
    assert semantic(turn(image)).context == semantic(turn(image, "see")).context
    assert semantic(turn(image)).context != semantic(turn(other)).context
    assert semantic(turn(result)).context != semantic(turn({**result, "content": "22"})).context


@pytest.mark.parametrize(
    "messages",
    [
        [],
        [{"role": "system", "content": "x"}],
        [{"role": "user", "content": ""}],
        [{"role": "user", "content": " \u3000\n"}],
        [{"role": "user", "content": None}],
        [{"role": "user"}],
        [{"role": "user", "content": "a"}, {"role": "user", "content": [{"type": "image"}]}],
        [{"role": "user", "content": [{"type": "tool_result", "content": "a"}]}],
    ],
)
def test_a_last_user_turn_without_text_cannot_be_embedded(messages):
    assert semantic(messages) is BypassReason.NO_EMBEDDABLE_TEXT


def test_a_bare_input_is_one_user_turn():
    bare = derivation(body("openai", "responses", {"model": "m", "input": "hello"})).semantic()
    assert bare.text == "hello"
    other = derivation(body("openai", "responses", {"model": "m", "input": "world"})).semantic()
    assert bare.context == other.context


def test_both_forms_of_a_request_give_equal_material():
    tree = {
        "model": "gpt-4o",
        "stream": True,
        "messages": [{"role": "user", "content": "hi"}],
        "tools": [{"type": "function", "function": {"name": "f"}}],
        "temperature": 0.0,
        "user": None,
    }
    parts = descriptor(
        stream=True,
        content=content(tree["messages"], tools=tree["tools"], params={"temperature": 0, "stream": True}),
    )
    whole = body("openai", "chat", tree)
    for matcher in DETERMINISTIC:
        assert derivation(whole).material(matcher) == derivation(parts).material(matcher)
    assert dumps(tree) == whole.content
