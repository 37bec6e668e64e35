"""Another process on a store, for tests: `python store_process.py COMMAND FOLDER …`."""

import mmap
import os
import random
import subprocess
import sys
import time
from pathlib import Path
from struct import Struct

TESTS = Path(__file__).resolve().parents[1]
sys.path.insert(0, str(TESTS))

import lmdb  # noqa: E402

from askonce_server.ports import StoreUnavailable  # noqa: E402
from askonce_server.store import SharedLeases, StoreSettings, open_store  # noqa: E402
from ports.entries import MIB, NOW_MS, body_at, key, write  # noqa: E402
from ports.finality_contract import dim  # noqa: E402
from ports.labels_contract import label  # noqa: E402
from ports.semantic_rows_contract import semantic_key, told, unit  # noqa: E402

ROUND = Struct("=Q")
"""How a number lies in shared memory."""


def settings(folder, **changes):
    """Settings under which nothing fails for a machine that is slow."""
    return StoreSettings(path=Path(folder), **{"max_bytes": 64 * MIB, "write_timeout": 20.0, **changes})


def start(command, *arguments):
    """Start a process and return it; its lines come through `stdout`."""
    line = [sys.executable, __file__, command, *map(str, arguments)]
    pipe = subprocess.PIPE
    return subprocess.Popen(line, stdin=pipe, stdout=pipe, stderr=pipe, text=True)


def run(command, *arguments):
    """Run a process to its end and return it."""
    line = [sys.executable, __file__, command, *map(str, arguments)]
    return subprocess.run(line, capture_output=True, text=True, timeout=60, check=False)


def body_of(name, number):
    """The body that round `number` of the writing loop stores: its length varies, its bytes tell it apart."""
    return f"{name}:{number}:".encode() * (1 + number % 700)


def say(text):
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def inside_write(folder):
    """Stay inside a write transaction for ever."""
    env = lmdb.open(folder, map_size=settings(folder).bounds.map_bytes, max_dbs=32)
    with env.begin(write=True) as txn:
        txn.put(b"half", b"done")
        say("inside")
        time.sleep(600)


def inside_read(folder):
    """Hold a read transaction for ever."""
    store = open_store(settings(folder), exclusive=False)
    with store.read():
        say("inside")
        time.sleep(600)


def touch(folder):
    """Commit one row beside the process that holds the store, as another worker would."""
    env = lmdb.open(folder, map_size=settings(folder).bounds.map_bytes, max_dbs=32)
    with env.begin(write=True) as txn:
        txn.put(b"touched", str(time.monotonic_ns()).encode())
    env.close()


def write_loop(folder, name, durability="commit"):
    """Store for ever; say each name once it is acknowledged."""
    store = open_store(settings(folder, durability=durability))
    for number in range(1_000_000):
        batch = [write(f"{name}-{number}-{i}", body=body_of(name, number)) for i in range(1 + number % 3)]
        if store.put(batch) == [None] * len(batch):
            say(f"{number} {len(batch)}")


def semantic_loop(folder, name):
    """Store, replace and remove semantic entries for ever; say what was tried, and what was acknowledged."""
    store = open_store(settings(folder))
    rnd = random.Random(name)
    for number in range(1_000_000):
        chosen = [f"{name}-{rnd.randrange(30)}" for _ in range(1 + number % 3)]
        say(f"try {number} {' '.join(chosen)}")
        if rnd.random() < 0.2:
            store.remove([semantic_key(each) for each in chosen])
            say(f"gone {number} {' '.join(chosen)}")
        elif store.put([told_in_round(each, number) for each in chosen]) == [None] * len(chosen):
            say(f"kept {number} {' '.join(chosen)}")


def label_loop(folder, name):
    """Keep labels for ever, and some of them twice; say each number once it is acknowledged."""
    store = open_store(settings(folder), exclusive=False)
    first = int.from_bytes(name.encode(), "big") << 32
    for number in range(1_000_000):
        batch = [label(first + number + more) for more in range(1 + number % 3)]
        store.file_labels(batch, {})
        say(first + number)


