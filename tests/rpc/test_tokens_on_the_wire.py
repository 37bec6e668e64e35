"""Fill tokens: the leave to store under what was looked up; not to be forged, moved or outlived."""

from __future__ import annotations

import pytest

from rpc.answers import answer, chat_body
from rpc.harness import Place, Running, short_folder
from rpc.replies import filed, malformed, outcome, refused, verdict
from rpc.requests import describe


def test_a_token_can_be_used_twice_and_the_later_answer_stays(gateway, tenant):
    token = gateway.ask(describe(tenant)).fill_token
    for text in ("one", "two"):
        assert filed(gateway.store(token, answer(text))) == "stored"
        assert gateway.ask(describe(tenant)).candidate.body.data == chat_body(text)


def test_a_token_outlives_a_restart(start):
    with short_folder() as folder:
        first = Running(Place(folder))
        token = first.gateway.ask(describe()).fill_token
        first.gateway.fill(describe("kept"))
        first.stop()
        second = Running(Place(folder))
        assert filed(second.gateway.store(token, answer("late"))) == "stored"
        assert second.gateway.ask(describe()).candidate.body.data == chat_body("late")
        assert verdict(second.gateway.ask(describe("kept"))) == "hit exact"
        second.stop()


def test_a_token_of_another_store_is_of_no_use(start):
    one, other = start(), start()
    token = one.gateway.ask(describe()).fill_token
    assert filed(other.gateway.store(token, answer())) == "token_expired"
    assert verdict(other.gateway.ask(describe())) == "miss"
    assert filed(one.gateway.store(token, answer())) == "stored"


def test_sidecars_with_one_configured_key_take_each_other_s_tokens(start, monkeypatch):
    monkeypatch.setenv("FILL_KEY", "a secret of some length")
    one, other = (start(fill_token_key_env="FILL_KEY") for _ in range(2))
    token = one.gateway.ask(describe()).fill_token
    assert filed(other.gateway.store(token, answer())) == "stored"
    assert verdict(other.gateway.ask(describe())) == "hit exact"
    assert outcome(one.gateway.ask(describe())) == "miss"


def tampered(token: bytes, how: str) -> bytes:
    at = len(token) // 2
    return {
        "cut": token[:-1],
        "halved": token[:at],
        "longer": token + b"\0",
        "one bit": token[:at] + bytes([token[at] ^ 1]) + token[at + 1 :],
        "last bit": token[:-1] + bytes([token[-1] ^ 1]),
        "version": b"\x02" + token[1:],
        "text": b"let me in",
        "zeros": bytes(len(token)),
        "one byte": b"\x01",
        "no mac": token[:5] + b"\0" * 32,
    }[how]


HOW = ["cut", "halved", "longer", "one bit", "last bit", "version", "text", "zeros", "one byte", "no mac"]


@pytest.mark.parametrize("how", HOW)
def test_a_forged_token_is_refused_by_name(gateway, tenant, how):
    token = tampered(gateway.ask(describe(tenant)).fill_token, how)
    found = malformed(lambda: gateway.store(token, answer()))
    assert set(found) == {"fill_token"}
    assert verdict(gateway.ask(describe(tenant))) == "miss"


def test_no_bit_of_a_token_can_be_changed(gateway, tenant):
    """Every byte is under the signature; the key id alone may say that the key is gone."""
    token = gateway.ask(describe(tenant)).fill_token
    for at in range(len(token)):
        forged = token[:at] + bytes([token[at] ^ 0x80]) + token[at + 1 :]
        if 1 <= at <= 4:
            assert filed(gateway.store(forged, answer())) == "token_expired"
        else:
            assert refused(lambda forged=forged: gateway.store(forged, answer())).fields == {"fill_token"}
    assert verdict(gateway.ask(describe(tenant))) == "miss"


@pytest.mark.parametrize("token", [b"", b"x" * 65_537], ids=["empty", "large"])
def test_a_token_of_no_size_is_refused(gateway, token):
    assert set(malformed(lambda: gateway.store(token, answer()))) == {"fill_token"}


def test_a_token_says_nothing_of_the_request_or_the_scope_in_plain_words(gateway):
    secret = "Mallory-Tenant-4711"
    token = gateway.ask(describe(secret, [{"role": "user", "content": "prompt-marker-4712"}])).fill_token
    assert token
    for text in (secret, "prompt-marker-4712", secret.lower()):
        assert text.encode() not in token


def test_a_token_files_under_its_own_scope_whatever_comes_with_it(gateway, tenant):
    """The token of one tenant cannot put an answer where another would find it."""
    token = gateway.ask(describe(tenant)).fill_token
    assert filed(gateway.store(token, answer("for me"))) == "stored"
    assert verdict(gateway.ask(describe(f"{tenant}-other"))) == "miss"


def test_tokens_of_two_lookups_differ_by_what_was_looked_up(gateway, tenant):
    tokens = {gateway.ask(describe(f"{tenant}{at}")).fill_token for at in range(20)}
    assert len(tokens) == 20


def test_a_token_of_a_rule_that_is_gone_is_refused(start):
    with short_folder() as folder:
        first = Running(Place(folder, rules=[{"id": "old"}]))
        token = first.gateway.ask(describe()).fill_token
        first.stop()
        second = Running(Place(folder, rules=[{"id": "new"}]))
        assert filed(second.gateway.store(token, answer())) == "no_rule"
        second.stop()
        third = Running(Place(folder, rules=[{"id": "old", "mode": "off"}]))
        assert filed(third.gateway.store(token, answer())) == "disabled"
        third.stop()
        fourth = Running(Place(folder, rules=[{"id": "old", "admission": {"max_body": "8"}}]))
        assert filed(fourth.gateway.store(token, answer())) == "too_large"
        fourth.stop()
