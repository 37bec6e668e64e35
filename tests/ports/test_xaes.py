"""XAES-256-GCM against its specification's own vectors, and what changed data comes to."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.store.keyring import SEALED_BYTES
from askonce_server.store.xaes import XaesGcm

NONCE = b"ABCDEFGHIJKLMNOPQRSTUVWX"


@pytest.mark.parametrize(
    ("key", "bound", "sealed"),
    [
        (b"\1" * 32, b"", "ce546ef63c9cc60765923609b33a9a1974e96e52daf2fcf7075e2271"),
        (b"\3" * 32, b"c2sp.org/XAES-256-GCM", "986ec1832593df5443a179437fd083bf3fdb41abd740a21f71eb769d"),
    ],
)
def test_the_vectors_of_the_specification(key, bound, sealed):
    """https://c2sp.org/XAES-256-GCM: the subkey's carry is 0 for one key and 1 for the other."""
    cipher = XaesGcm(key)
    assert cipher.encrypt(NONCE, b"XAES-256-GCM", bound).hex() == sealed
    assert cipher.open(NONCE + bytes.fromhex(sealed), bound) == b"XAES-256-GCM"


@given(st.binary(max_size=5000), st.binary(max_size=100), st.data())
def test_what_was_sealed_opens_to_itself_and_nothing_else(plain, bound, data):
    cipher = XaesGcm(bytes(range(32)))
    sealed = cipher.seal(plain, bound)
    assert len(sealed) == len(plain) + SEALED_BYTES
    assert cipher.open(sealed, bound) == cipher.open(memoryview(sealed), bound) == plain
    at, bit = data.draw(st.integers(0, len(sealed) - 1)), data.draw(st.integers(0, 7))
    changed = bytearray(sealed)
    changed[at] ^= 1 << bit
    assert cipher.open(bytes(changed), bound) is None
    assert cipher.open(sealed, bound + b"x") is None
    assert cipher.open(sealed[: data.draw(st.integers(0, len(sealed) - 1))], bound) is None
    assert XaesGcm(bytes(range(1, 33))).open(sealed, bound) is None


def test_equal_texts_never_look_alike():
    cipher = XaesGcm(bytes(range(32)))
    assert len({cipher.seal(b"same", b"")[:24] for _ in range(1000)}) == 1000
    assert len({cipher.seal(b"same", b"")[24:] for _ in range(1000)}) == 1000
