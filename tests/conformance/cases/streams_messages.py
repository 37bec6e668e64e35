"""Anthropic messages: events and documents."""

from __future__ import annotations

from typing import Any

from conformance.cases.stream import INCOMPLETE, LOSSY, NOT_UNDERSTOOD, StreamCase, says, spelt, typed

API = "anthropic-messages"
USAGE = {"input_tokens": 9, "output_tokens": 3, "cache_read_input_tokens": 0, "service_tier": "standard"}
USED = (9, 3)
HEAD = {"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-sonnet-4"}
SEARCH = {"type": "tool_use", "id": "toolu_1", "name": "search", "input": {"q": "café", "n": 1.5}}
THOUGHT = {"type": "thinking", "thinking": "Hm, hm.", "signature": "EqQB"}
RESULT = {
    "type": "web_search_tool_result",
    "tool_use_id": "srvtoolu_1",
    "content": [{"type": "x", "url": "y"}],
}


def message(*content: Any, stop: str | None = "end_turn", **more: Any) -> dict[str, Any]:
    said = {"content": list(content), "stop_reason": stop, "stop_sequence": None, "usage": USAGE}
    return {**HEAD, **said, **more}


def text(said: str, **more: Any) -> dict[str, Any]:
    return {"type": "text", "text": said, **more}


def start(**more: Any) -> tuple[str, Any]:
    return typed("message_start", message=message(stop=None, usage={**USAGE, "output_tokens": 1}, **more))


def block(at: int, begun: Any, *deltas: Any) -> list[tuple[str, Any]]:
    return [
        typed("content_block_start", index=at, content_block=begun),
        *(typed("content_block_delta", index=at, delta=delta) for delta in deltas),
        typed("content_block_stop", index=at),
    ]


def ending(stop: str = "end_turn", **more: Any) -> list[tuple[str, Any]]:
    delta = {"stop_reason": stop, "stop_sequence": None, **more}
    return [typed("message_delta", delta=delta, usage={"output_tokens": 3}), typed("message_stop")]


def piece(kind: str, **members: Any) -> dict[str, Any]:
    return {"type": f"{kind}_delta", **members}


PARIS = [*block(0, text(""), piece("text", text="Pa"), piece("text", text="ris.")), *ending()]


def gathered(name: str, why: str, events: Any, wanted: Any, **more: Any) -> StreamCase:
    told = says(wanted["stop_reason"], usage=USED, complete=True, **more)
    return StreamCase(name=name, why=why, api=API, stream=spelt(*events), document=wanted, says=told)


def refused(name: str, why: str, events: Any, reason: str, told: Any) -> StreamCase:
    return StreamCase(name=name, why=why, api=API, stream=spelt(*events), refused=reason, says=told)


ENDED = says("end_turn", usage=USED, complete=True)

GATHERED = [
    gathered("messages_text", "Pieces of text are joined.", [start(), *PARIS], message(text("Paris."))),
    gathered(
        "messages_pings",
        "Pings say nothing, and neither does what follows the end.",
        [start(), typed("ping"), *PARIS, typed("ping")],
        message(text("Paris.")),
    ),
    gathered(
        "messages_surrogates_cut",
        "A character may be cut in the middle of its surrogate pair.",
        [
            start(),
            typed("content_block_start", index=0, content_block=text("")),
            (
                "content_block_delta",
                '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ud83d"}}',
            ),
            (
                "content_block_delta",
                '{"type":"content_block_delta","index":0,"delta":{"type":"text_delta","text":"\\ude00"}}',
            ),
            typed("content_block_stop", index=0),
            *ending(),
        ],
        message(text("\U0001f600")),
    ),
    gathered(
        "messages_thinking",
        "Thinking keeps its signature, and what was redacted stays as it is.",
        [
            start(),
            *block(
                0,
                {"type": "thinking", "thinking": "", "signature": ""},
                piece("thinking", thinking="Hm, "),
                piece("thinking", thinking="hm."),
                piece("signature", signature="EqQB"),
            ),
            *block(1, {"type": "redacted_thinking", "data": "AA"}),
            *block(2, text(""), piece("text", text="Paris.")),
            *ending(),
        ],
        message(THOUGHT, {"type": "redacted_thinking", "data": "AA"}, text("Paris.")),
    ),
    gathered(
        "messages_tool_use",
        "The input of a tool comes as pieces of JSON; its numbers keep their spelling.",
        [
            start(),
            *block(
                0,
                {**SEARCH, "input": {}},
                piece("input_json", partial_json=""),
                piece("input_json", partial_json='{"q": "caf'),
                piece("input_json", partial_json='é", "n": 1.5}'),
            ),
            *ending("tool_use"),
        ],
        message(SEARCH, stop="tool_use"),
        tool_calls=True,
    ),
    gathered(
        "messages_tool_without_input",
        "A tool without input has an empty one.",
        [
            start(),
            *block(0, {**SEARCH, "input": {}}, piece("input_json", partial_json="")),
            *ending("tool_use"),
        ],
        message({**SEARCH, "input": {}}, stop="tool_use"),
        tool_calls=True,
    ),
    gathered(
        "messages_whole_blocks",
        "A block that comes whole stays as it is, of a kind that nobody knows too.",
        [
            start(),
            *block(
                0,
                {**SEARCH, "type": "server_tool_use", "input": {}},
                piece("input_json", partial_json='{"q": 1}'),
            ),
            *block(1, RESULT),
            *ending(),
        ],
        message({**SEARCH, "type": "server_tool_use", "input": {"q": 1}}, RESULT),
        tool_calls=True,
    ),
    gathered(
        "messages_citations",
        "Citations are gathered.",
        [
            start(),
            *block(
                0,
                text("", citations=[]),
                piece("citations", citation={"cited_text": "a"}),
                piece("text", text="Paris."),
                piece("citations", citation={"cited_text": "b"}),
            ),
            *ending(),
        ],
        message(text("Paris.", citations=[{"cited_text": "a"}, {"cited_text": "b"}])),
    ),
    gathered(
        "messages_stop_sequence",
        "What the last delta says of the message is the message's.",
        [
            start(container=None),
            *PARIS[:-2],
            *ending("stop_sequence", stop_sequence="END", container={"id": "c"}),
        ],
        message(text("Paris."), stop="stop_sequence", stop_sequence="END", container={"id": "c"}),
    ),
    gathered("messages_empty", "A message may have no content.", [start(), *ending()], message()),
]

