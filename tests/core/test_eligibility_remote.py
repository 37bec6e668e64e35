"""Content that lies elsewhere, and may change without the key: what counts as such, and what does not."""

from __future__ import annotations

import json

import pytest

from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Eligibility
from core.builders import (
    USER_HI,
    body,
    content,
    descriptor,
    request,
    rule,
    why_bypassed,
)

REMOTE_ALLOWED = rule(eligibility=Eligibility(remote_content=True))


URL, DATA = "https://example.com/a.png", "data:image/png;base64,AAAA"
REMOTE_PARTS = {
    "image by URL": {"type": "image_url", "image_url": {"url": URL}},
    "image by URL as a string": {"type": "image_url", "image_url": URL},
    "image by URL over http": {"type": "image_url", "image_url": {"url": "http://example.com/a"}},
    "image in a bucket": {"type": "image_url", "image_url": {"url": "gs://bucket/a"}},
    "image by URL without scheme": {"type": "image_url", "image_url": {"url": "//example.com/a"}},
    "input image by URL": {"type": "input_image", "image_url": URL},
    "input image by file": {"type": "input_image", "file_id": "file-1"},
    "input file by id": {"type": "input_file", "file_id": "file-1"},
    "input file by URL": {"type": "input_file", "file_url": URL},
    "file by id": {"type": "file", "file": {"file_id": "file-1"}},
    "video by URL": {"type": "video_url", "video_url": {"url": URL}},
    "document by URL": {"type": "document_url", "document_url": URL},
    "anthropic image by URL": {"type": "image", "source": {"type": "url", "url": URL}},
    "anthropic document by URL": {"type": "document", "source": {"type": "url", "url": URL}},
    "anthropic file": {"type": "document", "source": {"type": "file", "file_id": "file_1"}},
    "anthropic container upload": {"type": "container_upload", "file_id": "file_1"},
    "nested in a tool result": {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "image", "source": {"type": "url", "url": URL}}],
    },
    "nested in a document": {
        "type": "document",
        "source": {"type": "content", "content": [{"type": "image", "source": {"type": "url", "url": URL}}]},
    },
    "gemini file data": {"fileData": {"mimeType": "image/png", "fileUri": "gs://bucket/a"}},
    "gemini file data, snake case": {"file_data": {"file_uri": URL}},
    "gemini file data in a function response": {
        "functionResponse": {"name": "f", "response": {}, "parts": [{"fileData": {"fileUri": URL}}]}
    },
    "bedrock location": {"image": {"format": "png", "source": {"s3Location": {"uri": "s3://bucket/a"}}}},
    "several URLs": {"type": "images", "image_urls": [DATA, URL]},
    "upper case ending": {"type": "image", "imageURL": URL},
    "file ids": {"type": "attachments", "file_ids": ["file-1"]},
    "image under its own name": {"type": "image", "image": URL},
    "image without scheme under its own name": {"image": "//example.com/a.png"},
    "image in a bucket as source": {"type": "image", "source": "gs://bucket/a"},
    "frames of a video": {"type": "video", "video": [DATA, URL]},
}
LOCAL_PARTS = {
    "text": {"type": "text", "text": "see https://example.com/a.png"},
    "input text": {"type": "input_text", "text": "file_id https://example.com"},
    "inline image": {"type": "image_url", "image_url": {"url": DATA, "detail": "high"}},
    "inline image as a string": {"type": "image_url", "image_url": DATA},
    "inline input image": {"type": "input_image", "image_url": DATA, "file_id": None},
    "inline file": {"type": "input_file", "filename": "a.pdf", "file_data": "data:application/pdf;base64,AA"},
    "inline chat file": {"type": "file", "file": {"filename": "a.pdf", "file_data": DATA}},
    "inline audio": {"type": "input_audio", "input_audio": {"data": "AAAA", "format": "wav"}},
    "anthropic base64": {
        "type": "image",
        "source": {"type": "base64", "media_type": "image/png", "data": "AA"},
    },
    "anthropic text document": {
        "type": "document",
        "source": {"type": "text", "data": "a", "media_type": "t"},
    },
    "gemini inline data": {"inlineData": {"mimeType": "image/png", "data": "AA"}},
    "tool use": {
        "type": "tool_use",
        "id": "t",
        "name": "fetch",
        "input": {"url": URL, "image_url": {"url": URL}},
    },
    "text tool result": {
        "type": "tool_result",
        "tool_use_id": "t",
        "content": [{"type": "text", "text": URL}],
    },
    "string tool result": {"type": "tool_result", "tool_use_id": "t", "content": URL},
    "gemini call": {"functionCall": {"name": "fetch", "args": {"url": URL}}},
    "gemini response": {"functionResponse": {"name": "fetch", "response": {"url": URL}}},
    "search result": {"type": "search_result", "source": URL, "title": "t", "content": []},
    "cited text": {
        "type": "text",
        "text": "a",
        "citations": [{"type": "web_search_result_location", "url": URL}],
    },
    "no file ids": {"type": "attachments", "file_ids": []},
    "inline image under its own name": {"type": "image", "image": "iVBORw0KGgo//8="},
    "inline audio under its own name": {"type": "audio", "audio": "//uQxAAA/8="},
    "inline frames of a video": {"type": "video", "video": ["AAAA", DATA]},
    "empty URL": {"type": "image_url", "image_url": {"url": ""}},
}


