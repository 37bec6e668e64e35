"""What one view read holds for views of the same snapshot, and for no other."""

from __future__ import annotations

from dataclasses import replace

from askonce_server.core.entries import ZERO_GENERATION
from askonce_server.store import StoreSettings, open_store
from ports.entry_store_contract import write

MIB = 1 << 20


def test_a_commit_is_seen_by_the_next_view_whatever_the_last_one_read(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    try:
        first = write("a")
        key = first.keys[0]
        assert store.put([first]) == [None]
        for _ in range(2):  # the second time from what the first one read
            with store.read() as view:
                found = view.entry(key)
                assert view.body(found) == first.body
        assert store.put([replace(first, body=first.body._replace(data=b"another"))]) == [None]
        with store.read() as view:
            found = view.entry(key)
            assert view.body(found).data == b"another"
        store.remove([key])
        with store.read() as view:
            assert view.entry(key) is None
    finally:
        store.close()


def test_a_raised_generation_is_seen_by_the_next_view(tmp_path):
    store = open_store(StoreSettings(path=tmp_path / "store", max_bytes=16 * MIB))
    name, value = b"n" * 32, b"v" * 16
    try:
        with store.read() as view:
            assert view.generations([name]) == (ZERO_GENERATION,)
        store.raise_generations({name: value}, at_ms=1)
        with store.read() as view:
            assert view.generations([name]) == (value,)
    finally:
        store.close()
