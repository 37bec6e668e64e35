"""The semantic matcher: which text is embedded, and what of the rest is context."""

from __future__ import annotations

from conformance.cases.case import Case, body, chat, messages, responses

FIRST, SECOND = "11" * 32, "22" * 32
IMAGE = {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": "AAAA"}}
RESULT = {"type": "tool_result", "tool_use_id": "t", "content": [{"type": "text", "text": "21"}]}
TALK = [
    {"role": "system", "content": "Be brief."},
    {"role": "user", "content": "first"},
    {"role": "assistant", "content": "1"},
    {"role": "user", "content": "second"},
    {"role": "assistant", "content": "2"},
    {"role": "user", "content": [{"type": "text", "text": "third"}, {"type": "text", "text": "and more"}]},
]


def case(
    name, why, given, last=1, *, embedder=FIRST, overflow="partition", same=(), apart=(), entry=(), **more
):
    """`same` and `apart` name cases of equal and other partitions, `entry` such of equal entries."""
    semantic = {"history_max_messages": last, "history_overflow": overflow, "embedder_fingerprint": embedder}
    return Case(
        name,
        why,
        given,
        semantic=semantic,
        same={"partition": same, "semantic": entry},
        apart={"partition": apart},
        **more,
    )


def ask(text, **params):
    return chat([{"role": "user", "content": text}], **params)


def claude(*parts):
    return messages({"messages": [{"role": "user", "content": list(parts)}]})


def text(said):
    return {"type": "text", "text": said}


CASES = [
    case("ask", "The text of the last user turn is embedded.", ask("how old is the moon?")),
    case(
        "ask_otherwise",
        "Another question in the same context is in the same partition.",
        ask("what is the moon's age?"),
        same=["ask"],
    ),
    case(
        "ask_again",
        "The same question is the same entry.",
        ask("how old is the moon?"),
        entry=["ask"],
        same=["ask"],
    ),
    case("ask_spaced", "The text is embedded as it is.", ask("how old  is the moon?"), same=["ask"]),
    case(
        "ask_with_system",
        "A system prompt is context.",
        chat([TALK[0], {"role": "user", "content": "how old is the moon?"}]),
        apart=["ask"],
    ),
    case(
        "ask_with_param", "Parameters are context.", ask("how old is the moon?", max_tokens=9), apart=["ask"]
    ),
    case(
        "ask_with_tools",
        "Tools are context.",
        ask("how old is the moon?", tools=[{"type": "function", "function": {"name": "f"}}]),
        apart=["ask"],
    ),
    case(
        "ask_other_model",
        "The model is context.",
        body(
            {
                "model": "m",
                "temperature": 0,
                "messages": [{"role": "user", "content": "how old is the moon?"}],
            },
            served={"provider": "openai", "model": "gpt-4o-mini"},
        ),
        apart=["ask"],
    ),
    case("ask_stream", "The shape is context.", ask("how old is the moon?", stream=True), apart=["ask"]),
    case(
        "ask_other_embedder",
        "Vectors of another embedder never meet.",
        ask("how old is the moon?"),
        embedder=SECOND,
        apart=["ask"],
    ),
    case(
        "ask_other_tenant",
        "Vectors of another tenant never meet.",
        body(
            {
                "model": "gpt-4o",
                "temperature": 0,
                "messages": [{"role": "user", "content": "how old is the moon?"}],
            },
            scope={"tenant": "globex"},
        ),
        apart=["ask"],
    ),
    case(
        "ask_raised",
        "Nor those of another generation.",
        ask("how old is the moon?"),
        generations=["00" * 16, "33" * 16, "00" * 16, "00" * 16],
        apart=["ask"],
    ),
    case(
        "ask_namespace",
        "Nor those of another namespace.",
        ask("how old is the moon?"),
        namespace="blue",
        apart=["ask"],
    ),
    case(
        "ask_part",
        "A part and a string are two contexts.",
        chat([{"role": "user", "content": [text("how old is the moon?")]}]),
        apart=["ask"],
    ),
    case("talk_1", "With N = 1 earlier user turns are context.", chat(TALK)),
    case(
        "talk_1_reject",
        "What becomes of longer histories is part of the policy.",
        chat(TALK[:2]),
        overflow="reject",
    ),
    case(
        "talk_1_other_history",
        "With N = 1 earlier user turns are context.",
        chat([TALK[0], {"role": "user", "content": "uno"}, *TALK[2:]]),
        apart=["talk_1"],
    ),
    case(
        "talk_1_other_answer",
        "Answers are context whatever N is.",
        chat([*TALK[:2], {"role": "assistant", "content": "I"}, *TALK[3:]]),
        apart=["talk_1"],
    ),
    case(
        "talk_3",
        "With N = 3 the last three user turns are embedded, joined by line breaks.",
        chat(TALK),
        3,
        apart=["talk_1"],
    ),
    case(
        "talk_3_other_history",
        "With N = 3 those turns are no context.",
        chat([TALK[0], {"role": "user", "content": "uno"}, *TALK[2:]]),
        3,
        same=["talk_3"],
    ),
    case("talk_2", "With N = 2 the first of three is context.", chat(TALK), 2, apart=["talk_1", "talk_3"]),
    case(
        "talk_0",
        "With N = 0 every user turn is embedded; N itself is in the partition.",
        chat(TALK),
        0,
        apart=["talk_3"],
    ),
    case(
        "talk_0_other_history",
        "With N = 0 no user text is context.",
        chat([TALK[0], {"role": "user", "content": "uno"}, *TALK[2:]]),
        0,
        same=["talk_0"],
    ),
    case("talk_9", "N may be more than there are turns.", chat(TALK), 9, apart=["talk_0", "talk_3"]),
    case("image", "Parts that are no text are context.", claude(IMAGE, text("what is it?"))),
    case(
        "image_otherwise", "The text beside them is not.", claude(IMAGE, text("describe it")), same=["image"]
    ),
    case(
        "image_other",
        "Another image is another context.",
        claude({**IMAGE, "source": {**IMAGE["source"], "data": "AAAB"}}, text("what is it?")),
        apart=["image"],
    ),
    case("result", "A tool result is context, its text included.", claude(RESULT, text("and now?"))),
    case(
        "result_other",
        "A tool result is context, its text included.",
        claude({**RESULT, "content": [text("22")]}, text("and now?")),
        apart=["result"],
    ),
    case("bare", "A bare input is one user turn.", responses({"input": "hello"})),
    case("bare_otherwise", "A bare input is one user turn.", responses({"input": "goodbye"}), same=["bare"]),
    case(
        "input_text",
        "Parts of responses are text parts too.",
        responses({"input": [{"role": "user", "content": [{"type": "input_text", "text": "hello"}]}]}),
        apart=["bare"],
    ),
    case(
        "no_text",
        "A last user turn without text cannot be embedded.",
        claude(IMAGE),
        skipped={"semantic": "NO_EMBEDDABLE_TEXT"},
    ),
    case("blank_text", "Nor can white space.", ask(" \u3000\n"), skipped={"semantic": "NO_EMBEDDABLE_TEXT"}),
    case(
        "result_alone", "Nor can a tool result.", claude(RESULT), skipped={"semantic": "NO_EMBEDDABLE_TEXT"}
    ),
    case(
        "no_user",
        "Nor can a conversation without a user.",
        chat([TALK[0]]),
        skipped={"semantic": "NO_EMBEDDABLE_TEXT"},
    ),
    case(
        "too_long",
        "A rule may refuse histories of more than N user turns.",
        chat(TALK),
        overflow="reject",
        skipped={"semantic": "HISTORY_TOO_LONG"},
    ),
]
CASES = [
    Case(
        **{
            **{name: getattr(one, name) for name in Case.__slots__},
            "name": f"semantic_{one.name}",
            "same": {kind: [f"semantic_{name}" for name in names] for kind, names in one.same.items()},
            "apart": {kind: [f"semantic_{name}" for name in names] for kind, names in one.apart.items()},
        }
    )
    for one in CASES
]
