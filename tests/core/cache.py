"""A cache of both services over the store in memory, with the verbs of the contract."""

from __future__ import annotations

from askonce_server.core.descriptor import Controls
from askonce_server.core.entries import Body
from askonce_server.service.asked import Asked
from askonce_server.service.driver import Driver
from askonce_server.service.faults import FaultLog
from askonce_server.service.flight import Flight
from askonce_server.service.guard_key import GuardKey
from askonce_server.service.lookup import LookupService
from askonce_server.service.models import Models
from askonce_server.service.shared import Shared
from askonce_server.service.statistics import statistics
from askonce_server.service.store import Filed, StoreService
from askonce_server.service.tallies import Tallies, merged
from askonce_server.service.tokens import FillTokens
from askonce_server.store import LocalLeases, MemoryEntryStore
from core.builders import NOW, dumps, response, rule

CHOICE = {"index": 0, "message": {"role": "assistant", "content": "hello"}, "finish_reason": "stop"}


def chat(**more):
    return Body(dumps({"choices": [CHOICE], **more}), "application/json")


BODY = chat()
SECOND = 1_000


class Clock:
    """A clock that stands until it is moved."""

    def __init__(self):
        self.now = NOW

    def now_ms(self):
        return self.now


class NoIndex:
    """An index that has nothing."""

    def recall(self, view, partition, vector, *, k, alive):
        return []

    def close(self):
        pass


def no_models():
    return Models(embedders={}, verifiers={}, index=NoIndex(), faults=FaultLog(), slots=1)


class Cache:
    """Both services over one store and one clock."""

    def __init__(self, *rules, store=None, models=None):
        self.rules = list(rules) or [rule()]
        self.entries = store or MemoryEntryStore()
        self.clock, self.tallies = Clock(), Tallies()
        self.tokens, self.leases = FillTokens(b"k" * 32), LocalLeases()
        driver = Driver(self.entries, models or no_models())
        self.shared = shared = Shared(
            driver=driver,
            guard_token=GuardKey(b"g" * 32),
            clock=self.clock,
            flight=Flight(self.leases, self.clock),
            rules=lambda: self.rules,
            tallies=self.tallies,
            faults=FaultLog(),
        )
        self.lookups = LookupService(shared)
        self.stores = StoreService(shared, store=self.entries, tokens=self.tokens)

    def tallied(self):
        """What was counted, by name."""
        return statistics(merged(self.tallies.counted())).tallies

    def lookup(self, wanted, **controls):
        return self.lookups.lookup(self.lookups.plan(Asked(wanted, Controls(**controls))))

    def file(self, source, *, ttl_ms=None, namespace="", logging_disabled=False, known_fields=True, **said):
        answer = response(**{"body": BODY, **said})
        return self.stores.store(
            Filed(source, answer, ttl_ms, namespace, logging_disabled, known_fields=known_fields)
        )

    def fill(self, wanted, **said):
        return self.file(self.tokens.sign(self.lookup(wanted).grant), **said)