REFUSED = [
    refused(
        "messages_unknown_delta",
        "What is not known how to join is not joined.",
        [start(), *block(0, text(""), piece("sparkle", text="x")), *ending()],
        LOSSY,
        ENDED,
    ),
    refused(
        "messages_unknown_event",
        "Nor is an event of a kind that nobody knows left out.",
        [start(), typed("sparkle"), *PARIS],
        LOSSY,
        ENDED,
    ),
    refused(
        "messages_input_no_json",
        "Pieces that are no JSON object are no input.",
        [
            start(),
            *block(0, {**SEARCH, "input": {}}, piece("input_json", partial_json='{"q"')),
            *ending("tool_use"),
        ],
        LOSSY,
        says("tool_use", usage=USED, complete=True, tool_calls=True),
    ),
    refused(
        "messages_cut",
        "Without message_stop the stream did not come to its end.",
        [start(), *PARIS[:-1]],
        INCOMPLETE,
        says("end_turn", usage=USED),
    ),
    refused(
        "messages_no_stop_reason",
        "A message without a stop reason did not either.",
        [start(), *PARIS[:-2], typed("message_stop")],
        INCOMPLETE,
        says("null", usage=(9, 1), complete=True),
    ),
    refused(
        "messages_block_cut",
        "Every block has to come to its end.",
        [start(), PARIS[0], PARIS[1], *ending()],
        INCOMPLETE,
        ENDED,
    ),
    refused(
        "messages_error",
        "An error in the stream makes it no answer.",
        [start(), PARIS[0], typed("error", error={"type": "overloaded_error"}), *PARIS[1:]],
        INCOMPLETE,
        says("end_turn", usage=USED, failed=True),
    ),
    refused(
        "messages_out_of_order",
        "A delta without its block is not understood.",
        [start(), *PARIS[1:]],
        NOT_UNDERSTOOD,
        ENDED,
    ),
]


def streamed(
    name: str, why: str, given: Any, *events: Any, more: Any = None, start_more: Any = None
) -> StreamCase:
    begun = {**given, "content": [], "stop_reason": None, "stop_sequence": None, **(start_more or {})}
    begun["usage"] = {**USAGE, "output_tokens": 0}
    delta = {"stop_reason": given["stop_reason"], "stop_sequence": given["stop_sequence"], **(more or {})}
    spoken = [
        typed("message_start", message=begun),
        *events,
        typed("message_delta", delta=delta, usage=USAGE),
        typed("message_stop"),
    ]
    return StreamCase(name=name, why=why, api=API, document=given, events=spoken)


STREAMED = [
    streamed(
        "messages_document_text",
        "A document becomes a stream that says the same.",
        message(text("Paris.")),
        *block(0, text(""), piece("text", text="Paris.")),
    ),
    streamed(
        "messages_document_everything",
        "Thinking, cited text, calls and blocks of any other kind.",
        message(THOUGHT, text("Paris.", citations=[{"cited_text": "a"}]), RESULT, SEARCH, stop="tool_use"),
        *block(
            0,
            {"type": "thinking", "thinking": "", "signature": ""},
            piece("thinking", thinking="Hm, hm."),
            piece("signature", signature="EqQB"),
        ),
        *block(
            1,
            text("", citations=[]),
            piece("text", text="Paris."),
            piece("citations", citation={"cited_text": "a"}),
        ),
        *block(2, RESULT),
        *block(3, {**SEARCH, "input": {}}, piece("input_json", partial_json='{"q":"café","n":1.5}')),
    ),
    streamed(
        "messages_document_container",
        "What a stream says at its end stands at its end.",
        message(text("Paris."), stop="stop_sequence", stop_sequence="END", container={"id": "c"}),
        *block(0, text(""), piece("text", text="Paris.")),
        more={"container": {"id": "c"}},
        start_more={"container": None},
    ),
    StreamCase(
        name="messages_document_no_content",
        why="A document without content is no message.",
        api=API,
        document={"type": "error", "error": {"type": "overloaded_error"}},
        refused=NOT_UNDERSTOOD,
    ),
    StreamCase(
        name="messages_document_no_stop_reason",
        why="A message without a stop reason is not whole.",
        api=API,
        document=message(text("Paris."), stop=None),
        refused=INCOMPLETE,
    ),
]

CASES = [*GATHERED, *REFUSED, *STREAMED]
