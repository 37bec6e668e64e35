"""Which requests may be looked up at all: every reason, with what sets it off and what does not."""

from __future__ import annotations

import json

import pytest

from askonce_server.core.descriptor import Facts
from askonce_server.core.eligibility import content_size
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Eligibility
from core.builders import (
    USER_HI,
    body,
    content,
    descriptor,
    digests,
    dumps,
    request,
    rule,
    said,
    why_bypassed,
)

ALL = rule(eligibility=Eligibility(sampled=True))
REMOTE_ALLOWED = rule(eligibility=Eligibility(remote_content=True))


def with_params(**params):
    return descriptor(content=content(params=params))


def raw_params(text):
    return descriptor(content=content(params=json.loads(text)))


def test_the_plain_request_is_looked_up():
    assert why_bypassed(descriptor()) is None


# Sampling


@pytest.mark.parametrize("temperature", ["0", "0.0", "-0", "-0.0", "0e5", "0.000"])
def test_temperature_zero_is_deterministic_however_it_is_spelt(temperature):
    wanted = descriptor(content=content(params={}))
    spelt = descriptor(
        content=type(wanted.content)(
            messages=dumps(USER_HI), params=b'{"temperature":%s}' % temperature.encode()
        )
    )
    assert why_bypassed(spelt) is None


@pytest.mark.parametrize(
    "params",
    [
        {},
        {"temperature": 1},
        {"temperature": 1e-9},
        {"temperature": False},
        {"temperature": True},
        {"temperature": "0"},
        {"temperature": ""},
        {"temperature": []},
        {"temperature": {}},
        {"temperature": None},
        {"seed": None},
        {"seed": "1"},
        {"seed": True},
        {"seed": []},
        {"top_p": 0},
        {"top_k": 1},
        {"temperature": None, "seed": None},
    ],
    ids=str,
)
def test_without_temperature_zero_or_a_seed_a_request_samples(params):
    assert why_bypassed(with_params(**params)) is BypassReason.SAMPLED_REQUEST
    assert why_bypassed(with_params(**params), ALL) is None


@pytest.mark.parametrize(
    "params", [{"seed": 0}, {"seed": 7}, {"seed": -1}, {"seed": 7, "temperature": 1.5}], ids=str
)
def test_a_seed_makes_a_request_deterministic(params):
    assert why_bypassed(with_params(**params)) is None


@pytest.mark.parametrize("endpoint", ["chat", "responses", "messages"])
def test_generating_endpoints_sample(endpoint):
    wanted = descriptor(endpoint=endpoint, content=content(params={}))
    assert why_bypassed(wanted) is BypassReason.SAMPLED_REQUEST


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank", "moderations"])
def test_other_endpoints_do_not_sample(endpoint):
    assert why_bypassed(descriptor(endpoint=endpoint, stream=None, content=content(params={}))) is None


@pytest.mark.parametrize(
    "params",
    [{"temperature": 0.7}, {"temperature": 1}, {"top_p": 0.9}, {"min_p": 0.1}, {"temperature": "0"}],
    ids=str,
)
def test_an_endpoint_that_is_not_known_samples_where_the_request_says_so(params):
    wanted = descriptor(endpoint="completions", stream=None, content=content(params=params))
    assert why_bypassed(wanted) is BypassReason.SAMPLED_REQUEST
    assert why_bypassed(wanted, ALL) is None
    steady = descriptor(endpoint="completions", stream=None, content=content(params={**params, "seed": 7}))
    assert why_bypassed(steady) is None


@pytest.mark.parametrize("params", [{}, {"temperature": 0}, {"top_k": 5}, {"temperature": None}], ids=str)
def test_an_endpoint_that_is_not_known_counts_as_deterministic_otherwise(params):
    wanted = descriptor(endpoint="completions", stream=None, content=content(params=params))
    assert why_bypassed(wanted) is None


@pytest.mark.parametrize("endpoint", ["embeddings", "rerank", "moderations", "classify"])
def test_an_endpoint_that_computes_does_not_sample_whatever_its_params_are_called(endpoint):
    wanted = descriptor(endpoint=endpoint, stream=None, content=content(params={"temperature": 0.7}))
    assert why_bypassed(wanted) is None


@pytest.mark.parametrize(
    ("endpoint", "samples"), [("chat", True), ("completions", True), ("embeddings", False)]
)
def test_digests_sample_where_their_fact_says_so(endpoint, samples):
    facts = Facts(sampling=True, remote_content=False, stateful=False, personalized=False)
    wanted = descriptor(endpoint=endpoint, content=digests(facts=facts))
    assert why_bypassed(wanted) is (BypassReason.SAMPLED_REQUEST if samples else None)


# Remote content

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


# Provider state


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


# Who asks


def test_a_personalized_request_needs_the_user_in_the_scope():
    wanted = descriptor(personalized=True, scope={"tenant": "acme", "user": "ada"})
    assert why_bypassed(wanted) is BypassReason.PERSONALIZED
    assert why_bypassed(wanted, rule(scope=("tenant", "user"))) is None


@pytest.mark.parametrize("scope", [{"tenant": "acme"}, {"tenant": "acme", "user": ""}], ids=str)
def test_a_missing_scope_is_named_before_anything_that_hangs_on_it(scope):
    wanted = descriptor(personalized=True, scope=scope)
    assert why_bypassed(wanted, rule(scope=("tenant", "user"))) is BypassReason.SCOPE_MISSING
    assert why_bypassed(wanted, rule(scope=("tenant",))) is BypassReason.PERSONALIZED


