"""What explain-key shows is what a Lookup looks under."""

from __future__ import annotations

from hashlib import sha256

import pytest

from askonce_server.core.descriptor import Controls, Target
from askonce_server.core.keys import digest, frame, key_policy
from askonce_server.core.rules import Identity
from askonce_server.service.asked import Asked
from askonce_server.service.explain_key import explain_key
from core.builders import descriptor, rule
from core.cache import Cache

ROUTED = {"requested": Target("router", "fast"), "route_id": "r", "route_version": "1"}
SCOPED = {"scope": {"tenant": "acme", "user": "ann"}}
CASES = {
    "plain": ({}, {}),
    "streamed": ({}, {"stream": True}),
    "shapes share": ({"stream_shared": True}, {"stream": True}),
    "by what was asked for": ({"identity": Identity.TARGET}, ROUTED),
    "by both": ({"identity": Identity.BOTH}, ROUTED),
    "headers and versions": ({}, {"headers": {"anthropic-beta": "x"}, "versions": {"prompt": "7"}}),
    "several dims": ({"scope": ("user", "tenant")}, SCOPED),
}


@pytest.mark.parametrize("namespace", ["", "blue"])
@pytest.mark.parametrize("case", CASES)
def test_the_segments_that_are_shown_are_those_that_are_hashed(case, namespace):
    under, changes = CASES[case]
    applied, wanted = rule(**under), descriptor(**changes)
    explained = explain_key(Asked(wanted, Controls(namespace=namespace)), [applied])
    granted = Cache(applied).lookup(wanted, namespace=namespace).grant.keys
    assert tuple(one.key for one in explained.matchers) == granted
    for one in explained.matchers:
        assert digest("fingerprint", *(part.value for part in one.fingerprint)) == one.key.fingerprint
        assert all(part.sha256 == sha256(part.value).hexdigest() for part in one.fingerprint)
        assert scope_key(one, applied) == one.key.scope_key


def scope_key(one, applied):
    """The scope key of what is shown, in a store that was never purged."""
    matcher, policy, *dims = one.scope
    names = [part.name.removeprefix("dim ") for part in dims if part.name != "namespace"]
    assert tuple(names) == applied.scope
    assert policy.value == key_policy(applied.key, one.matcher).hex().encode()
    generations = frame(*[bytes(16)] * (3 + len(names)))
    parts = [
        each
        for part in dims
        for each in ((part.value,) if part.name == "namespace" else (part.name[4:].encode(), part.value))
    ]
    return digest("scope", generations, matcher.value, b"", bytes.fromhex(policy.value.decode()), *parts)
