"""A semantic rule, and a shelf whose neighbours a test lays out."""

from __future__ import annotations

import struct

from askonce_server.core import keys
from askonce_server.core.decision import (
    Bars,
    Embed,
    EmbeddedText,
    ReadBars,
    ReadBody,
    ReadGenerations,
    Recall,
    Verdict,
    Verify,
)
from askonce_server.core.entries import ZERO_GENERATION, Body, Entry, Neighbor, SemanticRow
from askonce_server.core.guards import features, to_bytes
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import SemanticPolicy
from askonce_server.service.guard_key import GuardKey
from core.builders import answer, rule

TOKEN = GuardKey(b"g" * 32)
VECTOR = struct.pack("<3f", 1, 0, 0)
EMBEDDER = b"e" * 32
BODY = Body(b"answer", "application/json")


def near_rule(*, strategy=(Matcher.EXACT, Matcher.SEMANTIC), **changes):
    policy = {"embedder": "m", "threshold": 0.95, "low_threshold": 0.85}
    outer = {
        name: changes.pop(name) for name in list(changes) if name not in SemanticPolicy.__dataclass_fields__
    }
    return rule(strategy=strategy, semantic=SemanticPolicy(**{**policy, **changes}), **outer)


def neighbor(text, similarity, **changes):
    key = keys.semantic_key(b"s" * 32, b"p" * 32, text)
    found = Entry(key, answer(**changes), scope_root=bytes(32), store_id=1, body_bytes=2)
    return Neighbor(found, SemanticRow(VECTOR, to_bytes(features(text, TOKEN)), text), similarity)


class NearShelf:
    """Answers what a decision asks; a test lays out the neighbours and the verdict."""

    def __init__(self, *neighbors, embedded=None, verdict=None, body=BODY, recalled=None):
        self.neighbors = neighbors if recalled is None else recalled
        self.embedded = embedded or EmbeddedText(VECTOR, EMBEDDER, 0.25)
        self.verdict = verdict or Verdict()
        self.body = body
        self.generation = ZERO_GENERATION
        self.bars = ()
        self.on = {}
        self.asked = []

    def __call__(self, question):
        self.asked.append(question)
        self.on.get(type(question), lambda: None)()
        match question:
            case ReadGenerations():
                return (self.generation,) * len(question.names)
            case Embed():
                return self.embedded
            case Recall():
                return self.neighbors
            case Verify():
                return self.verdict
            case ReadBars():
                return Bars(self.bars)
            case ReadBody():
                return self.body
        return None

    def asked_for(self, kind):
        return [question for question in self.asked if isinstance(question, kind)]

    def raise_on(self, kind):
        """Let a purge come while the question of `kind` is being answered."""

        def purge():
            self.generation = b"g" * 16

        self.on[kind] = purge
