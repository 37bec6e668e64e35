"""Keys, byte by byte: framing, fingerprint, key policy, scope key, entry id, partition.

Every hash is SHA-256 (FIPS 180-4) over length-prefixed parts, so that no two different splits of the same
bytes can give one key. The layout is fixed by `KEY_SCHEMA`: a change of any byte needs a new schema.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import lru_cache
from hashlib import sha256
from struct import Struct

from askonce_server.core.descriptor import Descriptor
from askonce_server.core.entries import EntryKey
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Identity, KeyPolicy, Rule

KEY_SCHEMA = "askonce/1"
"""Servers of one key schema derive equal keys."""

PROFILES = {Matcher.EXACT: "exact", Matcher.NORMALIZED: "normalized", Matcher.SEMANTIC: "semantic"}

_LENGTH = Struct(">I").pack


def frame(*parts: bytes) -> bytes:
    """Join `parts`, each behind its length as unsigned 32-bit big endian. Injective."""
    return b"".join([_LENGTH(len(part)) + part for part in parts])


@lru_cache(maxsize=64)
def _tag(tag: str) -> bytes:
    return frame(f"{KEY_SCHEMA}/{tag}".encode())


def digest(tag: str, *parts: bytes) -> bytes:
    """Return H(tag, parts…): the 32-byte SHA-256 of `frame("askonce/1/" + tag, parts…)`."""
    return sha256(_tag(tag) + frame(*parts)).digest()


EVERYTHING = digest("generation", b"everything")
"""The name of everybody's generation."""
_LENGTH_16, _LENGTH_32 = _LENGTH(16), _LENGTH(32)
_ENTRY_HEAD = _tag("entry") + _LENGTH_32


@lru_cache(maxsize=4096)
def _fingerprint_head(*segments: str) -> bytes:
    return _tag("fingerprint") + frame(*(segment.encode() for segment in segments))


_TARGET = Identity.TARGET
_STREAM_TAIL, _JSON_TAIL, _SHARED_TAIL = frame(b"stream"), frame(b"json"), frame(b"")
"""The seventh segment, empty where the rule lets both shapes share."""


def fingerprint(
    descriptor: Descriptor, policy: KeyPolicy, matcher: Matcher, *, material: bytes, stream: bool
) -> bytes:
    """Return the 32-byte hash of the seven segments: would this produce the same response?

    `material` is the canonical JSON (RFC 8785) of what determines the response, or `digests_material`.
    """
    upstream = descriptor.requested if policy.identity is _TARGET else descriptor.served
    profile = PROFILES[matcher]
    head = _fingerprint_head(
        descriptor.dialect, descriptor.endpoint, upstream.provider, upstream.model, profile
    )
    tail = _SHARED_TAIL if policy.stream_shared else _STREAM_TAIL if stream else _JSON_TAIL
    return sha256(b"".join((head, _LENGTH(len(material)), material, tail))).digest()


def digests_material(
    sha: bytes, *, canonicalization: str, canonicalization_version: str, extra: bytes
) -> bytes:
    """Return what stands for the material of a request given as digests; never equal to any JSON document.

    `extra` is the canonical JSON of headers, versions and route, which the gateway's digest leaves out.
    """
    return b"\x00" + frame(canonicalization.encode(), canonicalization_version.encode(), sha, extra)


def key_policy(policy: KeyPolicy, matcher: Matcher) -> bytes:
    """Return the 32-byte hash of what the rule lets into the key, so that no two policies share entries."""
    known = policy.digests.get(matcher)
    if known is None:
        known = policy.digests[matcher] = _key_policy(policy, matcher)
    return known


def _key_policy(policy: KeyPolicy, matcher: Matcher) -> bytes:
    parts = [
        policy.identity.value.encode(),
        b"shared" if policy.stream_shared else b"separate",
        b"class" if policy.params_class else b"all_except",
        frame(*(name.encode() for name in sorted(set(policy.ignore_params)))),
    ]
    if matcher is Matcher.NORMALIZED:
        parts += [b"on" if policy.normalized_guard else b"off", b"true" if policy.case_fold else b"false"]
    elif matcher is Matcher.SEMANTIC:
        parts += [str(policy.history_max_messages).encode(), policy.history_overflow.encode()]
    return digest("policy", *parts)


