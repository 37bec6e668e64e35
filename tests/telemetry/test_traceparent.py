"""What counts as a caller's trace (W3C Trace Context, section 3.2)."""

from __future__ import annotations

import pytest

from askonce_server.telemetry.traceparent import caller, state

TRACE, SPAN = "4bf92f3577b34da6a3ce929d0e0e4736", "00f067aa0ba902b7"


@pytest.mark.parametrize(
    ("value", "sampled"),
    [
        (f"00-{TRACE}-{SPAN}-01", True),
        (f"00-{TRACE}-{SPAN}-00", False),
        (f"00-{TRACE}-{SPAN}-03", True),
        (f"00-{TRACE}-{SPAN}-02", False),
        (f" 00-{TRACE}-{SPAN}-01 ", True),
        (f"01-{TRACE}-{SPAN}-01", True),
        (f"cc-{TRACE}-{SPAN}-01-what-a-later-version-says", True),
    ],
)
def test_what_is_valid(value, sampled):
    found = caller([("other", "x"), ("traceparent", value)])
    assert (found.trace_id, found.span_id, found.sampled) == (int(TRACE, 16), int(SPAN, 16), sampled)


@pytest.mark.parametrize(
    "value",
    [
        "",
        f"00-{TRACE}-{SPAN}",
        f"00-{TRACE}-{SPAN}-01-more",
        f"00-{TRACE}-{SPAN}-01-",
        f"ff-{TRACE}-{SPAN}-01",
        f"00-{'0' * 32}-{SPAN}-01",
        f"00-{TRACE}-{'0' * 16}-01",
        f"00-{TRACE.upper()}-{SPAN}-01",
        f"00-{TRACE[:-1]}-{SPAN}-01",
        f"00-{TRACE}-{SPAN}0-01",
        f"cc-{TRACE}-{SPAN}-01x",
        f"00-{TRACE}-{SPAN}-1",
        "x" * 100_000,
        b"00",
    ],
)
def test_what_is_not(value):
    assert caller([("traceparent", value)]) is None


def test_nothing_is_said():
    assert caller([("grpc-timeout", "1S")]) is None


def test_states_are_joined_in_order_and_bounded():
    assert state([("tracestate", "a=1"), ("x", "y"), ("tracestate", "b=2")]) == ["a=1", "b=2"]
    assert state([("tracestate", "a=" + "x" * 600)]) == []
