"""Fill tokens: what was signed comes back, and nothing else is believed."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.descriptor import Target
from askonce_server.core.entries import Generations
from askonce_server.core.keys import entry_key
from askonce_server.core.reasons import Matcher
from askonce_server.service.tokens import ExpiredToken, FillTokens, ForgedToken
from core.builders import HOUR, NOW, grant

KEY, OTHER_KEY = b"k" * 32, b"o" * 32
TOKENS = FillTokens(KEY)
GRANT = grant(
    keys=(
        entry_key(Matcher.EXACT, b"a" * 32, b"b" * 32),
        entry_key(Matcher.NORMALIZED, b"c" * 32, b"d" * 32),
    ),
    policies=(b"p" * 32, b"q" * 32),
    scope_dims=("tenant", "user"),
    generations=Generations((b"n" * 32, b"m" * 32), (bytes(16), b"g" * 16)),
    ttl_ms=5_000,
)
TOKEN = TOKENS.sign(GRANT)
sha = st.binary(min_size=32, max_size=32)


def test_a_token_says_what_was_granted():
    assert TOKENS.verify(TOKEN, now_ms=NOW) == GRANT


@given(
    st.lists(st.tuples(st.sampled_from([Matcher.EXACT, Matcher.NORMALIZED]), sha, sha, sha), max_size=3),
    st.none() | st.integers(1, 2**40),
    st.booleans(),
    st.text(st.characters(exclude_categories=["Cs"]), max_size=8),
)
def test_any_grant_survives(keys, ttl_ms, stream, name):
    granted = grant(
        keys=tuple(entry_key(*key) for *key, _ in keys),
        policies=tuple(policy for *_, policy in keys),
        scope_dims=(name, ""),
        ttl_ms=ttl_ms,
        stream=stream,
        rule_id=name,
        dialect=name,
        endpoint=name,
        served=Target(name, name),
    )
    assert TOKENS.verify(TOKENS.sign(granted), now_ms=NOW) == granted


def test_a_token_lasts_until_its_end_and_not_a_millisecond_longer():
    assert TOKENS.verify(TOKEN, now_ms=NOW + HOUR - 1) == GRANT
    with pytest.raises(ExpiredToken):
        TOKENS.verify(TOKEN, now_ms=NOW + HOUR)


@pytest.mark.parametrize("position", range(len(TOKEN)))
def test_no_byte_can_be_changed(position):
    forged = bytearray(TOKEN)
    forged[position] ^= 1
    with pytest.raises((ForgedToken, ExpiredToken)):
        TOKENS.verify(bytes(forged), now_ms=NOW)


@pytest.mark.parametrize(
    "length", [0, 1, 4, 31, 32, 33, 37, 38, len(TOKEN) - 33, len(TOKEN) - 32, len(TOKEN) - 1]
)
def test_a_truncated_token_is_none(length):
    with pytest.raises(ForgedToken):
        TOKENS.verify(TOKEN[:length], now_ms=NOW)


def test_a_longer_token_is_none():
    with pytest.raises(ForgedToken):
        TOKENS.verify(TOKEN + b"\x00", now_ms=NOW)


@given(st.binary(max_size=200))
def test_noise_is_no_token(noise):
    with pytest.raises((ForgedToken, ExpiredToken)):
        TOKENS.verify(noise, now_ms=NOW)


def test_a_token_of_another_store_is_of_no_use():
    with pytest.raises(ExpiredToken):
        FillTokens(OTHER_KEY).verify(TOKEN, now_ms=NOW)


def test_a_token_under_an_older_key_is_good_while_the_key_is_kept():
    rotated = FillTokens(OTHER_KEY, older_keys=(KEY,))
    assert rotated.verify(TOKEN, now_ms=NOW) == GRANT
    assert rotated.sign(GRANT) != TOKEN
    with pytest.raises(ExpiredToken):
        TOKENS.verify(rotated.sign(GRANT), now_ms=NOW)


def test_a_mac_of_another_token_does_not_fit():
    """An answer granted for one tenant cannot be filed under another's keys."""
    elsewhere = TOKENS.sign(grant(scope_root=b"x" * 32, keys=GRANT.keys, policies=GRANT.policies))
    with pytest.raises(ForgedToken):
        TOKENS.verify(elsewhere[:-32] + TOKEN[-32:], now_ms=NOW)


def test_a_token_shows_no_key():
    assert KEY not in TOKEN
    assert KEY[:4] != TOKEN[1:5]
