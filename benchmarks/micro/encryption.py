"""What `store.encryption` costs: Stores and first reads of an encrypted store beside those of a plain one.

`python benchmarks/micro/encryption.py` files answers of 1.5 kB and 100 kB in both, one after the other, and
reads each back once from a view of its own, so that nothing is remembered. It prints the medians of each and
their ratio, and what the cipher takes by itself. Ratios are what to compare; times depend on the machine.
"""

from __future__ import annotations

import os
import platform
import statistics
import sys
import tempfile
import time
import timeit
from contextlib import ExitStack, closing
from pathlib import Path

from askonce_server.core.entries import Answer, Body, EntryKey, Generations, Write
from askonce_server.core.reasons import Matcher
from askonce_server.store import LmdbEntryStore, StoreSettings, open_store
from askonce_server.store.keyring import Keyring
from askonce_server.store.xaes import XaesGcm

SIZES = {1_500: 1_000, 100_000: 300}
"""How many answers of how many bytes."""
CIPHER_RUNS = 2_000


def write(body: bytes) -> Write:
    """Return a Store of `body` under a key of its own."""
    key = EntryKey(Matcher.EXACT, os.urandom(32), os.urandom(32), os.urandom(32))
    now_ms = time.time_ns() // 1_000_000
    answer = Answer(rule_id="chat", start_ms=now_ms, store_ms=now_ms, expire_ms=now_ms + 10**7, stream=False)
    return Write(os.urandom(32), Generations((), ()), (key,), answer, Body(body, "application/json"))


def stored(store: LmdbEntryStore, one: Write) -> float:
    """Return the seconds that storing takes."""
    began = time.perf_counter()
    results = store.put([one])
    took = time.perf_counter() - began
    assert results == [None]
    return took


def read(store: LmdbEntryStore, one: Write) -> float:
    """Return the seconds that finding the entry and its body take."""
    began = time.perf_counter()
    with store.read() as view:
        entry = view.entry(one.keys[0])
        assert entry is not None
        body = view.body(entry)
    took = time.perf_counter() - began
    assert body == one.body
    return took


def compare(plain: LmdbEntryStore, encrypted: LmdbEntryStore, *, size: int, count: int) -> None:
    """Print what Stores and reads of `count` answers of `size` bytes take in both."""
    writes = [write(os.urandom(size)) for _ in range(count)]
    for name, step in (("Store", stored), ("read", read)):
        pairs = [(step(plain, one), step(encrypted, one)) for one in writes]
        without, with_keys = (statistics.median(times) * 1e6 for times in zip(*pairs, strict=True))
        print(
            f"{size:>7} B  {name:<5}  plain {without:8.1f} us  encrypted {with_keys:8.1f} us  "
            f"ratio {with_keys / without:.2f}"
        )


def cipher(size: int) -> None:
    """Print what the cipher takes by itself."""
    made, body = XaesGcm(os.urandom(32)), os.urandom(size)
    sealed = made.seal(body, b"place")
    seal = min(timeit.repeat(lambda: made.seal(body, b"place"), number=CIPHER_RUNS, repeat=5))
    opened = min(timeit.repeat(lambda: made.open(sealed, b"place"), number=CIPHER_RUNS, repeat=5))
    per_call = 1e6 / CIPHER_RUNS
    print(f"{size:>7} B  cipher seal {seal * per_call:.1f} us  open {opened * per_call:.1f} us")


def main() -> None:
    """Compare the two."""
    print(f"python {sys.version.split()[0]}, {platform.machine()}, {os.cpu_count()} cores")
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        plain, encrypted = (
            stack.enter_context(
                closing(open_store(StoreSettings(path=Path(name) / title, max_bytes=1 << 28, keys=keys)))
            )
            for title, keys in (("plain", Keyring()), ("encrypted", Keyring([os.urandom(32)])))
        )
        for size, count in SIZES.items():
            compare(plain, encrypted, size=size, count=count)
            cipher(size)


if __name__ == "__main__":
    main()
