"""Properties of the canonical form, against an independent implementation and the standard library."""

from __future__ import annotations

import json
from decimal import Decimal
from typing import Any

import rfc8785
from hypothesis import assume, example, given
from hypothesis import strategies as st

from askonce_server.core.canonical import _parse_carefully, canonicalize, encode, parse
from askonce_server.core.errors import NotJson, Unrepresentable
from strategies import json_trees, numbers, respelled


def _as_doubles(tree: Any) -> Any:
    """Turn decimals into what the other implementation reads."""
    if isinstance(tree, Decimal):
        return float(tree)
    if isinstance(tree, list):
        return [_as_doubles(item) for item in tree]
    if isinstance(tree, dict):
        return {key: _as_doubles(value) for key, value in tree.items()}
    return tree


@given(json_trees())
@example({"\uffff": [], "\U00010000": {"\ue000": 1, "\U0001f600": 2}})
def test_encoding_agrees_with_the_reference(tree: Any):
    assert encode(tree) == rfc8785.dumps(_as_doubles(tree))


@given(st.lists(numbers(), min_size=20, max_size=60))
def test_numbers_agree_with_the_reference(values: list[int | Decimal]):
    assert encode(values) == rfc8785.dumps(_as_doubles(values))


@given(st.data(), json_trees())
def test_no_spelling_changes_the_canonical_form(data: st.DataObject, tree: Any):
    raw = data.draw(respelled(tree))
    assert canonicalize(raw) == encode(tree)


@given(st.data(), json_trees())
def test_canonicalizing_twice_is_canonicalizing_once(data: st.DataObject, tree: Any):
    once = canonicalize(data.draw(respelled(tree)))
    assert canonicalize(once) == once


@given(json_trees(), json_trees())
def test_different_values_have_different_forms(left: Any, right: Any):
    assume(_as_doubles(left) != _as_doubles(right))
    assert encode(left) != encode(right)


@given(st.data(), json_trees())
def test_both_parsers_read_the_same(data: st.DataObject, tree: Any):
    raw = data.draw(respelled(tree))
    assert repr(_parse_carefully(raw)) == repr(parse(raw))


@st.composite
def _mutated(draw: st.DrawFn) -> bytes:
    """JSON with a few bytes cut out, doubled, or replaced by others that matter to JSON."""
    raw = draw(respelled(draw(json_trees(max_leaves=8))))
    snippets = st.one_of(
        st.sampled_from([*b'[]{}",:\\ 01.-+eE\x00\x1f\x7f\xc3\xed\xff']).map(lambda byte: bytes([byte])),
        st.sampled_from([b"NaN", b"-Infinity", b"\\ud83d", b"\\ude00", b"\xed\xa0\x80", b"\xef\xbb\xbf"]),
        st.sampled_from([b"1e999", b"1e-999", b'{"a":1,"a":2}', b"\\u00", b"9" * 17, b"null", b"tru"]),
    )
    for _ in range(draw(st.integers(1, 3))):
        start = draw(st.integers(0, len(raw)))
        end = draw(st.integers(start, min(len(raw), start + 3)))
        raw = raw[:start] + draw(st.one_of(st.just(raw[start:end] * 2), st.just(b""), snippets)) + raw[end:]
    return raw


@given(st.one_of(_mutated(), st.binary(max_size=40), st.text('[]{}",:\\u019.-eE nul').map(str.encode)))
@example(b"[-]")
@example(b'{"a":1,"a":2}')
@example(b'"\\ud800"')
def test_any_bytes_are_read_or_refused_as_the_standard_library_would(raw: bytes):
    outcome = _outcome(raw)
    try:
        lenient = json.loads(raw.decode())
    except ValueError:
        assert isinstance(outcome, NotJson)
        assert 0 <= outcome.offset <= len(raw)
        return
    assert isinstance(outcome, bytes | Unrepresentable)
    if isinstance(outcome, bytes):
        assert outcome == rfc8785.dumps(lenient)


def _outcome(raw: bytes) -> bytes | NotJson | Unrepresentable:
    try:
        return canonicalize(raw)
    except (NotJson, Unrepresentable) as refusal:
        return refusal
