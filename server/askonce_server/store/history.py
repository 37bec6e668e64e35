"""Counts by the hour in the database `stats`, and how far those of the running server were taken over.

| key              | value                                                                  |
|------------------|------------------------------------------------------------------------|
| `hour` ‖ rule    | sealed CountsRecord: what was counted in that hour                     |
| `last` ‖ rule    | sealed CountsRecord: what was taken over of the server that runs       |
| `server`         | what that server calls itself                                          |

The second and the first are written in one transaction: whoever goes on after a crash neither loses nor
doubles a count. An hour is its number since 1970, 8 bytes, big endian.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Final

from askonce_server.ports import HOUR_MS, KEPT_HOURS, Counted, Past
from askonce_server.storage.v1.record_pb2 import CountsRecord
from askonce_server.store.layout import Database, Transaction
from askonce_server.store.seals import seal, unseal

_SCHEMA: Final = 1
_HOUR: Final = b"h"
_LAST: Final = b"l"
_SERVER: Final = b"s"
_HOUR_BYTES: Final = 8
_PREFIX_BYTES: Final = len(_HOUR) + _HOUR_BYTES


def beyond(counts: Mapping[str, int], taken: Mapping[str, int]) -> dict[str, int]:
    """Return what `counts` have more than was `taken`. A reading older than the last one adds nothing."""
    return {name: more for name, count in counts.items() if (more := count - taken.get(name, 0)) > 0}


def together(some: Mapping[str, int], others: Mapping[str, int]) -> dict[str, int]:
    """Return the sums of both."""
    return {name: some.get(name, 0) + others.get(name, 0) for name in {**some, **others}}


class HistoryRows:
    """The rows of `stats`, seen by one transaction."""

    def __init__(self, txn: Transaction, database: Database) -> None:
        self._txn = txn
        self._database = database

    def add(self, server: bytes, counted: Counted, *, at_ms: int) -> bool:
        """Add what is new of `server` to the hour of `at_ms`; return whether anything changed."""
        changed = False
        if self._server() != server:
            self._forget(_LAST, _SERVER)
            self._put(_SERVER, server)
            changed = True
        hour = _hour_key(at_ms // HOUR_MS)
        changed = self._bring_back(hour) or changed
        for rule, counts in counted.items():
            key = _LAST + rule.encode()
            taken = self._counts(key)
            new = beyond(counts, taken)
            if new:
                self._keep(key, together(taken, new))
                row = hour + rule.encode()
                self._keep(row, together(self._counts(row), new))
                changed = True
        return self._forget(_HOUR, _hour_key(at_ms // HOUR_MS - KEPT_HOURS)) or changed

    def since(self, since_ms: int, *, server: bytes) -> Past:
        """Return what was counted from the hour of `since_ms` on."""
        counted: dict[str, dict[str, int]] = {}
        first = 0
        for key, counts in self._rows(_hour_key(max(since_ms, 0) // HOUR_MS), _LAST):
            rule = key[_PREFIX_BYTES:].decode()
            counted[rule] = together(counted.get(rule, {}), counts)
            first = first or int.from_bytes(key[len(_HOUR) : _PREFIX_BYTES], "big") * HOUR_MS
        taken = {}
        if self._server() == server:
            taken = {key[len(_LAST) :].decode(): counts for key, counts in self._rows(_LAST, _SERVER)}
        return Past(counted, taken, first)

    def _bring_back(self, hour: bytes) -> bool:
        """Move what was counted in hours to come to `hour`: the clock was ahead; return whether any was.

        The next hour may have begun already: workers come in any order.
        """
        ahead = list(self._rows(_hour_key(int.from_bytes(hour[len(_HOUR) :], "big") + 2), _LAST))
        for key, counts in ahead:
            row = hour + key[_PREFIX_BYTES:]
            self._keep(row, together(self._counts(row), counts))
            self._txn.delete(key, db=self._database)
        return bool(ahead)

    def _server(self) -> bytes | None:
        value = self._txn.get(_SERVER, db=self._database)
        return None if value is None else bytes(value)

    def _counts(self, key: bytes) -> dict[str, int]:
        value = self._txn.get(key, db=self._database)
        return {} if value is None else _decode(key, value)

    def _keep(self, key: bytes, counts: Mapping[str, int]) -> None:
        record = CountsRecord(schema=_SCHEMA, counts=counts)
        self._put(key, seal(key, record.SerializeToString()))

    def _put(self, key: bytes, value: bytes) -> None:
        self._txn.put(key, value, db=self._database)

    def _rows(self, begin: bytes, end: bytes) -> Iterator[tuple[bytes, dict[str, int]]]:
        with self._txn.cursor(db=self._database) as cursor:
            more = cursor.set_range(begin)
            while more and (key := bytes(cursor.key())) < end:
                yield key, _decode(key, cursor.value())
                more = cursor.next()

    def _forget(self, begin: bytes, end: bytes) -> bool:
        """Delete the rows from `begin` to before `end`; return whether there were any."""
        keys = [key for key, _ in self._rows(begin, end)]
        for key in keys:
            self._txn.delete(key, db=self._database)
        return bool(keys)


def _hour_key(hour: int) -> bytes:
    return _HOUR + max(hour, 0).to_bytes(_HOUR_BYTES, "big")


def _decode(key: bytes, value: bytes | memoryview) -> dict[str, int]:
    """Return the counts in a row; none when it is damaged."""
    payload = unseal(key, value)
    return {} if payload is None else dict(CountsRecord.FromString(payload).counts)
