"""The stand-in that users test their gateways with."""

from __future__ import annotations

import asyncio
import inspect

import pytest

import askonce
from askonce import AskOnce, AsyncAskOnce, AsyncFakeAskOnce, BypassReason, FakeAskOnce, RefusalReason
from client.conftest import Blocking
from client.scripted import ANSWER, BODY, CHAT, GPT


@pytest.fixture(params=["sync", "async"])
def make(request):
    with asyncio.Runner() as runner:

        def made(**options):
            if request.param == "sync":
                return FakeAskOnce(**options)
            return Blocking(runner, AsyncFakeAskOnce(**options))

        yield made


@pytest.fixture
def fake(make):
    return make()


def changed(**members):
    return askonce.Descriptor.openai_chat({**BODY, **members}, served=GPT, scope={"tenant": "acme"})


def test_it_is_a_tiny_cache(fake):
    decision = fake.lookup(CHAT)
    assert (decision.outcome, decision.store_answer) == (askonce.Outcome.MISS, True)
    stored = fake.store(decision, ANSWER)
    assert stored.stored
    found = fake.lookup(CHAT)
    assert (found.hit, found.body) == (True, ANSWER.body)
    assert found.candidate.entry_id == stored.entries[0].entry_id


def test_key_order_and_white_space_do_not_matter_and_all_else_does(fake):
    fake.store(CHAT, ANSWER)
    spaced = b'{ "temperature": 0, "messages": [ {"content": "hi", "role": "user"} ], "model": "gpt-4o" }'
    assert fake.lookup(askonce.Descriptor.openai_chat(spaced, served=GPT, scope={"tenant": "acme"})).hit
    other_tenant = askonce.Descriptor.openai_chat(BODY, served=GPT, scope={"tenant": "other"})
    other_model = askonce.Descriptor.openai_chat(
        BODY, served=askonce.Target("openai", "gpt-4.1"), scope={"tenant": "acme"}
    )
    for different in (changed(temperature=1), changed(stream=True), other_tenant, other_model):
        assert not fake.lookup(different).hit
    assert not fake.lookup(CHAT, controls=askonce.Controls(namespace="eu")).hit


def test_a_scope_that_is_missing_is_a_bypass_as_with_the_default_rule(make):
    unscoped = askonce.Descriptor.openai_chat(BODY, served=GPT)
    assert make().lookup(unscoped).bypass_reason is BypassReason.SCOPE_MISSING
    assert make(scope=()).lookup(unscoped).outcome is askonce.Outcome.MISS


def test_modes(fake):
    def look(mode):
        return fake.lookup(CHAT, controls=askonce.Controls(mode=mode))

    assert not look(askonce.CacheMode.READ_ONLY).store_answer
    assert not fake.lookup(CHAT, controls=askonce.Controls(logging_disabled=True)).store_answer
    fake.store(CHAT, ANSWER)
    assert look(askonce.CacheMode.READ_ONLY).hit
    assert look(askonce.CacheMode.BYPASS).bypass_reason is BypassReason.CALLER_BYPASS
    refreshed = look(askonce.CacheMode.REFRESH)
    assert (refreshed.deny_reason, refreshed.store_answer) == (askonce.DenyReason.REFRESH, True)


def test_a_body_that_is_left_out(fake):
    fake.store(CHAT, ANSWER)
    decision = fake.lookup(CHAT, omit_body=True)
    assert (decision.hit, decision.body) == (True, None)
    assert fake.lookup(CHAT).body == ANSWER.body


@pytest.mark.parametrize(
    ("source", "response", "reason"),
    [
        (CHAT, askonce.UpstreamResponse(body=b"{}", status_code=429), RefusalReason.UPSTREAM_ERROR),
        (CHAT, askonce.UpstreamResponse(body=b"", status_code=200), RefusalReason.EMPTY),
        (
            CHAT,
            askonce.UpstreamResponse(body=b"{}", status_code=200, cacheable=False),
            RefusalReason.NOT_CACHEABLE,
        ),
        (b"unknown", ANSWER, RefusalReason.TOKEN_EXPIRED),
    ],
)
def test_what_no_sidecar_would_store(fake, source, response, reason):
    assert fake.store(source, response).refusal_reason is reason
    assert not fake.lookup(CHAT).hit


def test_a_body_that_is_not_json_is_a_bypass(fake):
    broken = askonce.Descriptor.openai_chat(b"{", served=GPT, scope={"tenant": "acme"})
    assert fake.lookup(broken).bypass_reason is BypassReason.UNREPRESENTABLE_CONTENT
    assert not fake.store(broken, ANSWER).stored


