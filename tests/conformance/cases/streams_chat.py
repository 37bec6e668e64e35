"""Chat completions: chunks and documents."""

from __future__ import annotations

from typing import Any

from conformance.cases.stream import DONE, INCOMPLETE, LOSSY, NOT_UNDERSTOOD, StreamCase, says, spelt

API = "openai-chat"
HEAD = {"id": "chatcmpl-1", "created": 1_700_000_000, "model": "gpt-4o", "system_fingerprint": "fp_1"}
CHUNK = {**HEAD, "object": "chat.completion.chunk"}
USAGE = {"prompt_tokens": 9, "completion_tokens": 3, "total_tokens": 12}
USED = (9, 3)
ROLE = {"role": "assistant", "content": "", "refusal": None}
TOKEN = {"token": "Hi", "logprob": -3.1281633e-07, "bytes": [72, 105], "top_logprobs": []}
SEARCH = {"id": "call_1", "type": "function", "function": {"name": "search", "arguments": '{"q": "café"}'}}


def chunk(delta: Any, finish: str | None = None, *, index: int = 0, logprobs: Any = None) -> dict[str, Any]:
    choice = {"index": index, "delta": delta, "logprobs": logprobs, "finish_reason": finish}
    return {**CHUNK, "choices": [choice], "usage": None}


LAST = {**CHUNK, "choices": [], "usage": USAGE}


def whole(*chunks: Any) -> str:
    return spelt(*chunks, LAST, DONE)


def choice(finish: str = "stop", *, index: int = 0, logprobs: Any = None, **message: Any) -> dict[str, Any]:
    said = {"role": "assistant", "content": None, "refusal": None, **message}
    return {"index": index, "message": said, "logprobs": logprobs, "finish_reason": finish}


def document(*choices: Any) -> dict[str, Any]:
    return {**HEAD, "object": "chat.completion", "choices": list(choices), "usage": USAGE}


def gathered(name: str, why: str, stream: str, *choices: Any, **more: Any) -> StreamCase:
    reasons = [one["finish_reason"] for one in choices]
    told = says(*reasons, usage=USED, complete=True, **more)
    return StreamCase(name=name, why=why, api=API, stream=stream, document=document(*choices), says=told)


def refused(name: str, why: str, stream: str, reason: str, told: Any) -> StreamCase:
    return StreamCase(name=name, why=why, api=API, stream=stream, refused=reason, says=told)


def call(index: int, **members: Any) -> dict[str, Any]:
    return {"tool_calls": [{"index": index, **members}]}


STOPPED = says("stop", usage=USED, complete=True)
TEXT = [chunk(ROLE), chunk({"content": "Pa"}), chunk({"content": "ris."}), chunk({}, "stop")]
PLAIN = whole(*TEXT)

