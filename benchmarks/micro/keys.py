"""Key derivation, cold, against the plain library calls: `python benchmarks/micro/keys.py`.

Derives the entry ids of a four-turn OpenAI body and prints how many times as long that takes as
`sha256(orjson.dumps(orjson.loads(body)))`. Rounds of both alternate, so that a machine whose speed drifts
bends neither; the ratio is taken round by round.
"""

from __future__ import annotations

import hashlib
import json
import statistics
import time
import timeit
from collections.abc import Callable

import orjson

from askonce_server.core import keys
from askonce_server.core.derive import Derivation
from askonce_server.core.descriptor import Descriptor, Target
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Rule
from askonce_server.service.content import read

BODY = json.dumps(
    {
        "model": "gpt-4o",
        "temperature": 0,
        "max_tokens": 512,
        "stream": False,
        "messages": [
            {"role": "system", "content": " ".join(["You are a careful assistant of the billing team."] * 6)},
            {"role": "user", "content": " ".join(["How do I change how an invoice is paid?"] * 7)},
            {"role": "assistant", "content": " ".join(["Open the invoice and choose another way."] * 7)},
            {"role": "user", "content": " ".join(["And for an invoice that is overdue?"] * 3)},
        ],
    }
).encode()
RULE = Rule("bench")
DESCRIPTOR = Descriptor(
    dialect="openai",
    endpoint="chat",
    served=Target("openai", "gpt-4o"),
    requested=Target(),
    route_id="",
    route_version="",
    rule_branch="",
    stream=None,
    scope={"tenant": "acme"},
    content=BODY,
    versions={},
    headers={},
    embedding=None,
    personalized=False,
    attributes={},
)
GENERATIONS = (bytes(16),) * 4
ROUNDS, CALLS = 300, 100


def floor() -> bytes:
    return hashlib.sha256(orjson.dumps(orjson.loads(BODY))).digest()


def derive(*matchers: Matcher) -> list[keys.EntryKey]:
    """Return the entry keys of the body under `matchers`, from the bytes on."""
    parts = read(DESCRIPTOR)
    derivation = Derivation(DESCRIPTOR, RULE.key, stream=False, parts=parts, reload=lambda: parts)
    scope = keys.scope_parts(RULE, DESCRIPTOR.scope, "")
    found = []
    for matcher in matchers:
        fingerprint = derivation.fingerprint(matcher)
        if not isinstance(fingerprint, bytes):
            raise TypeError(f"{matcher.name} was skipped: {fingerprint.name}")
        policy = keys.key_policy(RULE.key, matcher)
        scope_key = keys.scope_key(GENERATIONS, matcher, policy=policy, parts=scope)
        found.append(keys.entry_key(matcher, scope_key, fingerprint))
    return found


def main() -> None:
    subjects: dict[str, Callable[[], object]] = {
        "exact": lambda: derive(Matcher.EXACT),
        "exact and normalized": lambda: derive(Matcher.EXACT, Matcher.NORMALIZED),
    }
    print(f"body of {len(BODY)} bytes, {ROUNDS} rounds of {CALLS} calls")
    for name, subject in subjects.items():
        ratios, floors = [], []
        for _ in range(ROUNDS):
            base = timeit.timeit(floor, timer=time.process_time, number=CALLS)
            ratios.append(timeit.timeit(subject, timer=time.process_time, number=CALLS) / base)
            floors.append(base / CALLS * 1e6)
        low, middle = min(ratios), statistics.median(ratios)
        print(f"{name}: {middle:.2f} times the floor (least {low:.2f}); floor {min(floors):.2f} us")


if __name__ == "__main__":
    main()
