"""Near answers in tokens: one that the fresh answer will be compared with, and one that was served."""

from __future__ import annotations

import numpy as np

from askonce_server.core.entries import Generations
from askonce_server.core.keys import semantic_key_of
from askonce_server.core.labels import Served
from askonce_server.core.proposed import Method, Proposed
from askonce_server.storage.v1 import record_pb2

_SCHEMA = 1
_LARGEST = 127


class ForgedToken(Exception):
    """The bytes are no token of this service."""


class ExpiredToken(Exception):
    """The token is too old, or its key is gone."""


def proposed_record(near: Proposed) -> record_pb2.Proposed:
    """Return the message for a near answer."""
    return record_pb2.Proposed(
        label_id=near.label_id,
        method=near.method,
        fingerprint=near.fingerprint,
        similarity=near.similarity,
        ticket=near.ticket,
        guard=near.guard,
    )


def proposed_of(message: record_pb2.Proposed) -> Proposed:
    """Return the near answer in a message. Raises ValueError."""
    return Proposed(
        message.label_id,
        Method(message.method),
        message.fingerprint,
        message.similarity,
        message.ticket,
        message.guard,
    )


def encode_served(served: Served) -> bytes:
    """Return what a feedback token says. The vector is kept in a byte a dimension: cosines within 0.001."""
    message = record_pb2.FeedbackToken(
        schema=_SCHEMA,
        served=proposed_record(served.proposed),
        rule_id=served.rule_id,
        scope_key=served.key.scope_key,
        partition=served.key.partition,
        generation_names=served.generations.names,
        generations=served.generations.values,
        vector=_in_bytes(served.vector),
        expire_ms=served.expire_ms,
    )
    return message.SerializeToString()


def decode_served(payload: bytes) -> Served:
    """Return what a feedback token says; its vector is in signed bytes. Raises ExpiredToken."""
    message = record_pb2.FeedbackToken.FromString(payload)
    if message.schema != _SCHEMA:
        raise ExpiredToken
    proposed = proposed_of(message.served)
    return Served(
        proposed,
        message.rule_id,
        semantic_key_of(message.scope_key, message.partition, proposed.fingerprint),
        Generations(tuple(message.generation_names), tuple(message.generations)),
        message.vector,
        message.expire_ms,
    )


def _in_bytes(vector: bytes) -> bytes:
    values = np.frombuffer(vector, dtype="<f4")
    largest = float(np.abs(values).max(initial=0.0))
    return np.round(values * (_LARGEST / largest)).astype(np.int8).tobytes() if largest else b""
