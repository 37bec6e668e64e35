"""The conversation anchor: for affinity, never a response key."""

from __future__ import annotations

from conformance.cases.case import Case, chat, messages, responses

SYSTEM, USER = {"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}
IMAGE = {"type": "image", "source": {"type": "base64", "data": "AAAA"}}
MARK = {"cache_control": {"type": "ephemeral"}}


def case(name, why, given, *, same=(), apart=()):
    def named(names):
        return {"anchor": [f"anchor_{one}" for one in names]}

    return Case(f"anchor_{name}", why, given, anchor=True, same=named(same), apart=named(apart))


def claude(*content, **more):
    return messages({"messages": [{"role": "user", "content": list(content)}], **more})


CASES = [
    case("plain", "Leading system turns and the first user turn.", chat([SYSTEM, USER])),
    case(
        "later",
        "Later turns keep it.",
        chat([SYSTEM, USER, {"role": "assistant", "content": "yes?"}, {"role": "user", "content": "bye"}]),
        same=["plain"],
    ),
    case("params", "Parameters do not count.", chat([SYSTEM, USER], max_tokens=5), same=["plain"]),
    case("no_system", "The system prompt counts.", chat([USER]), apart=["plain"]),
    case("developer", "Its role counts.", chat([{**SYSTEM, "role": "developer"}, USER]), apart=["plain"]),
    case(
        "split",
        "Texts cannot be split otherwise.",
        chat([{**SYSTEM, "content": "Be brief.h"}, {**USER, "content": "i"}]),
        apart=["plain"],
    ),
    case(
        "late_system",
        "A system turn behind the first user turn does not count.",
        chat([USER, SYSTEM]),
        same=["no_system"],
    ),
    case("claude", "A system prompt apart counts.", messages({"system": "Be brief.", "messages": [USER]})),
    case(
        "claude_blocks",
        "A block of text counts as its text.",
        messages({"system": [{"type": "text", "text": "Be brief."}], "messages": [USER]}),
        same=["claude"],
    ),
    case(
        "image",
        "Parts that are no text count, behind their kind.",
        claude(IMAGE, {"type": "text", "text": "hi"}),
    ),
    case(
        "image_marked",
        "Marks of the prompt cache do not.",
        claude({**IMAGE, **MARK}, {"type": "text", "text": "hi", **MARK}),
        same=["image"],
    ),
    case(
        "image_behind",
        "The order of parts counts.",
        claude({"type": "text", "text": "hi"}, IMAGE),
        apart=["image"],
    ),
    case("bare", "A bare input is the first user turn.", responses({"input": "hi"}), same=["no_system"]),
    case(
        "instructions",
        "Instructions are a system prompt apart.",
        responses({"input": "hi", "instructions": "Be brief."}),
        same=["claude"],
        apart=["bare"],
    ),
]
