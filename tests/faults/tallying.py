"""A client that does everything by chance, and counts by itself what it was told."""

from __future__ import annotations

import random
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from threading import Thread
from typing import Any

import grpc
import lmdb

from askonce.v1 import admin_service_pb2
from askonce_server.store.history import HistoryRows
from rpc.answers import answer, answer_for
from rpc.harness import DEADLINE_SECONDS, Gateway
from rpc.replies import filed, verdict
from rpc.requests import describe, turns

RULES = [{"id": f"r{at}", "match": {"scope": {"tenant": f"t{at}"}}} for at in range(3)] + [
    {"id": "off", "match": {"scope": {"tenant": "off"}}, "mode": "off"},
    {"id": "shadow", "match": {"scope": {"tenant": "shadow"}}, "mode": "shadow"},
]
_TENANTS = ("t0", "t1", "t2", "off", "shadow", "nobody")
_REFUSED = ({"status_code": 500}, {"cacheable": False}, {"finish_reasons": ["length"]}, {"refused": True})
_PREFIXES = ("hit.", "miss.", "bypass.", "refusal.")


class Tally(Thread):
    """Makes so many calls to one worker; counts them, and those that broke apart."""

    def __init__(self, address: str, *, calls: int, seed: int) -> None:
        super().__init__()
        self.told: Counter[str] = Counter()
        self.broken = 0
        self.finished = 0
        self._address, self._calls = address, calls
        self._choice = random.Random(seed)

    def run(self) -> None:
        with Gateway(self._address) as gateway:
            for _ in range(self._calls):
                try:
                    self._call(gateway)
                except grpc.RpcError:
                    self.broken += 1
                self.finished += 1

    def _call(self, gateway: Gateway) -> None:
        choice = self._choice
        asked = describe(
            choice.choice(_TENANTS), turns(f"What{' ' * choice.randint(1, 3)}{choice.randrange(40)}?")
        )
        what = choice.random()
        if what < 0.75:
            decision = gateway.ask(asked, mode=choice.choice((0, 0, 0, 0, 2, 3)))
            self.told[_counted_as(verdict(decision))] += 1
        elif what < 0.9:
            self._stored(gateway.store(asked, answer_for(asked, cost_usd=0.25)))
        else:
            self._stored(gateway.store(asked, answer(**choice.choice(_REFUSED))))

    def _stored(self, response: Any) -> None:
        said = filed(response)
        self.told["stored" if said == "stored" else f"refusal.{said}"] += 1


def _counted_as(said: str) -> str:
    if said == "miss refresh":
        return "refresh"
    return "miss.no_entry" if said == "miss" else said.replace(" ", ".")


def run_all(addresses: list[str], *, calls: int, seed: int) -> Counter[str]:
    """Make `calls` calls by turns to `addresses`, none of which may break; return what was told."""
    tallies = [
        Tally(address, calls=calls // len(addresses), seed=seed + at) for at, address in enumerate(addresses)
    ]
    for one in tallies:
        one.start()
    for one in tallies:
        one.join()
    assert [one.broken for one in tallies] == [0] * len(tallies)
    return sum((one.told for one in tallies), Counter())


def stats_of(admin: str, *, since: float | None = None) -> Any:
    """What GetStats tells there."""
    request = admin_service_pb2.GetStatsRequest()
    if since is not None:
        request.since.FromMilliseconds(int(since * 1000))
    with Gateway(admin) as operator:
        return operator.admin.GetStats(request, timeout=DEADLINE_SECONDS)


def tallied(stats: Any) -> Counter[str]:
    """The counts of GetStats that a client can count, too; the sums in it must agree with them."""
    counts = _countable(stats.tallies)
    for field, prefix in (
        ("hits", "hit."),
        ("misses", "miss."),
        ("bypasses", "bypass."),
        ("refusals", "refusal."),
    ):
        assert getattr(stats, field) == sum(n for name, n in counts.items() if name.startswith(prefix))
    assert (stats.refreshes, stats.stores) == (counts["refresh"], counts["stored"])
    return counts


def of_metrics(values: dict[tuple[str, frozenset[tuple[str, str]]], float]) -> Counter[str]:
    """The same of a scrape or a push."""
    counts: Counter[str] = Counter()
    for (name, labels), value in values.items():
        said = dict(labels)
        if name == "askonce_decisions_total":
            detail = said.get("kind") or said["reason"]
            counts["refresh" if detail == "refresh" else f"{said['outcome']}.{detail}"] += int(value)
        elif name == "askonce_refusals_total":
            counts[f"refusal.{said['reason']}"] += int(value)
        elif name == "askonce_stores_total":
            counts["stored"] += int(value)
    return +counts


def kept(folder: Path) -> Counter[str]:
    """What the store in `folder` has taken over, read from the disk."""
    with lmdb.open(str(folder), readonly=True, max_dbs=32) as env:
        database = env.open_db(b"stats", create=False)
        with env.begin(db=database) as txn:
            past = HistoryRows(txn, database).since(0, server=b"")
            counted = sum((Counter(dict(counts)) for counts in past.counted.values()), Counter())
    return _countable(counted)


def _countable(counts: Mapping[str, int]) -> Counter[str]:
    return Counter(
        {
            name: count
            for name, count in counts.items()
            if name in ("refresh", "stored") or name.startswith(_PREFIXES)
        }
    )