def scope_parts(rule: Rule, scope: Mapping[str, str], namespace: str) -> tuple[bytes, ...]:
    """Return the rule's dims, name and value in order, then the namespace if there is one.

    Raises KeyError when a dim is missing: a scope is never guessed.
    """
    parts: list[bytes] = []
    for name in rule.scope:
        parts += (name.encode(), scope[name].encode())
    if namespace:
        parts.append(namespace.encode())
    return tuple(parts)


def scope_root(parts: Sequence[bytes]) -> bytes:
    """Return the 32-byte prefix of the scope's bodies."""
    return digest("scope-root", *parts)


def generation_names(rule: Rule, descriptor: Descriptor, *, root: bytes) -> tuple[bytes, ...]:
    """Return the 32-byte names of the generations in the scope key, in its order.

    Everything, the model, each dim value in the rule's order, the whole scope.
    """
    policy = rule.key
    upstream = descriptor.requested if policy.identity is Identity.TARGET else descriptor.served
    scope = descriptor.scope
    return (
        EVERYTHING,
        model_generation(upstream.provider, upstream.model),
        *(dim_generation(name, scope[name]) for name in rule.scope),
        scope_generation(root),
    )


def model_generation(provider: str, model: str) -> bytes:
    """Return the name of a model's generation."""
    return digest("generation", b"model", provider.encode(), model.encode())


def scope_generation(root: bytes) -> bytes:
    """Return the name of a whole scope's generation; `root` is its scope root."""
    return digest("generation", b"scope", root)


def dim_generation(name: str, value: str) -> bytes:
    """Return the name of a dim value's generation."""
    return digest("generation", b"dim", name.encode(), value.encode())


def scope_key(
    generations: Sequence[bytes],
    matcher: Matcher,
    *,
    policy: bytes,
    parts: tuple[bytes, ...],
    embedder: bytes = b"",
) -> bytes:
    """Return the 32-byte prefix of every key of one matcher in one scope: who may share the answer?

    `generations` are 16 bytes each, `policy` comes from `key_policy`, `parts` from `scope_parts`, `embedder`
    is the embedder's fingerprint and empty for the other matchers.
    """
    head, tail = _scope_ends(len(generations), matcher, embedder, policy, parts)
    return sha256(b"".join((head, _LENGTH_16.join(generations), tail))).digest()


@lru_cache(maxsize=4096)
def _scope_ends(
    generations: int, matcher: Matcher, embedder: bytes, policy: bytes, parts: tuple[bytes, ...]
) -> tuple[bytes, bytes]:
    """Return what stands before and behind the values of `generations` generations in a scope key's bytes.

    It depends on none of the values, and so may be remembered.
    """
    framed_bytes = generations * (len(_LENGTH_16) + 16)
    head = _tag("scope") + _LENGTH(framed_bytes) + _LENGTH_16
    return head, frame(PROFILES[matcher].encode(), embedder, policy, *parts)


def entry_key(matcher: Matcher, scope_key: bytes, fingerprint: bytes) -> EntryKey:
    """Return where an exact or normalized entry lives."""
    entry_id = sha256(b"".join((_ENTRY_HEAD, scope_key, _LENGTH_32, fingerprint))).digest()
    return EntryKey(matcher, scope_key, fingerprint, entry_id)


def partition(scope_key: bytes, context: bytes, *, history_max_messages: int) -> bytes:
    """Return the 32-byte id of a semantic search space.

    `context` is the fingerprint, profile `semantic`, of the material without the embedded text.
    """
    return digest("partition", scope_key, context, str(history_max_messages).encode())


def semantic_key(scope_key: bytes, partition: bytes, text: str) -> EntryKey:
    """Return where the semantic entry of `text` lives: in its partition, beside the nearest of its kind."""
    return semantic_key_of(scope_key, partition, digest("text", text.encode()))


def semantic_key_of(scope_key: bytes, partition: bytes, text_digest: bytes) -> EntryKey:
    """Return the same from H("text", text), 32 bytes."""
    entry_id = digest("entry", partition, text_digest)
    return EntryKey(Matcher.SEMANTIC, scope_key, text_digest, entry_id, partition)
