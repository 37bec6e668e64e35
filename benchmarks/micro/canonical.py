"""Canonical form and its hash, against the floor that any JSON cache key pays: parse, write, hash.

Run `.venv/bin/python benchmarks/micro/canonical.py [rounds]`. Rounds alternate A B B A, so that a drift of
the machine falls on both sides alike. The ratio is what to judge by; times are of the machine.
"""

from __future__ import annotations

import hashlib
import json
import platform
import statistics
import sys
import time
from collections.abc import Callable
from importlib.metadata import version

import orjson

from askonce_server.core.canonical import canonicalize

CALLS = 500


def four_turns(**params: object) -> bytes:
    """An OpenAI chat body of four turns, 1.2 to 1.5 kB."""
    turns = [
        ("system", "You are a careful assistant for the billing team. " * 6),
        ("user", "How do I change the payment method of an invoice that was already sent? " * 4),
        ("assistant", "Open the invoice and choose Change payment method. " * 6),
        ("user", "And for an invoice that is overdue? " * 3),
    ]
    messages = [{"role": role, "content": content} for role, content in turns]
    return json.dumps({"model": "gpt-4o", **params, "stream": False, "messages": messages}).encode()


BODIES = {
    "integers only": four_turns(temperature=0, max_tokens=512, seed=7),
    "one fraction": four_turns(temperature=0.2, max_tokens=512),
    "two fractions": four_turns(temperature=0.2, top_p=0.95, max_tokens=512),
}


def floor(body: bytes) -> bytes:
    return hashlib.sha256(orjson.dumps(orjson.loads(body))).digest()


def ours(body: bytes) -> bytes:
    return hashlib.sha256(canonicalize(body)).digest()


def seconds(function: Callable[[bytes], bytes], body: bytes) -> float:
    start = time.perf_counter()
    for _ in range(CALLS):
        function(body)
    return (time.perf_counter() - start) / CALLS


def main() -> None:
    rounds = int(sys.argv[1]) if len(sys.argv) > 1 else 200
    packages = ", ".join(f"{name} {version(name)}" for name in ("jiter", "orjson"))
    print(f"{platform.machine()}, Python {platform.python_version()}, {packages}; {rounds} rounds of {CALLS}")
    print(f"{'body':<15}{'bytes':>6}{'floor us':>10}{'ours us':>9}{'ratio of minima':>17}{'of medians':>12}")
    for name, body in BODIES.items():
        floors: list[float] = []
        keyed: list[float] = []
        for _ in range(rounds // 2):
            floors.append(seconds(floor, body))
            keyed.append(seconds(ours, body))
            keyed.append(seconds(ours, body))
            floors.append(seconds(floor, body))
        of_minima = min(keyed) / min(floors)
        of_medians = statistics.median(keyed) / statistics.median(floors)
        print(
            f"{name:<15}{len(body):>6}{min(floors) * 1e6:>10.2f}{min(keyed) * 1e6:>9.2f}"
            f"{of_minima:>17.2f}{of_medians:>12.2f}"
        )


if __name__ == "__main__":
    main()
