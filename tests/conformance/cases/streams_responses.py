"""Responses: the terminal event has the document whole."""

from __future__ import annotations

from typing import Any

from conformance.cases.stream import INCOMPLETE, LOSSY, NOT_UNDERSTOOD, StreamCase, says, spelt, typed

API = "openai-responses"
USAGE = {"input_tokens": 9, "output_tokens": 3, "total_tokens": 12}
USED = (9, 3)
TEXT = {"type": "output_text", "text": "Paris.", "annotations": [{"type": "url_citation"}], "logprobs": []}
MESSAGE = {"id": "msg_1", "type": "message", "role": "assistant", "status": "completed", "content": [TEXT]}
REASONING = {"id": "rs_1", "type": "reasoning", "summary": [{"type": "summary_text", "text": "Hm."}]}
CALL = {
    "id": "fc_1",
    "type": "function_call",
    "status": "completed",
    "call_id": "call_1",
    "name": "search",
    "arguments": '{"q": 1}',
}
REFUSAL = {**MESSAGE, "content": [{"type": "refusal", "refusal": "I cannot."}]}


def response(*output: Any, **more: Any) -> dict[str, Any]:
    head = {"id": "resp_1", "object": "response", "created_at": 1, "status": "completed", "model": "gpt-4o"}
    return {**head, "error": None, "incomplete_details": None, "output": list(output), "usage": USAGE, **more}


def recorded(final: Any, *, kind: str = "completed", items: int | None = None) -> str:
    """A stream as short as may be: what is not in the terminal event does not count."""
    output = final["output"] if items is None else final["output"][:items]
    begun = {**final, "status": "in_progress", "output": [], "usage": None}
    return spelt(
        typed("response.created", response=begun, sequence_number=0),
        *(typed("response.output_item.done", output_index=at, item=item) for at, item in enumerate(output)),
        typed(f"response.{kind}", response=final, sequence_number=9),
    )


def gathered(
    name: str, why: str, final: Any, *reasons: str, kind: str = "completed", **more: Any
) -> StreamCase:
    told = says(*(reasons or ("completed",)), usage=USED, complete=True, **more)
    return StreamCase(
        name=name, why=why, api=API, stream=recorded(final, kind=kind), document=final, says=told
    )


ALL = response(REASONING, CALL, MESSAGE, metadata={"a": "1"}, temperature=1.0)
CUT = response(MESSAGE, status="incomplete", incomplete_details={"reason": "max_output_tokens"})
FAILED = response(status="failed", error={"code": "server_error", "message": "no"}, usage=None)


def numbered(*events: tuple[str, Any]) -> list[tuple[str, Any]]:
    return [(name, {**data, "sequence_number": number}) for number, (name, data) in enumerate(events)]


def begun(final: Any) -> dict[str, Any]:
    return {**final, "status": "in_progress", "output": [], "usage": None}


def message_events(at: int) -> list[tuple[str, Any]]:
    place = {"output_index": at, "item_id": "msg_1"}
    here = {**place, "content_index": 0}
    return [
        typed(
            "response.output_item.added",
            output_index=at,
            item={**MESSAGE, "status": "in_progress", "content": []},
        ),
        typed("response.content_part.added", **here, part={**TEXT, "text": "", "annotations": []}),
        typed("response.output_text.delta", **here, delta="Paris.", logprobs=[]),
        typed(
            "response.output_text.annotation.added",
            **here,
            annotation={"type": "url_citation"},
            annotation_index=0,
        ),
        typed("response.output_text.done", **here, text="Paris.", logprobs=[]),
        typed("response.content_part.done", **here, part=TEXT),
        typed("response.output_item.done", output_index=at, item=MESSAGE),
    ]


def reasoning_events(at: int) -> list[tuple[str, Any]]:
    here = {"output_index": at, "item_id": "rs_1", "summary_index": 0}
    part = {"type": "summary_text", "text": "Hm."}
    return [
        typed("response.output_item.added", output_index=at, item={**REASONING, "summary": []}),
        typed("response.reasoning_summary_part.added", **here, part={**part, "text": ""}),
        typed("response.reasoning_summary_text.delta", **here, delta="Hm."),
        typed("response.reasoning_summary_text.done", **here, text="Hm."),
        typed("response.reasoning_summary_part.done", **here, part=part),
        typed("response.output_item.done", output_index=at, item=REASONING),
    ]


