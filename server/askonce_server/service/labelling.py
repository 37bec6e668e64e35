"""Comparing fresh answers with those that were near, off the path of any call.

A Store is acknowledged first. Then, on one thread and as far as its queue has room, the fresh answer is
compared with those of the nearest entries: it joins the group of the nearest that says the same, and the near
answer that Lookup had found gets its label. Both are written in one transaction. What finds no room in the
queue is counted and lost: its entry stays a group by itself, which speaks for nothing else.
"""

from __future__ import annotations

import queue
import threading
import time
from collections.abc import Callable, Sequence
from typing import Final, NamedTuple

import numpy as np

from askonce_server.core.decision import Weigh
from askonce_server.core.entries import Body, Entry, EntryKey, Grant, Neighbor
from askonce_server.core.groups import group_of, new_group
from askonce_server.core.keys import semantic_key_of
from askonce_server.core.labels import Judgement, Label
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Rule, SemanticPolicy
from askonce_server.core.ruling import Ruling
from askonce_server.core.said import Said
from askonce_server.dialects.said import said
from askonce_server.ports import Clock, EntryStore, ReadView, StoreUnavailable, VectorIndex
from askonce_server.service.faults import FaultLog
from askonce_server.service.ledgers import Ledgers
from askonce_server.truth.compare import Comparator
from askonce_server.truth.groups import COMPARED, join
from askonce_server.truth.verdict import Verdict

_FOLLOW_SECONDS: Final = 0.1
"""How long a label of another worker may wait until it is in force here."""
_COMPARE_SECONDS: Final = 5.0
_FAREWELL_SECONDS: Final = 3.0
_MOST: Final = 256


class _Fresh(NamedTuple):
    """A stored answer that is to be compared."""

    grant: Grant
    key: EntryKey
    policy: SemanticPolicy
    compared: bool
    """Whether a Lookup came before; else it is a group by itself."""


class _Found(NamedTuple):
    """What is compared."""

    fresh: Body
    nearest: Sequence[Neighbor]
    answers: Sequence[Body | None]
    """Those of the nearest."""
    proposed: Entry | None
    answer: Body | None
    """That of the proposed one."""


