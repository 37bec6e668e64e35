"""State that the provider keeps, and tools that it runs: the request does not say what they see."""

from __future__ import annotations

import pytest

from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Eligibility
from core.builders import (
    USER_HI,
    body,
    content,
    descriptor,
    rule,
    why_bypassed,
    with_params,
)

ALL = rule(eligibility=Eligibility(sampled=True))


@pytest.mark.parametrize(
    "params",
    [
        {"previous_response_id": "resp_1"},
        {"conversation": "conv_1"},
        {"conversation": {"id": "conv_1"}},
        {"prompt": {"id": "pmpt_1"}},
        {"background": True},
        {"store": True},
        {"container": "container_1"},
        {"container": {"skills": []}},
        {"mcp_servers": [{"type": "url", "url": "https://mcp.example.com"}]},
        {"web_search_options": {}},
        {"search_parameters": {"mode": "auto"}},
        {"data_sources": [{"type": "azure_search"}]},
        {"plugins": [{"id": "web"}]},
        {"enable_search": True},
    ],
    ids=str,
)
def test_what_the_provider_keeps_is_not_in_the_key(params):
    assert why_bypassed(with_params(temperature=0, **params)) is BypassReason.STATEFUL_REQUEST
    assert why_bypassed(with_params(temperature=0, **params), ALL) is BypassReason.STATEFUL_REQUEST


@pytest.mark.parametrize(
    "params",
    [
        {"previous_response_id": None},
        {"conversation": None},
        {"prompt": "a text"},
        {"prompt": {"text": "a"}},
        {"background": False},
        {"store": False},
        {"mcp_servers": []},
        {"enable_search": False},
        {"web_search_options": None},
        {"metadata": {"previous_response_id": "x"}},
    ],
    ids=str,
)
def test_params_that_ask_for_no_state(params):
    assert why_bypassed(with_params(temperature=0, **params)) is None


HOSTED = {
    "web search": {"type": "web_search"},
    "dated web search": {"type": "web_search_preview_2025_03_11"},
    "file search": {"type": "file_search", "vector_store_ids": ["vs_1"]},
    "code interpreter": {"type": "code_interpreter", "container": {"type": "auto"}},
    "image generation": {"type": "image_generation"},
    "mcp": {"type": "mcp", "server_label": "x", "server_url": "https://mcp.example.com"},
    "anthropic web search": {"type": "web_search_20250305", "name": "web_search"},
    "anthropic code execution": {"type": "code_execution_20250522", "name": "code_execution"},
    "anthropic web fetch": {"type": "web_fetch_20250910", "name": "web_fetch"},
    "type that is no string": {"type": 7, "name": "f"},
    "gemini search": {"googleSearch": {}},
    "gemini search, snake case": {"google_search": {}},
    "gemini retrieval": {"google_search_retrieval": {}},
    "gemini code": {"codeExecution": {}},
    "gemini url context": {"urlContext": {}},
    "gemini maps": {"googleMaps": {}},
    "gemini search beside functions": {"functionDeclarations": [{"name": "f"}], "googleSearch": {}},
    "bedrock system tool": {"systemTool": {"name": "nova_grounding"}},
    "no shape at all": {},
    "name alone": "web_search",
}
CLIENT_SIDE = {
    "function": {"type": "function", "function": {"name": "f"}},
    "flat function": {"type": "function", "name": "f", "parameters": {}},
    "custom": {"type": "custom", "name": "f"},
    "anthropic without type": {"name": "f", "input_schema": {"type": "object"}},
    "anthropic custom": {"type": "custom", "name": "f", "input_schema": {}},
    "bash": {"type": "bash_20250124", "name": "bash"},
    "text editor": {"type": "text_editor_20250429", "name": "str_replace_editor"},
    "computer": {"type": "computer_20250124", "name": "computer"},
    "memory": {"type": "memory_20250818", "name": "memory"},
    "local shell": {"type": "local_shell"},
    "apply patch": {"type": "apply_patch"},
    "computer use": {"type": "computer_use_preview"},
    "gemini functions": {"functionDeclarations": [{"name": "f"}]},
    "gemini functions, snake case": {"function_declarations": [{"name": "f"}]},
    "bedrock": {"toolSpec": {"name": "f"}},
    "bedrock cache point": {"cachePoint": {"type": "default"}},
    "cohere": {"name": "f", "parameter_definitions": {}},
}


@pytest.mark.parametrize("tool", HOSTED.values(), ids=HOSTED)
def test_tools_that_run_at_the_provider_see_what_the_request_does_not_say(tool):
    wanted = descriptor(content=content(tools=[CLIENT_SIDE["function"], tool]))
    assert why_bypassed(wanted) is BypassReason.STATEFUL_REQUEST


def test_tools_of_an_unknown_shape_may_run_at_the_provider():
    wanted = descriptor(content=content(tools={"toolConfig": "auto"}))
    assert why_bypassed(wanted) is BypassReason.STATEFUL_REQUEST


@pytest.mark.parametrize("tool", CLIENT_SIDE.values(), ids=CLIENT_SIDE)
def test_tools_that_the_caller_runs_are_part_of_the_request(tool):
    assert why_bypassed(descriptor(content=content(tools=[tool]))) is None


@pytest.mark.parametrize(
    "item",
    [
        {"type": "item_reference", "id": "msg_1"},
        {"id": "msg_1"},
        {"type": None, "id": "msg_1"},
        {"type": "image_generation_call", "id": "ig_1"},
    ],
    ids=str,
)
def test_an_item_by_reference_is_kept_by_the_provider(item):
    wanted = body("openai", "responses", {"model": "m", "input": [*USER_HI, item], "temperature": 0})
    assert why_bypassed(wanted) is BypassReason.STATEFUL_REQUEST


def test_a_turn_with_an_id_is_no_reference():
    wanted = body(
        "openai", "responses", {"model": "m", "input": [{**USER_HI[0], "id": "a"}], "temperature": 0}
    )
    assert why_bypassed(wanted) is None
