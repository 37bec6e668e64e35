"""The bytes that are hashed, and what they hold apart."""

from __future__ import annotations

import hashlib
import struct
from dataclasses import fields, replace

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from askonce_server.core import keys
from askonce_server.core.descriptor import Target
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Identity, KeyPolicy
from core.builders import descriptor, exact, keys_of, plan, rule

part_lists = st.lists(st.binary(max_size=6), max_size=5)


def unframed(framed):
    """Read a frame back: that this can be done is what makes framing injective."""
    parts = []
    while framed:
        (length,) = struct.unpack_from(">I", framed)
        parts.append(framed[4 : 4 + length])
        framed = framed[4 + length :]
    return parts


@given(part_lists)
@example([])
@example([b""])
@example([b"", b""])
def test_a_frame_can_be_read_back(parts):
    assert unframed(keys.frame(*parts)) == parts


@given(part_lists, part_lists)
@example([b"ab", b"c"], [b"a", b"bc"])
@example([], [b""])
def test_framing_is_injective(one, other):
    assert (keys.frame(*one) == keys.frame(*other)) is (one == other)


@given(st.binary(max_size=20), st.integers(0, 20), st.integers(0, 20))
def test_no_split_of_the_same_bytes_collides(joined, first, second):
    def at(place):
        return keys.digest("t", joined[:place], joined[place:])

    first, second = min(first, len(joined)), min(second, len(joined))
    assert (at(first) == at(second)) is (first == second)


def test_a_digest_is_sha_256_over_the_framed_tag_and_parts():
    tag = b"askonce/1/entry"
    framed = b"\x00\x00\x00\x0f" + tag + b"\x00\x00\x00\x01a\x00\x00\x00\x00"
    assert keys.digest("entry", b"a", b"") == hashlib.sha256(framed).digest()
    assert keys.digest("entry", b"a") != keys.digest("scope", b"a")


def test_ids_are_whole_digests():
    """Short or weak ids could be made to collide on purpose."""
    found = keys_of(descriptor())[Matcher.EXACT]
    assert [len(part) for part in (found.scope_key, found.fingerprint, found.entry_id)] == [32, 32, 32]
    assert found.entry_id == keys.digest("entry", found.scope_key, found.fingerprint)


POLICIES = [
    KeyPolicy(),
    KeyPolicy(identity=Identity.TARGET),
    KeyPolicy(identity=Identity.BOTH),
    KeyPolicy(stream_shared=True),
    KeyPolicy(params_class=True),
    KeyPolicy(ignore_params=("a",)),
    KeyPolicy(ignore_params=("b",)),
    KeyPolicy(ignore_params=("a", "b")),
    KeyPolicy(ignore_params=("ab",)),
]


@pytest.mark.parametrize("matcher", Matcher)
def test_every_policy_has_keys_of_its_own(matcher):
    assert len({keys.key_policy(policy, matcher) for policy in POLICIES}) == len(POLICIES)


@pytest.mark.parametrize(
    ("change", "matcher"),
    [
        ({"normalized_guard": False}, Matcher.NORMALIZED),
        ({"case_fold": True}, Matcher.NORMALIZED),
        ({"history_max_messages": 2}, Matcher.SEMANTIC),
        ({"history_overflow": "reject"}, Matcher.SEMANTIC),
    ],
)
def test_settings_of_one_matcher_leave_the_others_alone(change, matcher):
    for one in Matcher:
        same = keys.key_policy(KeyPolicy(), one) == keys.key_policy(KeyPolicy(**change), one)
        assert same is (one is not matcher)


def test_every_setting_of_a_policy_changes_some_key():
    changed = {
        "identity": Identity.BOTH,
        "stream_shared": True,
        "params_class": True,
        "ignore_params": ("a",),
        "normalized_guard": False,
        "case_fold": True,
        "history_max_messages": 2,
        "history_overflow": "reject",
    }
    assert {field.name for field in fields(KeyPolicy) if field.compare} == set(changed)
    for name, value in changed.items():
        policy = replace(KeyPolicy(), **{name: value})
        assert any(keys.key_policy(policy, one) != keys.key_policy(KeyPolicy(), one) for one in Matcher), name


