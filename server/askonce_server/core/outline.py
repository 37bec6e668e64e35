"""What is kept of a request beside its answer so that a later miss can be explained: a digest a segment.

A digest has 64 bits and is made under the store's own key, since a plain hash of a short text can be guessed.
A name has 32 bits: whoever has the key can try names, and knows the usual ones. Nothing is ever looked up by
an outline.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from enum import IntEnum
from functools import lru_cache
from struct import Struct, error
from typing import NamedTuple

from askonce_server.core.canonical import encode
from askonce_server.core.descriptor import Descriptor, Digests
from askonce_server.core.guards import Token
from askonce_server.core.keys import key_policy
from askonce_server.core.material import CLASS_PARAMS
from askonce_server.core.parts import JsonValue
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Identity, KeyPolicy


class Part(IntEnum):
    """A segment of a request. The numbers are stored."""

    DIALECT = 1
    ENDPOINT = 2
    PROVIDER = 3
    MODEL = 4
    STREAM = 5
    SYSTEM = 6
    TOOLS = 7
    EARLIER = 8
    """The messages but for the last."""
    LAST = 9
    """The last message, or all of it that is no list."""
    PARAM = 10
    HEADER = 11
    VERSION = 12
    ROUTE = 13
    FURTHER = 14
    """What is beyond the greatest number of named parts."""
    EXACT_POLICY = 15
    NORMALIZED_POLICY = 16
    SEMANTIC_POLICY = 17
    EMBEDDER = 18
    DIGESTS = 19
    """What a request says that was given as digests."""


class Place(NamedTuple):
    """A part, and the digest of its name where there are several of its kind."""

    part: Part
    name: int = 0


class Unlike(NamedTuple):
    """A part that two outlines do not have in common."""

    part: Part
    name: str
    """Empty: it has none, or none that is known."""
    mine: bool
    kept: bool
    """Whether each of the two has it."""


_POLICIES = {
    Matcher.EXACT: Part.EXACT_POLICY,
    Matcher.NORMALIZED: Part.NORMALIZED_POLICY,
    Matcher.SEMANTIC: Part.SEMANTIC_POLICY,
}
_TARGET = (Part.DIALECT, Part.ENDPOINT, Part.PROVIDER, Part.MODEL)
_WHOLE = ((Part.SYSTEM, "system"), (Part.TOOLS, "tools"), (Part.ROUTE, "route"))
_EARLIER, _LAST = Part.EARLIER, Part.LAST
_NAMED = (("params", Part.PARAM, 24), ("headers", Part.HEADER, 8), ("versions", Part.VERSION, 8))
"""Where named parts come from, and how many of each are kept apart."""
_SHORT = 40
"""Characters of a value whose digest is remembered."""
_KINDS = frozenset(part for _, part, _ in _NAMED)
_PARTS = frozenset(Part)
_LAYOUT = b"\x01"
_KEY_BYTES = 2
_BARE, _WITH_NAME = Struct(">BQ"), Struct(">BIQ")
_NAME_MASK = 0xFFFF_FFFF
_USUAL = CLASS_PARAMS | {
    *("stop", "stop_sequences", "user", "top_k", "min_p", "logit_bias", "logprobs", "top_logprobs"),
    *("max_completion_tokens", "max_output_tokens", "parallel_tool_calls", "service_tier", "thinking"),
    *("reasoning", "text", "verbosity", "modalities", "prediction", "store", "include", "truncation"),
    *("stream_options", "functions", "function_call", "dimensions", "encoding_format", "metadata"),
    *("anthropic-beta", "anthropic-version", "openai-beta", "openai-organization", "openai-project"),
    *("guardrail", "prompt", "template", "model"),
}
"""Names that are tried on a stored part which the request in question does not have."""


def outline(
    tree: Mapping[str, JsonValue], descriptor: Descriptor, policy: KeyPolicy, *, stream: bool, token: Token
) -> bytes:
    """Return the outline of a request whose exact material is `tree`. Raises Unrepresentable.

    Typically 170 bytes, 700 at most.
    """
    upstream = descriptor.requested if policy.identity is Identity.TARGET else descriptor.served
    head = _head(
        token,
        token(""),
        (descriptor.dialect, descriptor.endpoint, upstream.provider, upstream.model),
        "" if policy.stream_shared else "stream" if stream else "json",
        tuple(key_policy(policy, matcher) for matcher in _POLICIES),
    )
    found = [_mark(token), head]
    found += [_BARE.pack(part, token(f"{part}\0{text}")) for part, text in _texts(tree, descriptor)]
    for field, part, most in _NAMED:
        members = tree.get(field)
        if members:
            assert isinstance(members, dict)
            found += _members(part, members, most, token)
    return b"".join(found)


def with_embedder(kept: bytes, fingerprint: bytes, token: Token) -> bytes:
    """Return the outline `kept` with the embedder that made the vector."""
    return kept + _BARE.pack(Part.EMBEDDER, token(f"{Part.EMBEDDER}\0{fingerprint.hex()}"))


@lru_cache(maxsize=1024)
def _head(token: Token, _key: int, target: tuple[str, ...], shape: str, policies: tuple[bytes, ...]) -> bytes:
    """Return the parts that most requests have in common. `_key` stands for the key of `token`."""
    texts = [*zip(_TARGET, target, strict=True), (Part.STREAM, shape)]
    texts += [(part, policy.hex()) for part, policy in zip(_POLICIES.values(), policies, strict=True)]
    return b"".join(_BARE.pack(part, token(f"{part}\0{text}")) for part, text in texts)


def _texts(tree: Mapping[str, JsonValue], descriptor: Descriptor) -> Iterator[tuple[Part, str]]:
    for part, field in _WHOLE:
        if field in tree:
            yield part, encode(tree[field]).decode()
    messages = tree.get("messages")
    if isinstance(messages, list) and messages:
        if len(messages) > 1:
            yield _EARLIER, encode(messages[:-1]).decode()
        messages = messages[-1]
    if messages is not None:
        yield _LAST, encode(messages).decode()
    content = descriptor.content
    if isinstance(content, Digests):
        name = f"{content.canonicalization}\0{content.canonicalization_version}"
        yield Part.DIGESTS, f"{name}\0{content.exact_sha256.hex()}"


def _members(part: Part, members: dict[str, JsonValue], most: int, token: Token) -> Iterator[bytes]:
    names, key = sorted(members), token("")
    for name in names[:most]:
        text = encode(members[name]).decode()
        pack = _known_member if len(text) <= _SHORT else _member
        yield pack(token, key, part, name, text)
    if len(names) > most:
        rest = encode({name: members[name] for name in names[most:]}).decode()
        yield _BARE.pack(Part.FURTHER, token(f"{part}\0\0{rest}"))


def _member(token: Token, _key: int, part: Part, name: str, text: str) -> bytes:
    return _WITH_NAME.pack(part, _name(part, name, token), token(f"{part}\0{name}\0{text}"))


_known_member = lru_cache(maxsize=1024)(_member)
"""The same params come again and again."""


def _name(part: Part, name: str, token: Token) -> int:
    return token(f"{part}\0{name}") & _NAME_MASK


def _mark(token: Token) -> bytes:
    """Return what an outline begins with: its layout, and which key its digests were made under."""
    return _LAYOUT + (token("") & 0xFFFF).to_bytes(_KEY_BYTES, "big")


def read(kept: bytes, token: Token) -> dict[Place, int]:
    """Return the digests of an outline; nothing for one of another layout or key, or a damaged one."""
    found: dict[Place, int] = {}
    mark = _mark(token)
    at = len(mark)
    if kept[:at] != mark:
        return found
    try:
        while at < len(kept):
            if kept[at] in _KINDS:
                part, name, digest = _WITH_NAME.unpack_from(kept, at)
                at += _WITH_NAME.size
            else:
                (part, digest), name = _BARE.unpack_from(kept, at), 0
                at += _BARE.size
            if part in _PARTS:
                found[Place(Part(part), name)] = digest
    except error:
        return {}
    return found


def names(own: Iterable[str], token: Token) -> dict[Place, str]:
    """Return what the digests of names stand for: `own`, those of a request, and the usual ones."""
    return {Place(part, _name(part, name, token)): name for name in {*own, *_USUAL} for part in _KINDS}


def unlike(mine: Mapping[Place, int], kept: Mapping[Place, int], known: Mapping[Place, str]) -> list[Unlike]:
    """Return the parts that differ, by number; `known` comes from `names`.

    An embedder counts only where both have one: not every answer was stored with a vector.
    """
    found: list[Unlike] = []
    for place in sorted({*mine, *kept}):
        mine_has, kept_has = place in mine, place in kept
        if mine.get(place) == kept.get(place):
            continue
        if place.part is Part.EMBEDDER and not (mine_has and kept_has):
            continue
        found.append(Unlike(place.part, known.get(place, ""), mine_has, kept_has))
    return found