# Size, time, params


def test_a_request_above_the_rules_size_is_too_large():
    wanted = descriptor(content=content())
    size = content_size(wanted)
    assert size == len(wanted.content.messages) + len(wanted.content.params)
    assert why_bypassed(wanted, rule(eligibility=Eligibility(max_content=size))) is None
    assert why_bypassed(wanted, rule(eligibility=Eligibility(max_content=size - 1))) is BypassReason.TOO_LARGE
    whole = body("openai", "chat", {"messages": USER_HI, "temperature": 0})
    assert content_size(whole) == len(whole.content)


TODAY = rule(eligibility=Eligibility(time_sensitive=("today", "strasse", "c++")))


@pytest.mark.parametrize(
    "text", ["news today", "TODAY!", "is it today?", "Today's", "Straße", "about C++ now"]
)
def test_a_word_that_the_rule_calls_time_sensitive(text):
    assert why_bypassed(said(text), TODAY) is BypassReason.TIME_SENSITIVE
    assert why_bypassed(said(text)) is None


@pytest.mark.parametrize("text", ["todays", "pretoday", "yesterday", "c+", "todaything"])
def test_a_word_inside_another_is_not_meant(text):
    assert why_bypassed(said(text), TODAY) is None


def test_time_sensitive_words_count_where_a_user_says_them():
    system = [{"role": "system", "content": "today is Monday"}, *USER_HI]
    assert why_bypassed(request(system), TODAY) is None
    part = [{"role": "user", "content": [{"type": "text", "text": "today"}]}]
    assert why_bypassed(request(part), TODAY) is BypassReason.TIME_SENSITIVE
    for given in ("today", ["a", "today"]):
        wanted = body("openai", "embeddings", {"model": "m", "input": given})
        assert why_bypassed(wanted, TODAY) is BypassReason.TIME_SENSITIVE
    wanted = body("openai", "responses", {"model": "m", "input": "today", "temperature": 0})
    assert why_bypassed(wanted, TODAY) is BypassReason.TIME_SENSITIVE


CLASS = rule(params_class=True)


def test_the_class_of_params_is_closed():
    known = {"temperature": 0, "top_p": 1, "max_tokens": 5, "n": 1, "seed": 1, "tool_choice": "auto"}
    assert why_bypassed(with_params(**known), CLASS) is None
    for name in ("top_k", "stop", "user", "num_ctx", "messages"):
        wanted = with_params(temperature=0, **{name: 1})
        assert why_bypassed(wanted, CLASS) is BypassReason.UNMODELLED_PARAM
        assert why_bypassed(wanted, rule(params_class=True, ignore_params=(name,))) is None
    assert why_bypassed(with_params(temperature=0, user=None), CLASS) is None
    assert why_bypassed(with_params(temperature=0, metadata={"a": "b"}), CLASS) is None


def test_the_class_knows_one_stream_option():
    usage = with_params(temperature=0, stream_options={"include_usage": True})
    other = with_params(temperature=0, stream_options={"include_usage": True, "other": 1})
    assert why_bypassed(usage, CLASS) is None
    assert why_bypassed(other, CLASS) is BypassReason.UNMODELLED_PARAM
    assert why_bypassed(other, rule(params_class=True, stream_shared=True)) is None


# Digests: the facts speak, and silence is the worst case


@pytest.mark.parametrize(
    ("fact", "reason"),
    [
        ("sampling", BypassReason.SAMPLED_REQUEST),
        ("remote_content", BypassReason.REMOTE_CONTENT),
        ("stateful", BypassReason.STATEFUL_REQUEST),
        ("personalized", BypassReason.PERSONALIZED),
    ],
)
def test_each_fact_of_digests_speaks_for_the_content(fact, reason):
    none = {"sampling": False, "remote_content": False, "stateful": False, "personalized": False}
    assert why_bypassed(descriptor(content=digests(facts=Facts(**none)))) is None
    assert why_bypassed(descriptor(content=digests(facts=Facts(**{**none, fact: True})))) is reason


def test_digests_without_facts_count_as_the_worst():
    assert why_bypassed(descriptor(content=digests(facts=Facts()))) is BypassReason.PERSONALIZED


def test_rules_that_allow_more_allow_it_to_digests_too():
    sampling = Facts(sampling=True, remote_content=False, stateful=False, personalized=False)
    assert why_bypassed(descriptor(content=digests(facts=sampling)), ALL) is None
    assert why_bypassed(descriptor(endpoint="embeddings", content=digests(facts=sampling))) is None
    remote = Facts(sampling=False, remote_content=True, stateful=False, personalized=False)
    assert why_bypassed(descriptor(content=digests(facts=remote)), REMOTE_ALLOWED) is None
    personal = Facts(sampling=False, remote_content=False, stateful=False, personalized=True)
    wanted = descriptor(content=digests(facts=personal), scope={"tenant": "acme", "user": "ada"})
    assert why_bypassed(wanted, rule(scope=("user",))) is None


@pytest.mark.parametrize(
    "under",
    [rule(params_class=True), rule(ignore_params=("user",)), rule(stream_shared=True)],
    ids=["class", "ignore", "shared"],
)
def test_a_rule_that_needs_to_look_into_the_params_cannot_take_digests(under):
    assert why_bypassed(descriptor(content=digests()), under) is BypassReason.UNREPRESENTABLE_CONTENT


def test_digests_may_be_time_sensitive():
    assert why_bypassed(descriptor(content=digests()), TODAY) is BypassReason.TIME_SENSITIVE
