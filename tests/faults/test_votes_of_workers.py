"""What one worker learns of near answers is in force in the others, and none of them audits too seldom."""

from __future__ import annotations

import time

from faults.crew import WORKERS, Crew
from faults.sidecar_process import sidecar
from rpc.answers import answer_for
from rpc.harness import Gateway, Place
from rpc.replies import filed, verdict
from rpc.semantic import asking, at, semantic

RULES = semantic(
    threshold=0.5, low_threshold=0, guards="off", policy="vote-fixed", vote=0.8, audit_every=8, start="silent"
)


def ask(gateway, number):
    return gateway.ask(asking(f"question {number}", at(0.99), tenant="acme"))


def test_labels_of_one_worker_are_in_force_in_the_other(folder):
    with sidecar(Place(folder, workers=WORKERS, **RULES)) as process:
        crew = Crew(process)
        crew.wait_until_serving()
        with Gateway(crew.of(0)) as first, Gateway(crew.of(1)) as second:
            numbers = iter(range(10_000))
            asked = asking("question", at(0.99), tenant="acme")
            assert filed(first.store(first.ask(asked).fill_token, answer_for(asked, "Yes"))) == "stored"
            settle(second, numbers)
            served = {
                name: served_until_audit(gateway, numbers) for name, gateway in (("1", first), ("2", second))
            }
            assert max(served.values()) <= 3, "two workers audit twice as often each: one of four"
            wrong = asking("wrong", at(0.85), tenant="acme")
            while verdict(decision := first.ask(wrong)) == "hit semantic":
                wrong = asking(f"wrong {next(numbers)}", at(0.85), tenant="acme")
            assert filed(first.store(decision.fill_token, answer_for(wrong, "No"))) == "stored"
            deadline = time.monotonic() + 5
            while verdict(ask(second, next(numbers))) == "hit semantic":
                assert time.monotonic() < deadline, "a wrong answer found by one is on probation in the other"
                time.sleep(0.05)


def settle(gateway, numbers):
    """Ask until the worker has read the labels and serves."""
    deadline = time.monotonic() + 10
    while verdict(ask(gateway, next(numbers))) != "hit semantic":
        assert time.monotonic() < deadline
        time.sleep(0.05)


def served_until_audit(gateway, numbers):
    settle(gateway, numbers)
    served = 0
    while verdict(ask(gateway, next(numbers))) == "hit semantic":
        served += 1
    return served
