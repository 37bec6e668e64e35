"""Semantic rules and requests whose vectors a test chooses."""

from __future__ import annotations

import math
import struct
from typing import Any

from askonce.v1 import descriptor_pb2
from rpc.requests import Descriptor, describe

DIM = 8


def semantic_rule(**changes: Any) -> dict[str, Any]:
    semantic = {"embedder": "own", "threshold": 0.95, "low_threshold": 0.85}
    inner = {name: changes.pop(name) for name in list(changes) if name in _SETTINGS}
    plain = {"id": "near", "match": {"endpoint": ["chat", "messages", "responses"]}}
    plain |= {"strategy": ["exact", "normalized", "semantic"], "semantic": semantic | inner}
    return plain | changes


_SETTINGS = {
    "embedder",
    "threshold",
    "low_threshold",
    "verifier",
    "guards",
    "budget",
    "tool_calls",
    "store_text",
    "history_max_messages",
    "history_overflow",
    "policy",
    "verified",
    "vote",
    "max_wrong_hit_rate",
    "min_labels",
    "audit_every",
    "start",
}


def semantic(**changes: Any) -> dict[str, Any]:
    """Settings of a sidecar with one semantic rule, whose gateway sends the vectors."""
    return {"embedders": {"own": {"kind": "provided", "dim": DIM}}, "rules": [semantic_rule(**changes)]}


def at(cosine: float) -> bytes:
    """A vector whose cosine with `at(1)` is `cosine`."""
    return struct.pack(f"<{DIM}f", cosine, math.sqrt(max(0.0, 1 - cosine * cosine)), *[0.0] * (DIM - 2))


def asking(text: str, vector: bytes | None = None, **changes: Any) -> Descriptor:
    """The plain request with a user text and its vector."""
    messages = [{"role": "user", "content": text}]
    asked = describe(messages=messages, **changes)
    if vector is not None:
        asked.embedding.CopyFrom(descriptor_pb2.Embedding(embedder="own", values=vector))
    return asked
