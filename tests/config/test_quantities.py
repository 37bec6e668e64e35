from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.config.quantities import format_size, format_time, parse_size, parse_time


@pytest.mark.parametrize(
    ("text", "size"),
    [
        ("0", 0),
        ("1", 1),
        ("12B", 12),
        ("1kB", 1000),
        ("1KiB", 1024),
        ("1.5MiB", 3 << 19),
        ("2GB", 2 * 10**9),
        (7, 7),
        ("1 TiB", 1 << 40),
    ],
)
def test_sizes(text, size):
    assert parse_size(text) == size


@pytest.mark.parametrize(
    ("text", "milliseconds"),
    [
        ("0", 0),
        ("35ms", 35),
        ("2s", 2000),
        ("1.5s", 1500),
        ("15m", 900_000),
        ("1h30m", 5_400_000),
        ("1d2h3m4s5ms", 93_784_005),
    ],
)
def test_times(text, milliseconds):
    assert parse_time(text) == timedelta(milliseconds=milliseconds)


@pytest.mark.parametrize(
    "text",
    [
        "",
        "s",
        "1",
        "1.",
        ".5s",
        "1..5s",
        "1e3s",
        "+1s",
        "-1s",
        "\u0661s",
        "1m1m",
        "1s1m",
        "inf",
        "nan",
        "1h,2m",
    ],
)
def test_what_is_no_time(text):
    with pytest.raises(ValueError):
        parse_time(text)


@pytest.mark.parametrize(
    "text", ["", "MiB", "1.", ".5MiB", "-1MiB", "1mB", "1M", "1e3", "0.3B", "\u0661MiB", "1MiB1KiB", -1]
)
def test_what_is_no_size(text):
    with pytest.raises(ValueError):
        parse_size(text)


@given(st.integers(0, 1 << 50))
def test_sizes_are_written_as_they_are_read(size):
    assert parse_size(format_size(size)) == size


@given(st.integers(0, 3650 * 86_400_000))
def test_times_are_written_as_they_are_read(milliseconds):
    time = timedelta(milliseconds=milliseconds)
    assert parse_time(format_time(time)) == time
