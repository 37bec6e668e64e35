"""Each of the seven segments, and everything around the content, tells requests apart."""

from __future__ import annotations

from conformance.cases.case import HI, Case, b64, body, chat, descriptor, exactly, messages, parts

TREE = {"model": "gpt-4o", "messages": HI, "temperature": 0}
FACTS = {"sampling": False, "remoteContent": False, "stateful": False, "personalized": False}
DIGESTS = {
    "exactSha256": b64(bytes(range(32))),
    "normalizedSha256": b64(bytes(range(32, 64))),
    "canonicalization": "gateway",
    "canonicalizationVersion": "1",
    "facts": FACTS,
}


def apart(name, why, given, *names, **more):
    """A case that shares no entry with the plain request, nor with those named."""
    return Case(name, why, given, apart=exactly("plain", *names), **more)


def digested(**changes):
    members = {**DIGESTS, **changes.pop("digests", {})}
    gone = {name: value for name, value in members.items() if value is not None}
    return descriptor(digests=gone, stream=False, **changes)


CASES = [
    Case("plain", "The request that the others are compared with.", chat()),
    apart(
        "stream", "A stream is no answer for a caller who wants a document.", body({**TREE, "stream": True})
    ),
    Case(
        "stream_false",
        "A body that says nothing of streaming asks for a document.",
        body({**TREE, "stream": False}),
        same=exactly("plain"),
    ),
    Case(
        "stream_said_twice",
        "The descriptor may repeat what the body says.",
        body({**TREE, "stream": False}, stream=False),
        same=exactly("plain"),
    ),
    apart(
        "provider",
        "The same model elsewhere may answer otherwise.",
        body(TREE, served={"provider": "azure", "model": "gpt-4o"}),
    ),
    apart(
        "model",
        "Another model answers otherwise.",
        body(TREE, served={"provider": "openai", "model": "gpt-4o-mini"}),
    ),
    apart(
        "model_with_a_dot",
        "Names of models are taken as they are.",
        body(TREE, served={"provider": "openai", "model": "gpt-4.1"}),
    ),
    apart(
        "model_with_a_dash",
        "Names of models are taken as they are.",
        body(TREE, served={"provider": "openai", "model": "gpt-4-1"}),
        "model_with_a_dot",
    ),
    Case(
        "model_of_the_body",
        "The body's own model is what the client asked for; the served target is the segment.",
        body({**TREE, "model": "router/auto"}),
        same=exactly("plain"),
    ),
    apart(
        "dialect",
        "The same parts in another dialect may mean something else.",
        descriptor(dialect="mistral", parts=parts(messages=HI, params={"temperature": 0}), stream=False),
    ),
    apart(
        "endpoint",
        "The same parts at another endpoint are another question.",
        descriptor(endpoint="responses", parts=parts(messages=HI, params={"temperature": 0}), stream=False),
    ),
    Case(
        "provider_takes_from_model",
        "No split of the same letters over two segments may collide.",
        body(TREE, served={"provider": "ab", "model": "c"}),
    ),
    Case(
        "model_takes_from_provider",
        "No split of the same letters over two segments may collide.",
        body(TREE, served={"provider": "a", "model": "bc"}),
        apart=exactly("provider_takes_from_model"),
    ),
    Case(
        "dialect_takes_from_endpoint",
        "No split of the same letters over two segments may collide.",
        descriptor(dialect="ab", endpoint="c", parts=parts(messages=HI)),
    ),
    Case(
        "endpoint_takes_from_dialect",
        "No split of the same letters over two segments may collide.",
        descriptor(dialect="a", endpoint="bc", parts=parts(messages=HI)),
        apart=exactly("dialect_takes_from_endpoint"),
    ),
    apart("header", "A forwarded header may change the answer.", body(TREE, headers={"anthropic-beta": "x"})),
    Case(
        "header_in_upper_case",
        "Names of headers know no case.",
        body(TREE, headers={"Anthropic-Beta": "x"}),
        same=exactly("header"),
    ),
    apart(
        "header_value",
        "Values of headers are taken as they are.",
        body(TREE, headers={"anthropic-beta": "X"}),
        "header",
    ),
    apart(
        "header_empty",
        "A header that is empty is not absent.",
        body(TREE, headers={"anthropic-beta": ""}),
        "header",
    ),
    apart(
        "version",
        "A guardrail policy or a prompt template of another version changes answers.",
        body(TREE, versions={"guardrail": "7"}),
    ),
    apart(
        "version_value",
        "Versions are key material by name and value.",
        body(TREE, versions={"guardrail": "8"}),
        "version",
    ),
    apart(
        "version_as_header",
        "A version and a header of one name are two things.",
        body(TREE, headers={"guardrail": "7"}),
        "version",
    ),
    Case(
        "attributes",
        "Attributes are for matching and traces, never key material.",
        body(TREE, attributes={"team": "search"}),
        same=exactly("plain"),
    ),
    Case(
        "requested_and_route_under_served",
        "What the client asked for is no key material under `identity: served`.",
        body(
            TREE,
            requested={"provider": "router", "model": "auto"},
            routeId="r1",
            routeVersion="3",
            ruleBranch="b",
        ),
        same=exactly("plain"),
    ),
    Case(
        "embedding",
        "A vector is no part of a deterministic key.",
        body(TREE, embedding={"embedder": "own", "values": b64(bytes.fromhex("0000803f"))}),
        same=exactly("plain"),
    ),
    Case(
        "empty_maps",
        "Maps without entries are absent.",
        body(TREE, headers={}, versions={}),
        same=exactly("plain"),
    ),
    apart(
        "anthropic",
        "Another dialect, endpoint, provider and model at once.",
        messages({"messages": HI}),
    ),
    apart("digests", "Digests have a key space of their own.", digested()),
    apart(
        "digests_exact",
        "The exact digest is the exact key, and no other.",
        digested(digests={"exactSha256": b64(bytes(32))}),
    ),
    Case(
        "digests_normalized",
        "The normalized digest is the normalized key, and no other.",
        digested(digests={"normalizedSha256": b64(bytes(32))}),
        same={"exact": ["digests"]},
        apart={"normalized": ["digests"]},
    ),
    Case(
        "digests_without_normalized",
        "Without a normalized digest that matcher is skipped.",
        digested(digests={"normalizedSha256": None}),
        skipped={"normalized": "UNREPRESENTABLE_CONTENT"},
        same={"exact": ["digests"]},
    ),
    Case(
        "digests_canonicalization",
        "Digests of another canonicalization are no digests of ours.",
        digested(digests={"canonicalization": "gateway1", "canonicalizationVersion": "0"}),
        apart=exactly("digests"),
    ),
    Case(
        "digests_version",
        "The version of a canonicalization counts.",
        digested(digests={"canonicalizationVersion": "2"}),
        apart=exactly("digests"),
    ),
    Case(
        "digests_with_header",
        "What the gateway's digest leaves out is added: headers, versions, route.",
        digested(headers={"anthropic-beta": "x"}),
        apart=exactly("digests"),
    ),
    Case(
        "digests_with_version",
        "What the gateway's digest leaves out is added: headers, versions, route.",
        digested(versions={"anthropic-beta": "x"}),
        apart=exactly("digests", "digests_with_header"),
    ),
]
