"""Fill tokens: the leave to store, signed so that it cannot be forged or moved to another scope."""

from __future__ import annotations

import hmac
from collections.abc import Mapping

from askonce_server.core.descriptor import Target
from askonce_server.core.entries import EntryKey, Generations, Grant, SemanticRow
from askonce_server.core.keys import entry_key, semantic_key_of
from askonce_server.core.labels import Served
from askonce_server.core.reasons import Matcher
from askonce_server.service.proposals import (
    ExpiredToken,
    ForgedToken,
    decode_served,
    encode_served,
    proposed_of,
    proposed_record,
)
from askonce_server.storage.v1 import record_pb2

_VERSION = b"\x01"
_FEEDBACK = b"\xf1"
"""What a feedback token begins with: no version of a fill token does."""
_KEY_ID_BYTES = 4
_MAC_BYTES = 32
_SCHEMA = 2


class FillTokens:
    """Signs and verifies fill tokens with HMAC-SHA-256 (RFC 2104).

    A token is a version byte, the key's id (4 bytes), the grant, and the MAC (32 bytes) over all of it.
    """

    def __init__(self, key: bytes, *, older_keys: tuple[bytes, ...] = ()) -> None:
        self.use(key, older_keys=older_keys)

    def use(self, key: bytes, *, older_keys: tuple[bytes, ...] = ()) -> None:
        """Sign with `key` from now on; take what it or one of `older_keys` signed, and nothing else."""
        self._keys: Mapping[bytes, bytes] = {_key_id(one): one for one in (*older_keys, key)}
        self._signing = _key_id(key), key

    def sign(self, grant: Grant) -> bytes:
        """Return the token that says `grant`."""
        return self._sign(_VERSION, _encode(grant))

    def verify(self, token: bytes, *, now_ms: int) -> Grant:
        """Return what the token says. Raises ForgedToken or ExpiredToken."""
        grant = _decode(self._verify(_VERSION, token))
        if now_ms >= grant.expire_ms:
            raise ExpiredToken
        return grant

    def sign_served(self, served: Served) -> bytes:
        """Return the feedback token of a hit: another kind, which is no leave to store."""
        return self._sign(_FEEDBACK, encode_served(served))

    def verify_served(self, token: bytes, *, now_ms: int) -> Served:
        """Return what a feedback token says. Raises ForgedToken or ExpiredToken."""
        served = decode_served(self._verify(_FEEDBACK, token))
        if now_ms >= served.expire_ms:
            raise ExpiredToken
        return served

    def _sign(self, kind: bytes, said: bytes) -> bytes:
        key_id, key = self._signing
        payload = kind + key_id + said
        return payload + hmac.digest(key, payload, "sha256")

    def _verify(self, kind: bytes, token: bytes) -> bytes:
        payload, mac = token[:-_MAC_BYTES], token[-_MAC_BYTES:]
        if payload[:1] != kind or len(payload) <= 1 + _KEY_ID_BYTES:
            raise ForgedToken
        key = self._keys.get(payload[1 : 1 + _KEY_ID_BYTES])
        if key is None:
            raise ExpiredToken
        if not hmac.compare_digest(mac, hmac.digest(key, payload, "sha256")):
            raise ForgedToken
        return payload[1 + _KEY_ID_BYTES :]


def _key_id(key: bytes) -> bytes:
    return hmac.digest(key, b"askonce/1/token-key-id", "sha256")[:_KEY_ID_BYTES]


def _encode(grant: Grant) -> bytes:
    message = record_pb2.FillToken(
        schema=_SCHEMA,
        rule_id=grant.rule_id,
        dialect=grant.dialect,
        endpoint=grant.endpoint,
        stream=grant.stream,
        served_provider=grant.served.provider,
        served_model=grant.served.model,
        scope_root=grant.scope_root,
        generation_names=grant.generations.names,
        generations=grant.generations.values,
        scope_dims=grant.scope_dims,
        ttl_ms=grant.ttl_ms,
        start_ms=grant.start_ms,
        expire_ms=grant.expire_ms,
        lease=grant.lease if grant.holder else b"",
        holder=grant.holder,
        outline=grant.outline,
    )
    for key, policy in zip(grant.keys, grant.policies, strict=True):
        message.keys.add(
            matcher=key.matcher,
            scope_key=key.scope_key,
            fingerprint=key.fingerprint,
            key_policy=policy,
            partition=key.partition,
        )
    if grant.proposed is not None:
        message.proposed.CopyFrom(proposed_record(grant.proposed))
    if grant.semantic is not None:
        message.vector = grant.semantic.vector
        message.features = grant.semantic.features
        message.text = grant.semantic.text
    return message.SerializeToString()


def _decode(payload: bytes) -> Grant:
    message = record_pb2.FillToken.FromString(payload)
    if message.schema != _SCHEMA:
        raise ExpiredToken
    return Grant(
        rule_id=message.rule_id,
        dialect=message.dialect,
        endpoint=message.endpoint,
        stream=message.stream,
        served=Target(message.served_provider, message.served_model),
        scope_root=message.scope_root,
        generations=Generations(tuple(message.generation_names), tuple(message.generations)),
        keys=tuple(_key(key) for key in message.keys),
        policies=tuple(key.key_policy for key in message.keys),
        scope_dims=tuple(message.scope_dims),
        ttl_ms=message.ttl_ms if message.HasField("ttl_ms") else None,
        start_ms=message.start_ms,
        expire_ms=message.expire_ms,
        semantic=_semantic(message),
        lease=message.lease,
        holder=message.holder,
        outline=message.outline,
        proposed=proposed_of(message.proposed) if message.HasField("proposed") else None,
    )


def _key(message: record_pb2.FillKey) -> EntryKey:
    matcher = Matcher(message.matcher)
    if matcher is Matcher.SEMANTIC:
        return semantic_key_of(message.scope_key, message.partition, message.fingerprint)
    return entry_key(matcher, message.scope_key, message.fingerprint)


def _semantic(message: record_pb2.FillToken) -> SemanticRow | None:
    return SemanticRow(message.vector, message.features, message.text) if message.vector else None
