"""Requests that have no key: bypassed with a reason, or at fault."""

from __future__ import annotations

from conformance.cases.case import (
    HI,
    Case,
    b64,
    body,
    chat,
    descriptor,
    exactly,
    messages,
    parts,
    responses,
    said,
)
from conformance.cases.segments import DIGESTS, FACTS

TREE = {"model": "gpt-4o", "messages": HI, "temperature": 0}
URL = "https://example.com/a.png"
HEAD = b'{"model":"gpt-4o","messages":[{"role":"user","content":"hi"}],"temperature":0,"x":'


def unclear(name, raw, why):
    given = body(HEAD + raw + b"}")
    return Case(f"unrepresentable_{name}", why, given, bypass="UNREPRESENTABLE_CONTENT")


def user(*content):
    return chat([{"role": "user", "content": list(content)}])


def remote(name, part):
    why = "Content elsewhere can change while its address stays."
    return Case(f"remote_{name}", why, user(part), bypass="REMOTE_CONTENT")


def stateful(name, given):
    return Case(
        f"stateful_{name}", "What the provider keeps is not in the key.", given, bypass="STATEFUL_REQUEST"
    )


def sampled(name, **params):
    why = "Without temperature 0 or a seed the answer is one of many."
    given = body({"model": "gpt-4o", "messages": HI, **params})
    return Case(f"sampled_{name}", why, given, bypass="SAMPLED_REQUEST")


def fact(name, reason):
    facts = {**FACTS, name: True}
    given = descriptor(digests={**DIGESTS, "facts": facts}, stream=False)
    return Case(f"digests_{reason.lower()}", "Facts speak for what digests hide.", given, bypass=reason)


def invalid(name, why, given, *fields, **more):
    return Case(f"invalid_{name}", why, given, invalid=fields, **more)