def told_in_round(name, number):
    """What round `number` of the semantic loop stores: vector and body tell the round."""
    return told(name, vector=unit(number, dim=384), body=body_of(name, number))


def write_shared(folder, name, count):
    """Store `count` entries as one of several workers."""
    store = open_store(settings(folder), exclusive=False)
    say("open")
    sys.stdin.readline()
    refused = [i for i in range(int(count)) if store.put([write(f"{name}-{i}")]) != [None]]
    store.close()
    say(f"refused {refused}")


def read_shared(folder, name):
    """Say the body of one entry, as another worker would find it."""
    store = open_store(settings(folder), exclusive=False)
    say(body_at(store, key(name)).decode())
    store.close()


def raise_shared(folder, name, value):
    """Raise a generation as another worker would."""
    store = open_store(settings(folder), exclusive=False)
    store.raise_generations({bytes.fromhex(name): bytes.fromhex(value)}, at_ms=NOW_MS)
    store.close()


def raise_over_and_over(folder, memory_file, rounds, durability):
    """Raise one generation, round after round; say in shared memory which round was acknowledged last.

    Between the rounds counts are kept, as every worker does, which changes no answer.
    """
    store = open_store(settings(folder, durability=durability), exclusive=False)
    with Path(memory_file).open("r+b") as file, mmap.mmap(file.fileno(), ROUND.size) as memory:
        for number in range(1, int(rounds) + 1):
            store.raise_generations({dim("acme"): number.to_bytes(16, "big")}, at_ms=NOW_MS)
            ROUND.pack_into(memory, 0, number)
            for more in range(number % 3):
                store.add_counts(b"server", {"chat": {"hit.exact": 3 * number + more}}, at_ms=NOW_MS)
    store.close()


def count_over_and_over(folder):
    """Keep counts, a line for each time it is told to."""
    store = open_store(settings(folder), exclusive=False)
    for number, _ in enumerate(sys.stdin, start=1):
        store.add_counts(b"server", {"chat": {"hit.exact": number}}, at_ms=NOW_MS)
        say(number)
    store.close()


def lease_shared(folder):
    """Take and change leases as told, a line each."""
    leases = SharedLeases(Path(folder))
    say("open")
    for line in sys.stdin:
        word, *rest = line.split()
        if word == "take":
            lease, now_ms, until_ms = bytes.fromhex(rest[0]), int(rest[1]), int(rest[2])
            taken = leases.take(lease, now_ms=now_ms, until_ms=until_ms)
            say(f"{taken.holder and taken.holder.hex()} {taken.until_ms}")
        elif word == "release":
            say(leases.release(bytes.fromhex(rest[0]), bytes.fromhex(rest[1])))
        elif word == "touch":
            say(leases.touch(bytes.fromhex(rest[0])))
        else:
            with leases._env.begin(write=word == "inside"):
                say(word)
                time.sleep(600)


def open_each(names, *folders):
    """Use one store after the other; say how each went."""
    for folder in folders:
        open_and_use(folder, names)


def open_and_use(folder, names):
    """Open, read every one of `names` entries, write some, close; say how it went."""
    try:
        store = open_store(settings(folder))
    except StoreUnavailable as fault:
        say(f"unavailable: {fault}")
        return
    counts = {"right": 0, "absent": 0, "wrong": 0, "unavailable": 0}
    for i in range(int(names)):
        try:
            data = body_at(store, key(f"q-{i}"))
        except StoreUnavailable:
            counts["unavailable"] += 1
            continue
        expected = body_of("q", i)
        counts["absent" if data is None else "right" if data == expected else "wrong"] += 1
    store.put([write(f"more-{i}", body=os.urandom(3000)) for i in range(20)])
    views = [store.read() for _ in range(150)]
    for view in views:
        view.__enter__()
    for view in views:
        view.__exit__(None, None, None)
    store.close()
    say(counts)


if __name__ == "__main__":
    globals()[sys.argv[1]](*sys.argv[2:])