def test_the_order_and_repeats_of_ignored_params_do_not_count():
    sorted_once = keys.key_policy(KeyPolicy(ignore_params=("a", "b")), Matcher.EXACT)
    assert keys.key_policy(KeyPolicy(ignore_params=("b", "a", "b")), Matcher.EXACT) == sorted_once


# Scope


def test_a_missing_dim_is_never_guessed():
    with pytest.raises(KeyError):
        keys.scope_parts(rule(scope=("tenant", "user")), {"tenant": "acme"}, "")


values = st.text("ab\x00", min_size=1, max_size=3)
scopes = st.fixed_dictionaries({"a": values, "b": values, "ab": values})
namespaces = st.text("ab", max_size=2)


@given(scopes, namespaces, scopes, namespaces)
def test_scopes_differ_where_a_value_or_the_namespace_does(one, one_space, other, other_space):
    under = rule(scope=("a", "b", "ab"))
    roots = {
        keys.scope_root(keys.scope_parts(under, one, one_space)),
        keys.scope_root(keys.scope_parts(under, other, other_space)),
    }
    assert (len(roots) == 1) is ((one, one_space) == (other, other_space))


ZERO = (bytes(16),) * 4


def scope_key(**changes):
    plain = {"generations": ZERO, "matcher": Matcher.EXACT, "policy": b"p" * 32, "parts": (b"t", b"a")}
    known = {**plain, **changes}
    return keys.scope_key(known.pop("generations"), known.pop("matcher"), **known)


def raised(place):
    return tuple(b"1" * 16 if at == place else bytes(16) for at in range(4))


@pytest.mark.parametrize(
    "change",
    [
        *({"generations": raised(place)} for place in range(4)),
        {"generations": (bytes(16),) * 5},
        {"matcher": Matcher.NORMALIZED},
        {"matcher": Matcher.SEMANTIC},
        {"embedder": b"e" * 32},
        {"policy": b"q" * 32},
        {"parts": (b"t", b"b")},
        {"parts": (b"ta", b"")},
        {"parts": (b"t", b"a", b"n")},
        {"parts": ()},
    ],
)
def test_everything_in_a_scope_key_counts(change):
    assert scope_key(**change) != scope_key()


def test_each_generation_has_a_name_of_its_own():
    planned = plan(descriptor(scope={"tenant": "acme", "user": "ada"}), rule(scope=("tenant", "user")))
    names = planned.scope.generation_names
    assert names[1] == keys.model_generation("openai", "gpt-4o")
    assert names[2:4] == (keys.dim_generation("tenant", "acme"), keys.dim_generation("user", "ada"))
    assert len(set(names)) == 5
    assert {len(name) for name in names} == {32}


def test_generations_of_dims_are_shared_between_rules_and_scopes():
    """A purge of one dim value reaches every scope that has it."""
    one = plan(descriptor(), rule()).scope.generation_names
    elsewhere = descriptor(scope={"tenant": "acme", "user": "ada"}, served=Target("a", "b"))
    other = plan(elsewhere, rule(scope=("user", "tenant"))).scope.generation_names
    assert one[0] == other[0]
    assert one[2] == other[3]
    assert set(one) & set(other) == {one[0], one[2]}


def test_the_model_of_a_generation_is_the_one_in_the_key():
    wanted = descriptor(requested=Target("router", "auto"))
    served, target = plan(wanted), plan(wanted, rule(identity=Identity.TARGET))
    assert served.scope.generation_names[1] == keys.model_generation("openai", "gpt-4o")
    assert target.scope.generation_names[1] == keys.model_generation("router", "auto")


def test_a_key_does_not_depend_on_what_was_derived_before():
    ids = [exact(descriptor(served=Target("openai", f"m{number}"))) for number in range(50)]
    assert ids == [exact(descriptor(served=Target("openai", f"m{number}"))) for number in range(50)]
    assert len(set(ids)) == 50


def test_partitions_and_semantic_entries():
    scope, context = b"s" * 32, b"c" * 32
    found = keys.partition(scope, context, history_max_messages=1)
    assert found == keys.digest("partition", scope, context, b"1")
    assert found != keys.partition(scope, context, history_max_messages=11)
    text = keys.digest("text", "é".encode())
    assert keys.semantic_key(bytes(32), found, "é").entry_id == keys.digest("entry", found, text)