GATHERED = [
    gathered("chat_text", "Pieces of text are joined.", PLAIN, choice(content="Paris.")),
    gathered(
        "chat_line_ends",
        "Lines may end in CR LF or CR, hold comments and other fields, and go without the space.",
        "\ufeff: hello\r\n\r\nid: 1\rretry: 5\r" + PLAIN.replace("\n", "\r\n").replace("data: ", "data:"),
        choice(content="Paris."),
    ),
    gathered(
        "chat_data_in_two_lines",
        "Data in several lines are one.",
        PLAIN.replace('data: {"id": "chatcmpl-1",', 'data: {"id": "chatcmpl-1",\ndata: '),
        choice(content="Paris."),
    ),
    gathered(
        "chat_no_blank_line_at_the_end",
        "The last event may lack its blank line.",
        PLAIN.removesuffix("\n\n"),
        choice(content="Paris."),
    ),
    gathered(
        "chat_surrogates_cut",
        "A character may be cut in the middle of its surrogate pair.",
        PLAIN.replace('"Pa"', '"\\ud83d"').replace('"ris."', '"\\ude00\\n"'),
        choice(content="\U0001f600\n"),
    ),
    gathered(
        "chat_obfuscated",
        "Padding against eavesdroppers is no part of the answer.",
        whole(*({**one, "obfuscation": "x7"} for one in TEXT)),
        choice(content="Paris."),
    ),
    gathered(
        "chat_reasoning",
        "Reasoning that some servers stream beside the content is kept.",
        whole(
            chunk(ROLE), chunk({"reasoning_content": "Let "}), chunk({"reasoning_content": "me."}), *TEXT[1:]
        ),
        choice(content="Paris.", reasoning_content="Let me."),
    ),
    gathered(
        "chat_tool_calls",
        "Two calls come in pieces, one among the other's; a message that only calls has no content.",
        whole(
            chunk({"role": "assistant", "content": None}),
            chunk(call(0, **{**SEARCH, "function": {"name": "search", "arguments": ""}})),
            chunk(call(1, id="call_2", type="function", function={"name": "now", "arguments": ""})),
            chunk(call(0, function={"arguments": '{"q": "ca'})),
            chunk(call(1, function={"arguments": "{}"})),
            chunk(call(0, function={"arguments": 'fé"}'})),
            chunk({}, "tool_calls"),
        ),
        choice(
            "tool_calls",
            tool_calls=[
                SEARCH,
                {"id": "call_2", "type": "function", "function": {"name": "now", "arguments": "{}"}},
            ],
        ),
        tool_calls=True,
    ),
    gathered(
        "chat_empty_content_before_a_call",
        "An empty content that begins a call is no content.",
        whole(chunk(ROLE), chunk(call(0, **SEARCH)), chunk({}, "tool_calls")),
        choice("tool_calls", tool_calls=[SEARCH]),
        tool_calls=True,
    ),
    gathered(
        "chat_custom_tool",
        "A custom tool has free text as its input.",
        whole(
            chunk(call(0, id="call_1", type="custom", custom={"name": "run", "input": "ls"})),
            chunk(call(0, custom={"input": " -l"})),
            chunk({}, "tool_calls"),
        ),
        choice(
            "tool_calls",
            tool_calls=[{"id": "call_1", "type": "custom", "custom": {"name": "run", "input": "ls -l"}}],
        ),
        tool_calls=True,
    ),
    gathered(
        "chat_function_call",
        "The older function call comes in pieces too.",
        whole(
            chunk({"role": "assistant", "function_call": {"name": "now", "arguments": ""}}),
            chunk({"function_call": {"arguments": "{}"}}),
            chunk({}, "function_call"),
        ),
        choice("function_call", function_call={"name": "now", "arguments": "{}"}),
        tool_calls=True,
    ),
    gathered(
        "chat_refusal",
        "A refusal comes in pieces and is no content.",
        whole(
            chunk({"role": "assistant", "content": None, "refusal": ""}),
            chunk({"refusal": "I can"}),
            chunk({"refusal": "not."}),
            chunk({}, "stop"),
        ),
        choice(refusal="I cannot."),
        refused=True,
    ),
    gathered(
        "chat_logprobs",
        "Log probabilities are joined and keep their numbers.",
        whole(
            chunk(ROLE, logprobs={"content": [], "refusal": None}),
            chunk({"content": "Hi"}, logprobs={"content": [TOKEN], "refusal": None}),
            chunk({"content": "Hi"}, logprobs={"content": [TOKEN], "refusal": None}),
            chunk({}, "stop"),
        ),
        choice(content="HiHi", logprobs={"content": [TOKEN, TOKEN], "refusal": None}),
    ),
    gathered(
        "chat_two_choices",
        "Choices come among one another, in any order.",
        whole(
            chunk({"content": "B"}, index=1),
            chunk({"content": "A"}),
            chunk({"content": "b"}, "stop", index=1),
            chunk({"content": "a"}, "stop"),
        ),
        choice(content="Aa"),
        choice(content="Bb", index=1),
    ),
    gathered(
        "chat_annotations",
        "Annotations are kept.",
        whole(*TEXT[:3], chunk({"annotations": [{"type": "url_citation"}]}), TEXT[3]),
        choice(content="Paris.", annotations=[{"type": "url_citation"}]),
    ),
]

REFUSED = [
    refused(
        "chat_without_usage",
        "A document always has its usage; a stream that was asked for none cannot become one.",
        spelt(*TEXT, DONE),
        LOSSY,
        says("stop", complete=True),
    ),
    refused(
        "chat_audio",
        "What is not known how to join is not joined.",
        whole(TEXT[0], chunk({"audio": {"id": "a", "data": "AA"}}), TEXT[3]),
        LOSSY,
        STOPPED,
    ),
    refused(
        "chat_unknown_member_of_a_chunk",
        "A member that only some server knows would be lost.",
        whole({**TEXT[0], "x_server": {"id": 1}}, *TEXT[1:]),
        LOSSY,
        STOPPED,
    ),
    refused(
        "chat_unknown_member_of_a_choice",
        "So would one of a choice.",
        whole(
            {**CHUNK, "choices": [{**TEXT[0]["choices"][0], "content_filter_results": {"a": 1}}]}, *TEXT[1:]
        ),
        LOSSY,
        STOPPED,
    ),
    refused(
        "chat_two_ids",
        "Chunks of two answers are not one.",
        whole({**TEXT[0], "id": "chatcmpl-2"}, *TEXT[1:]),
        LOSSY,
        STOPPED,
    ),
    refused(
        "chat_call_without_index",
        "A call without an index cannot be put together.",
        whole(chunk({"tool_calls": [SEARCH]}), chunk({}, "tool_calls")),
        LOSSY,
        says("tool_calls", usage=USED, complete=True, tool_calls=True),
    ),
    refused(
        "chat_cut",
        "A stream without [DONE] did not come to its end.",
        spelt(*TEXT, LAST),
        INCOMPLETE,
        says("stop", usage=USED),
    ),
    refused(
        "chat_cut_in_an_event",
        "Nor did one that ends in the middle of an event.",
        PLAIN[: PLAIN.index("ris.")],
        INCOMPLETE,
        says("null"),
    ),
    refused(
        "chat_no_finish_reason",
        "A choice without a finish reason did not come to its end.",
        whole(*TEXT[:3]),
        INCOMPLETE,
        says("null", usage=USED, complete=True),
    ),
    refused(
        "chat_one_choice_of_two_finished",
        "Every choice has to.",
        whole(chunk({"content": "A"}, "stop"), chunk({"content": "B"}, index=1)),
        INCOMPLETE,
        says("stop", "null", usage=USED, complete=True),
    ),
    refused(
        "chat_error_in_band",
        "An error in the stream makes it no answer, whatever follows.",
        spelt(TEXT[0], {"error": {"message": "overloaded"}}, DONE),
        INCOMPLETE,
        says("null", failed=True),
    ),
    refused(
        "chat_no_json",
        "An event that is no JSON is not understood.",
        spelt(TEXT[0], "{", DONE),
        NOT_UNDERSTOOD,
        says(),
    ),
]


