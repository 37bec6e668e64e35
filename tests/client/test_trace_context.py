"""The trace that a program is in goes along with each call."""

from __future__ import annotations

import asyncio
import subprocess
import sys

import pytest
from opentelemetry import context, propagate, trace

import askonce
from client.scripted import CHAT

TRACE, SPAN = 0x4BF92F3577B34DA6A3CE929D0E0E4736, 0x00F067AA0BA902B7
PARENT = f"00-{TRACE:032x}-{SPAN:016x}-01"


@pytest.fixture
def traced():
    """A program that is in a trace."""
    span = trace.SpanContext(TRACE, SPAN, is_remote=False, trace_flags=trace.TraceFlags(1))
    token = context.attach(trace.set_span_in_context(trace.NonRecordingSpan(span)))
    yield
    context.detach(token)


def carried(script):
    return [received.metadata.get("traceparent") for received in script.received]


def test_each_call_carries_the_trace_of_its_caller(sidecar, script, traced):
    with askonce.AskOnce(sidecar.target, budget=5.0) as client:
        client.lookup(CHAT)
        client.batch_lookup([CHAT])
    assert carried(script) == [PARENT, PARENT]


def test_so_do_those_of_the_asynchronous_client(sidecar, script, traced):
    async def ask():
        async with askonce.AsyncAskOnce(sidecar.target, budget=5.0) as client:
            await client.lookup(CHAT)

    asyncio.run(ask())
    assert carried(script) == [PARENT]


def test_what_the_caller_says_itself_counts_more(sidecar, script, traced):
    with askonce.AskOnce(sidecar.target, budget=5.0) as client:
        client.lookup(CHAT, metadata=[("traceparent", "00-mine")])
    assert carried(script) == ["00-mine"]


def test_out_of_a_trace_nothing_is_added(sidecar, script):
    with askonce.AskOnce(sidecar.target, budget=5.0) as client:
        client.lookup(CHAT)
    assert carried(script) == [None]


def test_a_propagator_that_fails_fails_no_call(sidecar, script, traced, monkeypatch):
    def fail(*_):
        raise RuntimeError

    monkeypatch.setattr(propagate, "inject", fail)
    with askonce.AskOnce(sidecar.target, budget=5.0) as client:
        client.lookup(CHAT)
    assert carried(script) == [None]


def test_the_client_does_not_import_opentelemetry():
    program = "import askonce, sys; print([n for n in sys.modules if n.startswith('opentelemetry')])"
    ran = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert ran.stdout == "[]\n"
