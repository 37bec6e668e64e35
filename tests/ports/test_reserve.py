"""What is kept of the disk for purges: taken where there is room, given when it is needed."""

from __future__ import annotations

import errno
import os
import shutil
from types import SimpleNamespace

import pytest

from askonce_server.store import reserve
from askonce_server.store.reserve import RESERVE_BYTES, Reserve


@pytest.fixture
def free(monkeypatch):
    """Say how many bytes of the disk are free: more than that are not given."""
    allocate = os.posix_fallocate

    def begin(size):
        def limited(file, offset, length):
            if length > size:
                allocate(file, offset, size)  # as some file systems do
                raise OSError(errno.ENOSPC, "No space left on device")
            allocate(file, offset, length)

        monkeypatch.setattr(shutil, "disk_usage", lambda _: SimpleNamespace(free=size))
        monkeypatch.setattr(os, "posix_fallocate", limited)

    monkeypatch.setattr(reserve.time, "monotonic", iter(range(100, 10**6, 10)).__next__)
    return begin


def held(folder):
    found = (folder / "reserve").stat()
    assert found.st_blocks * 512 >= found.st_size, "it takes what it says"
    return found.st_size


def test_it_is_whole_where_the_disk_has_room_and_blocks_are_really_taken(tmp_path):
    Reserve(tmp_path).refill()
    assert held(tmp_path) == RESERVE_BYTES
    assert (tmp_path / "reserve").stat().st_mode & 0o777 == 0o600
    other = Reserve(tmp_path)
    other.refill()
    assert (other.let_go(), held(tmp_path)) == (RESERVE_BYTES, 0)
    assert other.let_go() == 0


def test_it_takes_an_eighth_of_what_is_left_and_grows_when_there_is_more(tmp_path, free):
    kept = Reserve(tmp_path)
    free(80_000)
    kept.refill()
    assert held(tmp_path) == 8192
    free(80_000_000)
    kept.refill()
    assert held(tmp_path) == RESERVE_BYTES


def test_what_was_let_go_is_taken_back_as_far_as_it_can_be(tmp_path, free):
    kept = Reserve(tmp_path)
    kept.refill()
    gone = kept.let_go()
    free(RESERVE_BYTES - 40_000)
    kept.take_back(gone)
    assert held(tmp_path) == RESERVE_BYTES // 2
    gone = kept.let_go()
    free(1000)
    kept.take_back(gone)
    assert held(tmp_path) == 0


def test_a_folder_that_is_gone_or_cannot_be_written_is_no_fault(tmp_path):
    kept = Reserve(tmp_path / "gone")
    kept.refill()
    assert kept.let_go() == 0
    kept.take_back(RESERVE_BYTES)
    (tmp_path / "reserve").mkdir()
    Reserve(tmp_path).take_back(RESERVE_BYTES)