def opening(content: str | None = "", index: int = 0) -> dict[str, Any]:
    return told({"role": "assistant", "content": content, "refusal": None}, index=index)


def told(delta: Any, finish: str | None = None, *, index: int = 0, logprobs: Any = None) -> dict[str, Any]:
    one = chunk(delta, finish, index=index, logprobs=logprobs)
    return {name: one[name] for name in one if name != "usage"}


def streamed(name: str, why: str, given: Any, *chunks: Any, include_usage: bool = False) -> StreamCase:
    events: list[Any] = [{**one, "usage": None} if include_usage else one for one in chunks]
    if include_usage:
        events.append({**CHUNK, "choices": [], "usage": given["usage"]})
    named = [("", event) for event in [*events, DONE]]
    return StreamCase(name=name, why=why, api=API, document=given, events=named, include_usage=include_usage)


PARIS = document(choice(content="Paris."))
STREAMED = [
    streamed(
        "chat_document_text",
        "A document becomes a stream that says the same.",
        PARIS,
        opening(),
        told({"content": "Paris."}),
        told({}, "stop"),
    ),
    streamed(
        "chat_document_with_usage",
        "With include_usage its last chunk has the usage.",
        PARIS,
        opening(),
        told({"content": "Paris."}),
        told({}, "stop"),
        include_usage=True,
    ),
    streamed(
        "chat_document_empty_members",
        "Members that are empty say nothing.",
        document(choice(content="Paris.", annotations=[], audio=None)),
        opening(),
        told({"content": "Paris."}),
        told({}, "stop"),
    ),
    streamed(
        "chat_document_everything",
        "Reasoning comes first, then content with its log probabilities, a refusal, annotations and calls.",
        document(
            choice(
                "tool_calls",
                content="Hi",
                reasoning_content="Hm.",
                refusal="No.",
                annotations=[{"type": "url_citation"}],
                tool_calls=[SEARCH],
                logprobs={"content": [TOKEN], "refusal": None},
            ),
            choice(index=1, content="Ho"),
        ),
        opening(),
        told({"reasoning_content": "Hm."}),
        told({"content": "Hi"}, logprobs={"content": [TOKEN], "refusal": None}),
        told({"refusal": "No."}),
        told({"annotations": [{"type": "url_citation"}]}),
        told({"tool_calls": [{"index": 0, **SEARCH}]}),
        told({}, "tool_calls"),
        opening(index=1),
        told({"content": "Ho"}, index=1),
        told({}, "stop", index=1),
        include_usage=True,
    ),
    StreamCase(
        name="chat_document_audio",
        why="What is not known how to stream is not streamed.",
        api=API,
        document=document(choice(audio={"id": "a", "data": "AA"})),
        refused=LOSSY,
    ),
    StreamCase(
        name="chat_document_without_usage",
        why="A stream that must have its usage is not made of a document that has none.",
        api=API,
        document={name: PARIS[name] for name in PARIS if name != "usage"},
        include_usage=True,
        refused=LOSSY,
    ),
    StreamCase(
        name="chat_document_unknown_member",
        why="A member that only some server knows would be lost.",
        api=API,
        document={**PARIS, "x_server": 1},
        refused=LOSSY,
    ),
    StreamCase(
        name="chat_document_no_choices",
        why="A document without choices is no chat completion.",
        api=API,
        document={"object": "list", "data": []},
        refused=NOT_UNDERSTOOD,
    ),
]

CASES = [*GATHERED, *REFUSED, *STREAMED]