def call_events(at: int) -> list[tuple[str, Any]]:
    place = {"output_index": at, "item_id": "fc_1"}
    return [
        typed(
            "response.output_item.added",
            output_index=at,
            item={**CALL, "status": "in_progress", "arguments": ""},
        ),
        typed("response.function_call_arguments.delta", **place, delta='{"q": 1}'),
        typed("response.function_call_arguments.done", **place, arguments='{"q": 1}', name="search"),
        typed("response.output_item.done", output_index=at, item=CALL),
    ]


def streamed(
    name: str, why: str, final: Any, *events: tuple[str, Any], kind: str = "completed"
) -> StreamCase:
    all_events = numbered(
        typed("response.created", response=begun(final)),
        typed("response.in_progress", response=begun(final)),
        *events,
        typed(f"response.{kind}", response=final),
    )
    return StreamCase(name=name, why=why, api=API, document=final, events=all_events)


SEARCHED = {"id": "ws_1", "type": "web_search_call", "status": "completed", "action": {"type": "search"}}

CASES = [
    gathered("responses_text", "The terminal event's response is the document.", response(MESSAGE)),
    gathered(
        "responses_everything",
        "Reasoning, calls and every other member are in it.",
        ALL,
        tool_calls=True,
    ),
    gathered("responses_refusal", "A refusal is a part of a message.", response(REFUSAL), refused=True),
    gathered(
        "responses_cut_by_the_limit",
        "An incomplete response is a document too, and says why it ended.",
        CUT,
        "max_output_tokens",
        kind="incomplete",
    ),
    StreamCase(
        name="responses_items_missing",
        why="A terminal event that has not every output item is not the whole document.",
        api=API,
        stream=spelt(
            typed("response.output_item.done", output_index=0, item=MESSAGE),
            typed("response.completed", response=response()),
        ),
        refused=LOSSY,
        says=says("completed", usage=USED, complete=True),
    ),
    StreamCase(
        name="responses_without_usage",
        why="A document always has its usage.",
        api=API,
        stream=recorded(response(MESSAGE, usage=None)),
        refused=LOSSY,
        says=says("completed", complete=True),
    ),
    StreamCase(
        name="responses_cut",
        why="Without its terminal event the stream did not come to its end.",
        api=API,
        stream=recorded(response(MESSAGE)).rpartition("event: response.completed")[0],
        refused=INCOMPLETE,
        says=says(),
    ),
    StreamCase(
        name="responses_failed",
        why="A response that failed is no answer.",
        api=API,
        stream=recorded(FAILED, kind="failed"),
        refused=INCOMPLETE,
        says=says("failed", failed=True),
    ),
    StreamCase(
        name="responses_error",
        why="Nor is an error in the stream.",
        api=API,
        stream=spelt(typed("error", code="server_error", message="no")),
        refused=INCOMPLETE,
        says=says(failed=True),
    ),
    streamed(
        "responses_document_everything",
        "Reasoning, calls and text become events; the terminal one has all of it.",
        ALL,
        *reasoning_events(0),
        *call_events(1),
        *message_events(2),
    ),
    streamed(
        "responses_document_refusal",
        "A refusal has events of its own.",
        response(REFUSAL),
        typed(
            "response.output_item.added",
            output_index=0,
            item={**REFUSAL, "status": "in_progress", "content": []},
        ),
        typed(
            "response.content_part.added",
            output_index=0,
            item_id="msg_1",
            content_index=0,
            part={"type": "refusal", "refusal": ""},
        ),
        typed("response.refusal.delta", output_index=0, item_id="msg_1", content_index=0, delta="I cannot."),
        typed("response.refusal.done", output_index=0, item_id="msg_1", content_index=0, refusal="I cannot."),
        typed(
            "response.content_part.done",
            output_index=0,
            item_id="msg_1",
            content_index=0,
            part={"type": "refusal", "refusal": "I cannot."},
        ),
        typed("response.output_item.done", output_index=0, item=REFUSAL),
    ),
    streamed(
        "responses_document_other_items",
        "An item of any other kind is whole at its start and at its end.",
        response(SEARCHED),
        typed("response.output_item.added", output_index=0, item={**SEARCHED, "status": "in_progress"}),
        typed("response.output_item.done", output_index=0, item=SEARCHED),
    ),
    StreamCase(
        name="responses_document_failed",
        why="A response that failed is not streamed.",
        api=API,
        document=FAILED,
        refused=INCOMPLETE,
    ),
    StreamCase(
        name="responses_document_no_output",
        why="A document without output is no response.",
        api=API,
        document={"status": "completed"},
        refused=NOT_UNDERSTOOD,
    ),
]
