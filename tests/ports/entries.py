"""Entries to store, and what is found of them."""

import hashlib

from askonce_server.core.entries import (
    Answer,
    Body,
    EntryKey,
    Generations,
    Usage,
    Write,
)
from askonce_server.core.reasons import Matcher

NOW_MS = 1_700_000_000_000
MIB = 1 << 20


def digest(*parts):
    return hashlib.sha256(repr(parts).encode()).digest()


def key(name, *, scope="acme", matcher=Matcher.EXACT):
    """A key as the core derives them: the id follows from scope key and fingerprint."""
    scope_key, fingerprint = digest("scope", scope, matcher), digest("fingerprint", name)
    return EntryKey(matcher, scope_key, fingerprint, digest("entry", scope_key, fingerprint))


def answer(**changes):
    base = Answer(
        rule_id="chat",
        start_ms=NOW_MS - 900,
        store_ms=NOW_MS,
        expire_ms=NOW_MS + 60_000,
        stream=False,
        contains_tool_calls=True,
        usage=Usage(11, 7),
        cost_usd=0.25,
        source_request_id="req-1",
    )
    return base._replace(**changes)


def write(name, *, scope="acme", body=None, matchers=(Matcher.EXACT, Matcher.NORMALIZED), **changes):
    data = f"answer to {name}".encode() if body is None else body
    names = changes.pop("generations", Generations((), ()))
    return Write(
        scope_root=digest("root", scope),
        generations=names,
        keys=tuple(key(name, scope=scope, matcher=matcher) for matcher in matchers),
        answer=answer(**changes),
        body=Body(data, "application/json"),
    )


def found(store, wanted):
    """The entry and body at a key, or None when either is missing."""
    with store.read() as view:
        entry = view.entry(wanted)
        body = None if entry is None else view.body(entry)
    return None if entry is None or body is None else (entry, body)


def body_at(store, wanted):
    """The bytes at a key, or None."""
    both = found(store, wanted)
    return None if both is None else both[1].data


def fill(store, body_bytes, **changes):
    """Store until one more would evict another; return the names that are there, oldest first."""
    names = []
    before = store.stats().evicted
    while store.stats().evicted == before:
        assert len(names) < 10_000
        names.append(f"fill-{len(names)}")
        assert store.put([write(names[-1], body=bytes(body_bytes), **changes)]) == [None]
    with store.read() as view:
        return [name for name in names if view.entry(key(name)) is not None]