CASES = [
    unclear("duplicate_key", b'{"a":1,"a":2}', "Readers differ in which one they take."),
    unclear("duplicate_key_escaped", b'{"a":1,"\\u0061":1}', "The same key in two spellings."),
    unclear("nan", b"NaN", "NaN is no JSON number."),
    unclear("infinity", b"-Infinity", "Infinity is no JSON number."),
    unclear("beyond_double", b"1e999", "No double holds it."),
    unclear("two_to_53", b"9007199254740992", "From here on doubles round integers."),
    unclear("minus_two_to_53", b"-9007199254740992", "From here on doubles round integers."),
    unclear("two_to_53_fraction", b"9007199254740992.0", "However it is spelt."),
    unclear("two_to_53_exponent", b"9.007199254740992e15", "However it is spelt."),
    unclear("integral_exponent", b"1e16", "However it is spelt."),
    unclear("first_surrogate", b'"\\ud800"', "Half a pair is no character."),
    unclear("second_surrogate", b'"\\udc00a"', "Half a pair is no character."),
    unclear("swapped_surrogates", b'"\\udc00\\ud800"', "A pair in the wrong order is none."),
    unclear("too_deep", b"[" * 128 + b"]" * 128, "More than 128 levels, the root counted."),
    Case(
        "scope_missing",
        "A missing dim never means everyone.",
        body(TREE, scope={"user": "ada"}),
        bypass="SCOPE_MISSING",
    ),
    Case(
        "scope_empty",
        "An empty dim never means everyone.",
        body(TREE, scope={"tenant": ""}),
        bypass="SCOPE_MISSING",
    ),
    Case("scope_half", "Every dim of the rule is needed.", body(TREE), "two-dims", bypass="SCOPE_MISSING"),
    Case("disabled", "The rule is off.", body(TREE), "off", bypass="DISABLED"),
    sampled("without_temperature"),
    sampled("null_temperature", temperature=None),
    sampled("false_temperature", temperature=False),
    sampled("text_temperature", temperature="0"),
    sampled("some_temperature", temperature=0.01),
    sampled("null_seed", seed=None),
    sampled("true_seed", seed=True),
    remote("image_url", {"type": "image_url", "image_url": {"url": URL}}),
    remote("image_url_string", {"type": "image_url", "image_url": URL}),
    remote("file_id", {"type": "file", "file": {"file_id": "file-1"}}),
    remote(
        "nested",
        {"type": "tool_result", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]},
    ),
    Case(
        "remote_claude_file",
        "A file is elsewhere.",
        messages(
            {
                "messages": [
                    {
                        "role": "user",
                        "content": [{"type": "document", "source": {"type": "file", "file_id": "f"}}],
                    }
                ]
            }
        ),
        bypass="REMOTE_CONTENT",
    ),
    Case(
        "remote_responses_file",
        "A file is elsewhere.",
        responses({"input": [{"role": "user", "content": [{"type": "input_file", "file_id": "f"}]}]}),
        bypass="REMOTE_CONTENT",
    ),
    Case(
        "remote_allowed",
        "A rule may allow it; the address is keyed.",
        user({"type": "image_url", "image_url": {"url": URL}}),
        "remote",
    ),
    Case("remote_in_text", "An address in a text is quoted, not fetched.", said(f"see {URL}")),
    Case(
        "remote_in_arguments",
        "An address in arguments is quoted, not fetched.",
        messages(
            {
                "messages": [
                    *HI,
                    {
                        "role": "assistant",
                        "content": [{"type": "tool_use", "id": "t", "name": "get", "input": {"url": URL}}],
                    },
                ]
            }
        ),
    ),
    stateful("previous_response", responses({"input": "hi", "previous_response_id": "r"})),
    stateful("conversation", responses({"input": "hi", "conversation": "c"})),
    stateful("prompt", responses({"prompt": {"id": "p"}})),
    stateful("background", responses({"input": "hi", "background": True})),
    stateful("store", chat(store=True)),
    stateful("container", messages({"messages": HI, "container": "c"})),
    stateful("mcp_servers", messages({"messages": HI, "mcp_servers": [{"url": URL}]})),
    stateful("web_search_options", chat(web_search_options={})),
    stateful("hosted_tool", responses({"input": "hi", "tools": [{"type": "web_search"}]})),
    stateful(
        "claude_hosted_tool",
        messages({"messages": HI, "tools": [{"type": "web_search_20250305", "name": "web_search"}]}),
    ),
    Case(
        "personalized",
        "The answer depends on who asks.",
        body(TREE, personalized=True),
        bypass="PERSONALIZED",
    ),
    Case(
        "personalized_user",
        "With the user in the scope it may be shared with that user alone.",
        body(TREE, personalized=True, scope={"tenant": "acme", "user": "ada"}),
        "two-dims",
        same=exactly("two_dims"),
    ),
    Case(
        "unmodelled", "Outside the class nothing is known.", chat(top_k=1), "class", bypass="UNMODELLED_PARAM"
    ),
    Case("too_large", "The rule limits the size of requests.", said("a" * 2000), "small", bypass="TOO_LARGE"),
    Case(
        "time_sensitive",
        "The rule lists words that make answers age.",
        said("Today?"),
        "today",
        bypass="TIME_SENSITIVE",
    ),
    Case(
        "every_matcher_skipped",
        "Nothing was looked up, so it is a bypass.",
        said("- a"),
        "normalized-only",
        bypass="WHITESPACE_SIGNIFICANT",
    ),
    fact("sampling", "SAMPLED_REQUEST"),
    fact("remoteContent", "REMOTE_CONTENT"),
    fact("stateful", "STATEFUL_REQUEST"),
    fact("personalized", "PERSONALIZED"),
    Case(
        "digests_silent",
        "An absent fact is the worst case.",
        descriptor(digests={name: value for name, value in DIGESTS.items() if name != "facts"}, stream=False),
        bypass="PERSONALIZED",
    ),
    Case(
        "digests_under_class",
        "Digests cannot be looked into.",
        descriptor(digests=DIGESTS, stream=False),
        "class",
        bypass="UNREPRESENTABLE_CONTENT",
    ),
    Case(
        "digests_under_ignore",
        "Digests cannot be looked into.",
        descriptor(digests=DIGESTS, stream=False),
        "ignore-user",
        bypass="UNREPRESENTABLE_CONTENT",
    ),
    Case(
        "digests_under_shared",
        "Digests cannot be looked into.",
        descriptor(digests=DIGESTS, stream=False),
        "shared-stream",
        bypass="UNREPRESENTABLE_CONTENT",
    ),
    invalid(
        "json",
        "Bytes that are no JSON are a fault of the caller.",
        body(b'{"messages":'),
        "descriptor.body_json",
    ),
    invalid("utf8", "So are bytes that are no UTF-8.", body(b'{"a":"\xff"}'), "descriptor.body_json"),
    invalid("root", "A body is an object.", body(b"[]"), "descriptor.body_json"),
    invalid(
        "layout",
        "A body needs a layout that is known.",
        body(TREE, dialect="mistral"),
        "descriptor.body_json",
    ),
    invalid(
        "no_messages",
        "A body without messages says nothing.",
        body({"temperature": 0}),
        "descriptor.body_json.messages",
    ),
    invalid(
        "stream_type",
        "A stream is wanted or not.",
        body({**TREE, "stream": "yes"}),
        "descriptor.body_json.stream",
    ),
    invalid(
        "stream_contradiction",
        "Descriptor and body must agree.",
        body({**TREE, "stream": True}, stream=False),
        "descriptor.stream",
    ),
    invalid(
        "stream_missing",
        "Parts of a generating endpoint must say whether a stream is wanted.",
        descriptor(parts=parts(messages=HI, params={"temperature": 0})),
        "descriptor.stream",
    ),
    invalid(
        "parts_without_messages",
        "Parts without messages would share one key.",
        descriptor(parts=parts(params={"temperature": 0}), stream=False),
        "descriptor.parts.messages",
    ),
    invalid(
        "params_type",
        "Params are an object.",
        descriptor(parts=parts(messages=HI, params=[1]), stream=False),
        "descriptor.parts.params",
    ),
    invalid(
        "served",
        "The key names the served target.",
        body(TREE, served={"provider": "openai"}),
        "descriptor.served.model",
    ),
    invalid(
        "requested",
        "The key names the requested target.",
        body(TREE),
        "descriptor.requested.provider",
        "descriptor.requested.model",
        rule="target",
    ),
    invalid(
        "route_version",
        "A route whose version is unknown may have changed.",
        body(TREE, routeId="r"),
        "descriptor.route_version",
    ),
    invalid(
        "headers",
        "Two names of a header that differ only in case.",
        body(TREE, headers={"A": "1", "a": "2"}),
        "descriptor.headers",
    ),
    invalid(
        "digest_size",
        "A SHA-256 has 32 bytes.",
        descriptor(digests={**DIGESTS, "exactSha256": b64(b"short")}, stream=False),
        "descriptor.digests.exact_sha256",
    ),
    invalid("content", "A request says something.", descriptor(stream=False), "descriptor.content"),
    invalid(
        "everything",
        "All faults are named at once.",
        descriptor(dialect=None, endpoint=None, served=None, bodyJson=b64("[")),
        "descriptor.dialect",
        "descriptor.endpoint",
        "descriptor.body_json",
        "descriptor.served.provider",
        "descriptor.served.model",
    ),
]
