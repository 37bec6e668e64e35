"""The memory of what left the store is shared, bounded, and tells nothing to whoever lacks the key."""

from __future__ import annotations

import pytest

from askonce_server.core.fates import Fate, Gone
from askonce_server.core.reasons import RefusalReason
from askonce_server.store.departed import FILE, SIZE, Departed

KEY = b"k" * 32
REFUSED = Gone(Fate.REFUSED, 1_700_000_000_000, RefusalReason.TRUNCATED)


def made(key=KEY):
    departed = Departed()
    departed.follow(key)
    return departed


def named(number):
    return f"what {number}".encode()


def test_processes_share_it_and_it_outlives_them(tmp_path):
    one, other = Departed.shared(tmp_path), Departed.shared(tmp_path)
    for each in (one, other):
        each.follow(KEY)
    one.note(b"what", REFUSED)
    assert other.find(b"what") == REFUSED
    one.close()
    other.close()
    later = Departed.shared(tmp_path)
    later.follow(KEY)
    assert later.find(b"what") == REFUSED
    later.close()
    assert (tmp_path / FILE).stat().st_size == SIZE


def test_without_the_key_nothing_is_noted_and_under_another_nothing_found(tmp_path):
    departed = Departed.shared(tmp_path)
    departed.note(b"what", REFUSED)
    assert (tmp_path / FILE).read_bytes() == bytes(SIZE)
    departed.follow(KEY)
    departed.note(b"what", REFUSED)
    departed.follow(b"o" * 32)
    assert departed.find(b"what") is None
    departed.close()


def test_a_later_note_takes_the_place_of_an_earlier_one():
    departed = made()
    departed.note(b"what", REFUSED)
    departed.note(b"what", Gone(Fate.EVICTED, 5))
    assert departed.find(b"what") == Gone(Fate.EVICTED, 5)


def test_thousands_are_remembered_and_of_more_the_newest():
    departed = made()
    for number in range(5_000):
        departed.note(named(number), Gone(Fate.EXPIRED, number))
    found = [departed.find(named(number)) for number in range(5_000)]
    assert sum(one is not None for one in found) > 4_990
    assert all(one is None or one == Gone(Fate.EXPIRED, number) for number, one in enumerate(found))
    for number in range(5_000, 200_000):
        departed.note(named(number), Gone(Fate.EXPIRED, number))
    known = [departed.find(named(number)) is not None for number in range(200_000)]
    assert sum(known) <= SIZE // 16
    assert sum(known[-10_000:]) > 9_900
    assert not any(known[:5_000])


@pytest.mark.parametrize("told", [bytes([200, 0]), bytes([6, 250])])
def test_what_a_later_version_wrote_tells_nothing(told):
    slots = bytearray(SIZE)
    departed = Departed(slots)
    departed.follow(KEY)
    departed.note(b"what", REFUSED)
    at = next(at for at in range(0, SIZE, 16) if any(slots[at : at + 16]))
    slots[at + 14 : at + 16] = told
    assert departed.find(b"what") is None


def test_where_the_file_cannot_be_made_it_is_the_processs_own(tmp_path, caplog):
    departed = Departed.shared(tmp_path / "missing")
    departed.follow(KEY)
    departed.note(b"what", REFUSED)
    assert departed.find(b"what") == REFUSED
    assert "is not remembered between processes" in caplog.text