class Labelling:
    """Compares what was stored, and keeps `ledgers` up to date. Safe to call from any thread."""

    def __init__(  # noqa: PLR0913 - the composition root passes each by name
        self,
        *,
        store: EntryStore,
        index: VectorIndex,
        comparator: Callable[[SemanticPolicy], Comparator],
        ledgers: Ledgers,
        clock: Clock,
        epoch: Callable[[SemanticPolicy], bytes],
        lost: Callable[[], None],
        faults: FaultLog,
        most: int = _MOST,
    ) -> None:
        """`epoch` names what labels are made under.

        `lost` is told of each answer that was not compared, since `most` wait.
        """
        self._store = store
        self._index = index
        self._comparator = comparator
        self._ledgers = ledgers
        self._clock = clock
        self._epoch = epoch
        self._lost = lost
        self._faults = faults
        self._waiting: queue.Queue[_Fresh | None] = queue.Queue(most)
        self._starting = threading.Lock()
        self._thread: threading.Thread | None = None

    def weigh(self, question: Weigh) -> Ruling:
        """Return what becomes of a near answer."""
        self.start()
        return self._ledgers.weigh(question)

    def stored(self, grant: Grant, rule: Rule, *, looked_up: bool) -> None:
        """Take note of an answer that was stored; it is compared later. Never waits."""
        policy = rule.semantic
        key = next((key for key in grant.keys if key.matcher is Matcher.SEMANTIC), None)
        if policy is None or key is None or (policy.vote is None and grant.proposed is None):
            return
        self.start()
        try:
            self._waiting.put_nowait(_Fresh(grant, key, policy, looked_up))
        except queue.Full:
            self._lost()

    def start(self) -> None:
        """Begin to follow the labels, unless that was done."""
        if self._thread is None:
            with self._starting:
                if self._thread is None:
                    self._thread = threading.Thread(target=self._run, name="askonce-labels", daemon=True)
                    self._thread.start()

    def settle(self) -> None:
        """Wait until all that was stored is compared and taken in. For tests and benchmarks."""
        self._waiting.join()

    def close(self) -> None:
        """Finish what is under way; what still waits stays without a label."""
        if self._thread is None:
            return
        try:
            while True:
                self._waiting.get_nowait()
                self._waiting.task_done()
        except queue.Empty:
            self._waiting.put(None)
        self._thread.join(_FAREWELL_SECONDS)

    def _run(self) -> None:
        while True:
            try:
                fresh = self._waiting.get(timeout=_FOLLOW_SECONDS)
            except queue.Empty:
                self._try(self._ledgers.follow)
                continue
            try:
                if fresh is None:
                    return
                self._try(lambda fresh=fresh: self._compare(fresh))  # type: ignore[misc]
                self._try(self._ledgers.follow)
            finally:
                self._waiting.task_done()

    def _try(self, act: Callable[[], None]) -> None:
        try:
            act()
        except StoreUnavailable:
            pass  # told by the store itself
        except Exception as error:
            self._faults.record("labelling", error)

    def _compare(self, fresh: _Fresh) -> None:
        found = self._find(fresh)
        if found is None:
            return
        comparator, deadline = self._comparator(fresh.policy), time.monotonic() + _COMPARE_SECONDS
        mine = _say(found.fresh, fresh.grant)

        def compare(theirs: Body | None) -> Verdict:
            return comparator.compare(mine, _say(theirs, fresh.grant), deadline=deadline)

        verdicts = [compare(one) for one in found.answers]
        known = {one.entry.key: verdict for one, verdict in zip(found.nearest, verdicts, strict=True)}
        groups = [group_of(one) for one in found.nearest]
        joined = join(groups, verdicts.__getitem__, new=new_group(fresh.key.entry_id))
        labels = []
        if found.proposed is not None:
            verdict = known.get(found.proposed.key)
            if verdict is None:
                verdict = compare(found.answer)
            labels = self._label(fresh, found.proposed, verdict)
        self._store.file_labels(labels, {} if joined.new else {fresh.key: joined.group})

    def _find(self, fresh: _Fresh) -> _Found | None:
        """Return what there is to compare; None: the answer is gone already."""
        grant, key = fresh.grant, fresh.key
        with self._store.read() as view:
            entry = view.entry(key)
            body = None if entry is None else view.body(entry)
            if entry is None or body is None:
                return None
            nearest = self._nearest(view, fresh) if fresh.compared else []
            answers = [view.body(one.entry) for one in nearest]
            proposed = None
            if grant.proposed is not None:
                place = semantic_key_of(key.scope_key, key.partition, grant.proposed.fingerprint)
                proposed = view.entry(place)
            answer = None if proposed is None else view.body(proposed)
            return _Found(body, nearest, answers, proposed, answer)

    def _nearest(self, view: ReadView, fresh: _Fresh) -> list[Neighbor]:
        """Return the nearest entries without the fresh one itself."""
        row, now_ms = fresh.grant.semantic, self._clock.now_ms()
        if row is None:
            return []

        def alive(entry: Entry) -> bool:
            return entry.answer.expire_ms > now_ms and entry.key.entry_id != fresh.key.entry_id

        vector = np.frombuffer(row.vector, dtype="<f4")
        return list(self._index.recall(view, fresh.key.partition, vector, k=COMPARED, alive=alive))

    def _label(self, fresh: _Fresh, found: Entry, verdict: Verdict) -> list[Label]:
        """Return the label of the proposed entry; none where nobody can say."""
        grant, proposed = fresh.grant, fresh.grant.proposed
        if verdict.right is None or proposed is None:
            return []
        label = Label(
            label_id=proposed.label_id,
            at_ms=self._clock.now_ms(),
            rule_id=grant.rule_id,
            method=proposed.method,
            judgement=Judgement.RIGHT if verdict.right else Judgement.WRONG,
            scope_key=found.key.scope_key,
            generations=grant.generations,
            partition=found.key.partition,
            entry_id=found.key.entry_id,
            similarity=proposed.similarity,
            guard=proposed.guard,
            ticket=proposed.ticket,
            epoch=self._epoch(fresh.policy),
        )
        return [label]


def _say(body: Body | None, grant: Grant) -> Said | None:
    """Return what an answer says; None where it is gone or cannot be read."""
    if body is None:
        return None
    return said(grant.dialect, grant.endpoint, content_type=body.content_type, body=body.data)