def test_programmed_answers_are_used_in_order_and_then_up(fake):
    fake.will_hit(b"one", content_type="text/event-stream", kind=askonce.MatchKind.SEMANTIC)
    fake.will_miss(deny_reason=askonce.DenyReason.EXPIRED, lease_holder=True)
    fake.will_bypass(BypassReason.SAMPLED_REQUEST)
    first, second, third, fourth = (fake.lookup(CHAT) for _ in range(4))
    assert (first.body, first.content_type) == (b"one", "text/event-stream")
    assert first.kind is askonce.MatchKind.SEMANTIC
    assert (second.deny_reason, second.lease_holder) == (askonce.DenyReason.EXPIRED, True)
    assert fake.abandon(second).released
    assert third.bypass_reason is BypassReason.SAMPLED_REQUEST
    assert fourth.outcome is askonce.Outcome.MISS
    assert fake.store(second, ANSWER).stored
    assert fake.lookup(CHAT).hit


def test_programmed_refusals_and_failures(fake):
    fake.will_refuse(RefusalReason.STORE_FULL)
    assert fake.store(CHAT, ANSWER).refusal_reason is RefusalReason.STORE_FULL
    assert fake.store(CHAT, ANSWER).stored
    fake.will_fail("DEADLINE_EXCEEDED")
    assert fake.lookup(CHAT).bypass_reason is BypassReason.SIDECAR_TIMEOUT
    assert fake.lookup(CHAT).hit
    for _ in range(5):
        fake.will_fail()
    reasons = [fake.lookup(CHAT).bypass_reason for _ in range(6)]
    assert reasons == [BypassReason.SIDECAR_UNREACHABLE] * 5 + [BypassReason.CIRCUIT_OPEN]


def test_strict_raises(make):
    fake = make(strict=True)
    fake.will_fail("INTERNAL", "boom")
    with pytest.raises(askonce.SidecarFailed, match="boom"):
        fake.lookup(CHAT)


def test_batches(fake):
    first = fake.batch_lookup([CHAT, changed(seed=1)])
    results = fake.batch_store([askonce.Store(decision, ANSWER) for decision in first])
    assert [result.stored for result in results] == [True, True]
    assert [decision.hit for decision in fake.batch_lookup([CHAT, changed(seed=1), changed(seed=2)])] == [
        True,
        True,
        False,
    ]


def test_it_remembers_how_it_was_used(fake):
    decision = fake.lookup(CHAT, trace=True)
    fake.store(decision, ANSWER, ttl=5)
    fake.batch_lookup([CHAT])
    fake.batch_store([askonce.Store(CHAT, ANSWER)])
    fake.abandon(b"t")
    fake.feedback(b"f", askonce.Verdict.WRONG, source="user")
    assert [call.verb for call in fake.calls] == [
        "lookup",
        "store",
        "batch_lookup",
        "batch_store",
        "abandon",
        "feedback",
    ]
    assert fake.lookups == (askonce.Lookup(CHAT, trace=True), askonce.Lookup(CHAT))
    assert fake.stores == (askonce.Store(decision, ANSWER, ttl=5), askonce.Store(CHAT, ANSWER))
    assert fake.calls[-1].argument == (b"f", askonce.Verdict.WRONG, "user")


def test_a_transport_that_breaks_its_promise_fails_open_too(make, log):
    fake, strict = make(), make(strict=True)

    def perform(call):
        raise KeyError("SECRET")

    fake._sidecar.perform = strict._sidecar.perform = perform
    decision = fake.lookup(CHAT)
    assert decision.bypass_reason is BypassReason.CLIENT_FAULT
    assert decision.error.message.startswith("KeyError at test_fake.py:")
    assert isinstance(decision.error.__cause__, KeyError)
    assert decision.error.__cause__.__traceback__ is None, "its frames hold the request"
    assert fake.store(CHAT, ANSWER).refusal_reason is RefusalReason.CLIENT_FAULT
    with pytest.raises(askonce.ClientFault, match="KeyError") as raised:
        strict.lookup(CHAT)
    assert isinstance(raised.value.__cause__, KeyError)
    assert len(log()) == 2  # one a client
    assert "SECRET" not in "".join(log())


def test_it_closes(fake):
    fake.close()
    assert fake.lookup(CHAT).bypass_reason is BypassReason.CLIENT_CLOSED


def public(kind) -> dict[str, list[str]]:
    return {
        name: list(inspect.signature(member).parameters)
        for name, member in vars(kind).items()
        if inspect.isfunction(member) and not name.startswith("_")
    }


def test_both_clients_have_the_same_verbs_and_the_fakes_are_clients():
    assert public(AskOnce) == public(AsyncAskOnce)
    assert issubclass(FakeAskOnce, AskOnce)
    assert issubclass(AsyncFakeAskOnce, AsyncAskOnce)
    verbs = {"lookup", "batch_lookup", "fetch", "store", "batch_store", "abandon", "feedback", "close"}
    assert set(public(AskOnce)) == verbs
    for name in verbs:
        assert inspect.iscoroutinefunction(getattr(AsyncAskOnce, name))
        assert getattr(AskOnce, name).__doc__ == getattr(AsyncAskOnce, name).__doc__
