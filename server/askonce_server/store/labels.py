"""Labels in the database `observations`.

| key                | value                                                         |
|--------------------|---------------------------------------------------------------|
| `l` ‖ sequence     | sealed LabelRecord                                            |
| `i` ‖ label id     | its sequence                                                  |
| `n`                | the sequence that the next label takes                        |
| `r`                | how often labels were taken out since their scope was purged  |
| `b` ‖ entry id     | see `bars`                                                    |

Numbers are 8 bytes, big endian. Sequences ascend and are never used again.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

from askonce_server.core.entries import Generations
from askonce_server.core.labels import Judgement, Label
from askonce_server.core.proposed import Method
from askonce_server.ports import MOST_LABELS, LabelPage
from askonce_server.storage.v1.record_pb2 import LabelRecord
from askonce_server.store.layout import Database, Transaction
from askonce_server.store.seals import Readable, seal, unseal

_SCHEMA: Final = 1
_LABEL: Final = b"l"
_ID: Final = b"i"
_NEXT: Final = b"n"
_REWRITTEN: Final = b"r"


class LabelRows:
    """The rows of labels, seen by one transaction."""

    def __init__(self, txn: Transaction, database: Database) -> None:
        self._txn = txn
        self._database = database

    def add(self, label: Label) -> bool:
        """Keep a label, and no more than the newest; return whether it is new."""
        named = _ID + label.label_id
        if self._txn.get(named, db=self._database) is not None:
            return False
        sequence = self._number(_NEXT) or 1
        row = _LABEL + sequence.to_bytes(8, "big")
        self._put(row, seal(row, _encode(label)))
        self._put(named, row[len(_LABEL) :])
        self._put(_NEXT, (sequence + 1).to_bytes(8, "big"))
        self._trim()
        return True

    def page(self, after: int, *, limit: int) -> LabelPage:
        """Return at most `limit` labels after number `after`. Damaged ones are left out."""
        labels, last = [], after
        for number, (row, value) in enumerate(self._rows(after + 1)):
            if number == limit:
                break
            last = int.from_bytes(row[len(_LABEL) :], "big")
            label = _decode(row, value)
            if label is not None:
                labels.append(label)
        return LabelPage(labels, last, self._number(_REWRITTEN))

    def remove(self, which: Callable[[Label], bool]) -> int:
        """Take out labels; return how many."""
        gone = [
            (row, label)
            for row, value in self._rows(1)
            if (label := _decode(row, value)) is not None and which(label)
        ]
        for row, label in gone:
            self._txn.delete(row, db=self._database)
            self._txn.delete(_ID + label.label_id, db=self._database)
        if gone:
            self._put(_REWRITTEN, (self._number(_REWRITTEN) + 1).to_bytes(8, "big"))
        return len(gone)

    def _trim(self) -> None:
        """Forget the oldest where there are too many: a label has two rows."""
        row, value = next(self._rows(1))
        newest = self._number(_NEXT) - 1
        if newest - int.from_bytes(row[len(_LABEL) :], "big") < MOST_LABELS:
            return
        label = _decode(row, value)
        self._txn.delete(row, db=self._database)
        if label is not None:
            self._txn.delete(_ID + label.label_id, db=self._database)

    def _rows(self, sequence: int) -> Iterator[tuple[bytes, bytes]]:
        with self._txn.cursor(db=self._database) as cursor:
            more = cursor.set_range(_LABEL + sequence.to_bytes(8, "big"))
            while more and (row := bytes(cursor.key())).startswith(_LABEL):
                yield row, bytes(cursor.value())
                more = cursor.next()

    def _number(self, name: bytes) -> int:
        value = self._txn.get(name, db=self._database)
        return 0 if value is None else int.from_bytes(value, "big")

    def _put(self, row: bytes, value: bytes) -> None:
        self._txn.put(row, value, db=self._database)


def _encode(label: Label) -> bytes:
    record = LabelRecord(
        schema=_SCHEMA,
        label_id=label.label_id,
        at_ms=label.at_ms,
        rule_id=label.rule_id,
        method=label.method,
        verdict=label.judgement,
        scope_key=label.scope_key,
        generation_names=label.generations.names,
        generations=label.generations.values,
        partition=label.partition,
        entry_id=label.entry_id,
        similarity=label.similarity,
        guard=label.guard,
        ticket=label.ticket,
        source=label.source,
        epoch=label.epoch,
    )
    return record.SerializeToString()


def _decode(row: bytes, value: Readable) -> Label | None:
    """Return the label in a row, or None when it is damaged or of another layout."""
    payload = unseal(row, value)
    record = None if payload is None else LabelRecord.FromString(payload)
    if record is None or record.schema != _SCHEMA:
        return None
    try:
        method, judgement = Method(record.method), Judgement(record.verdict)
    except ValueError:  # of a newer version
        return None
    return Label(
        label_id=record.label_id,
        at_ms=record.at_ms,
        rule_id=record.rule_id,
        method=method,
        judgement=judgement,
        scope_key=record.scope_key,
        generations=Generations(tuple(record.generation_names), tuple(record.generations)),
        partition=record.partition,
        entry_id=record.entry_id,
        similarity=record.similarity,
        guard=record.guard,
        ticket=record.ticket,
        source=record.source,
        epoch=record.epoch,
    )