@pytest.mark.parametrize("part", REMOTE_PARTS.values(), ids=REMOTE_PARTS)
@pytest.mark.parametrize("role", ["user", "assistant", "system", "tool"])
def test_content_elsewhere_can_change_without_the_key(part, role):
    wanted = request([{"role": role, "content": [{"type": "text", "text": "see"}, part]}])
    assert why_bypassed(wanted) is BypassReason.REMOTE_CONTENT
    assert why_bypassed(wanted, REMOTE_ALLOWED) is None


@pytest.mark.parametrize("part", LOCAL_PARTS.values(), ids=LOCAL_PARTS)
def test_content_that_is_all_there_is_no_remote_content(part):
    assert why_bypassed(request([{"role": "user", "content": [part]}])) is None


@pytest.mark.parametrize("part", REMOTE_PARTS.values(), ids=REMOTE_PARTS)
def test_remote_content_in_gemini_turns(part):
    wanted = descriptor(
        dialect="gemini", content=content([{"role": "user", "parts": [part]}], params={"temperature": 0})
    )
    assert why_bypassed(wanted) is BypassReason.REMOTE_CONTENT


def test_remote_content_in_a_system_prompt():
    system = [{"type": "image", "source": {"type": "url", "url": URL}}]
    assert why_bypassed(descriptor(content=content(system=system))) is BypassReason.REMOTE_CONTENT


@pytest.mark.parametrize(
    "item",
    [
        {"role": "user", "content": [{"type": "input_image", "image_url": URL}]},
        {"type": "message", "role": "user", "content": [{"type": "input_file", "file_id": "file-1"}]},
        {
            "type": "function_call_output",
            "call_id": "c",
            "output": [{"type": "input_image", "image_url": URL}],
        },
        {
            "type": "custom_tool_call_output",
            "call_id": "c",
            "output": [{"type": "input_file", "file_id": "f"}],
        },
        {
            "type": "computer_call_output",
            "call_id": "c",
            "output": {"type": "computer_screenshot", "image_url": URL},
        },
    ],
    ids=lambda item: item.get("type", "turn"),
)
def test_remote_content_among_the_items_of_a_response(item):
    wanted = body("openai", "responses", {"model": "m", "input": [item], "temperature": 0})
    assert why_bypassed(wanted) is BypassReason.REMOTE_CONTENT


@pytest.mark.parametrize(
    "item",
    [
        {"type": "function_call", "call_id": "c", "name": "fetch", "arguments": json.dumps({"url": URL})},
        {"type": "function_call_output", "call_id": "c", "output": json.dumps({"url": URL})},
        {"type": "function_call_output", "call_id": "c", "output": [{"type": "input_text", "text": URL}]},
        {"type": "custom_tool_call", "call_id": "c", "name": "f", "input": URL},
        {"type": "reasoning", "id": "rs_1", "summary": [], "encrypted_content": "x"},
    ],
    ids=lambda item: item["type"],
)
def test_items_of_a_response_that_say_everything(item):
    wanted = body("openai", "responses", {"model": "m", "input": [item], "temperature": 0})
    assert why_bypassed(wanted) is None


def test_tool_calls_and_their_arguments_are_no_remote_content():
    call = {"id": "c", "type": "function", "function": {"name": "fetch", "arguments": {"url": URL}}}
    turns = [{"role": "assistant", "content": None, "tool_calls": [call]}, {"role": "tool", "content": URL}]
    assert why_bypassed(request([*USER_HI, *turns])) is None


def test_an_earlier_audio_answer_is_referred_to_by_id():
    wanted = request([*USER_HI, {"role": "assistant", "audio": {"id": "audio_1"}}])
    assert why_bypassed(wanted) is BypassReason.REMOTE_CONTENT


@pytest.mark.parametrize(
    "tool",
    [
        {"type": "function", "function": {"name": "f", "parameters": {"default_url": URL}}},
        {
            "name": "f",
            "input_schema": {"properties": {"url": {"type": "string", "examples": [URL]}}, "url": URL},
        },
        {"functionDeclarations": [{"name": "f", "parametersJsonSchema": {"$url": "x", "url": URL}}]},
    ],
    ids=["openai", "anthropic", "gemini"],
)
def test_a_tool_schema_that_speaks_of_urls_is_no_remote_content(tool):
    assert why_bypassed(descriptor(content=content(tools=[tool]))) is None


def test_a_tool_that_points_at_a_file_is_remote_content():
    tool = {"type": "function", "function": {"name": "f"}, "spec_url": URL}
    assert why_bypassed(descriptor(content=content(tools=[tool]))) is BypassReason.REMOTE_CONTENT
