"""The official Python SDKs through the gateways: a second identical call is a hit, its object equal."""

from __future__ import annotations

import json

import anthropic
import openai
import pytest
from pydantic import BaseModel

pytestmark = pytest.mark.filterwarnings("default")  # what the SDKs deprecate is theirs

WEATHER = {
    "type": "object",
    "properties": {"city": {"type": "string"}},
    "required": ["city"],
    "additionalProperties": False,
}
FUNCTION = {"name": "weather", "description": "Tells the weather.", "parameters": WEATHER}
TOOL = {"type": "function", "function": FUNCTION}


class Place(BaseModel):
    city: str
    number: int


def both(asks):
    """Ask one way, then the other.

    A gateway stores an answer once its last byte has gone out, and the caller may be back before that. One
    who asks the same waits for it, and so the other way is asked only when it is stored.
    """
    first, second = asks
    found = first()
    assert first() == found, "asked again, it is another answer"
    return found, second()


@pytest.fixture
def gpt(gateway):
    with openai.OpenAI(base_url=f"{gateway.url}/v1", api_key="sk-acme", max_retries=0) as client:
        yield client


@pytest.fixture
def claude(gateway):
    with anthropic.Anthropic(base_url=gateway.url, api_key="sk-acme", max_retries=0) as client:
        yield client


def same_twice(gateway, ask):
    """Ask twice; the provider is asked once, and both answers are equal. Returns the answer."""
    first, second = both([ask, ask])
    assert first == second, "".join(gateway.log)
    assert len(gateway.calls) == 1, [call["body"] for call in gateway.calls]
    return first


def dumped(stream):
    return [event.model_dump() for event in stream]


# --- OpenAI: chat ---------------------------------------------------------------------------------------


def test_chat(gateway, gpt, text):
    def ask():
        messages = [{"role": "user", "content": text}]
        return gpt.chat.completions.create(model="smart", messages=messages).model_dump()

    answer = same_twice(gateway, ask)
    assert answer["choices"][0]["message"]["content"] == f"Answer 1 to: {text}"
    assert answer["usage"]["total_tokens"] == 13


def test_chat_of_a_reasoning_model(gateway, gpt, text):
    def ask():
        messages = [{"role": "user", "content": text}]
        return gpt.chat.completions.create(
            model="reasoning", messages=messages, reasoning_effort="low"
        ).model_dump()

    answer = same_twice(gateway, ask)
    assert answer["choices"][0]["message"]["reasoning_content"] == "Let me think about it."


@pytest.mark.parametrize("usage", [True, False], ids=["with_usage", "without_usage"])
def test_chat_streamed(gateway, gpt, text, usage):
    options = {"stream_options": {"include_usage": True}} if usage else {}

    def ask():
        messages = [{"role": "user", "content": text}]
        return dumped(gpt.chat.completions.create(model="smart", messages=messages, stream=True, **options))

    chunks = same_twice(gateway, ask)
    words = [chunk["choices"][0]["delta"]["content"] or "" for chunk in chunks if chunk["choices"]]
    assert "".join(words) == f"Answer 1 to: {text}"
    assert (chunks[-1]["usage"] is not None) is usage


def test_chat_with_tools(gateway, gpt, text):
    gateway.provider.behave(tool_call=True)

    def ask():
        messages = [{"role": "user", "content": text}]
        return gpt.chat.completions.create(model="smart", messages=messages, tools=[TOOL]).model_dump()

    (call,) = same_twice(gateway, ask)["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


def test_chat_with_tools_streamed_through_the_sdks_accumulator(gateway, gpt, text):
    gateway.provider.behave(tool_call=True)

    def ask():
        messages = [{"role": "user", "content": text}]
        with gpt.chat.completions.stream(model="smart", messages=messages, tools=[TOOL]) as stream:
            stream.until_done()
            return stream.get_final_completion().model_dump()

    (call,) = same_twice(gateway, ask)["choices"][0]["message"]["tool_calls"]
    assert json.loads(call["function"]["arguments"]) == {"city": "Paris"}


def test_chat_with_structured_output(gateway, gpt, text):
    def ask():
        messages = [{"role": "user", "content": text}]
        return gpt.chat.completions.parse(
            model="smart", messages=messages, response_format=Place
        ).model_dump()

    assert same_twice(gateway, ask)["choices"][0]["message"]["parsed"] == {"city": "Paris", "number": 1}


# --- OpenAI: responses and embeddings -------------------------------------------------------------------


def test_responses(gateway, gpt, text):
    answer = same_twice(
        gateway, lambda: gpt.responses.create(model="smart", input=text, store=False).model_dump()
    )
    assert answer["output"][1]["content"][0]["text"] == f"Answer 1 to: {text}"


def test_responses_streamed(gateway, gpt, text):
    events = same_twice(
        gateway, lambda: dumped(gpt.responses.create(model="smart", input=text, store=False, stream=True))
    )
    assert events[-1]["type"] == "response.completed"
    assert events[-1]["response"]["output"][1]["content"][0]["text"] == f"Answer 1 to: {text}"


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_responses_with_tools(gateway, gpt, text, stream):
    gateway.provider.behave(tool_call=True)
    tool = {"type": "function", "strict": True, **FUNCTION}

    def ask():
        given = {"model": "smart", "input": text, "tools": [tool], "store": False}
        if not stream:
            return gpt.responses.create(**given).model_dump()
        with gpt.responses.stream(**given) as events:
            return events.get_final_response().model_dump()

    (call,) = same_twice(gateway, ask)["output"]
    assert json.loads(call["arguments"]) == {"city": "Paris"}


def test_responses_with_structured_output(gateway, gpt, text):
    def ask():
        return gpt.responses.parse(model="smart", input=text, store=False, text_format=Place)

    assert same_twice(gateway, lambda: ask().model_dump()) == ask().model_dump()
    assert ask().output_parsed == Place(city="Paris", number=1)


@pytest.mark.parametrize("options", [{}, {"encoding_format": "float"}], ids=["default", "float"])
def test_embeddings(gateway, gpt, text, options):
    def ask():
        return gpt.embeddings.create(model="embed", input=[text, "other"], **options).model_dump()

    assert [len(row["embedding"]) for row in same_twice(gateway, ask)["data"]] == [4, 4]


# --- Anthropic ------------------------------------------------------------------------------------------


def test_messages(gateway, claude, text):
    def ask():
        messages = [{"role": "user", "content": text}]
        return claude.messages.create(model="claude", max_tokens=99, messages=messages).model_dump()

    assert same_twice(gateway, ask)["content"][0]["text"] == f"Answer 1 to: {text}"


@pytest.mark.parametrize("thinking", [False, True], ids=["plain", "thinking"])
def test_messages_streamed(gateway, claude, text, thinking):
    options = {"thinking": {"type": "enabled", "budget_tokens": 1024}} if thinking else {}

    def ask():
        messages = [{"role": "user", "content": text}]
        with claude.messages.stream(model="claude", max_tokens=2048, messages=messages, **options) as stream:
            events = dumped(stream)
            return events, stream.get_final_message().model_dump()

    _, message = same_twice(gateway, ask)
    assert message["content"][-1]["text"] == f"Answer 1 to: {text}"
    assert (message["content"][0]["type"] == "thinking") is thinking


@pytest.mark.parametrize("stream", [False, True], ids=["document", "stream"])
def test_messages_with_tools(gateway, claude, text, stream):
    gateway.provider.behave(tool_call=True)
    tool = {"name": "weather", "description": "Tells the weather.", "input_schema": WEATHER}

    def ask():
        given = {"model": "claude", "max_tokens": 99, "messages": [{"role": "user", "content": text}]}
        if not stream:
            return claude.messages.create(**given, tools=[tool]).model_dump()
        with claude.messages.stream(**given, tools=[tool]) as events:
            return events.get_final_message().model_dump()

    (block,) = same_twice(gateway, ask)["content"]
    assert block["input"] == {"city": "Paris"}


# --- Streams and documents under a rule that shares them ------------------------------------------------


def accumulated(client, text):
    messages = [{"role": "user", "content": text}]
    usage = {"include_usage": True}
    with client.chat.completions.stream(model="smart", messages=messages, stream_options=usage) as stream:
        stream.until_done()
        completion = stream.get_final_completion().model_dump(exclude_unset=True)
    for choice in completion["choices"]:  # what the SDK adds of its own
        choice["message"].pop("parsed", None)
    return completion


@pytest.mark.parametrize("stream_first", [True, False], ids=["stream_first", "document_first"])
def test_a_chat_is_one_entry_streamed_or_not(shared, text, stream_first):
    with openai.OpenAI(base_url=f"{shared.url}/v1", api_key="sk-acme", max_retries=0) as client:

        def whole():
            messages = [{"role": "user", "content": text}]
            return client.chat.completions.create(model="smart", messages=messages).model_dump(
                exclude_unset=True
            )

        asks = [lambda: accumulated(client, text), whole]
        first, second = both(asks if stream_first else asks[::-1])
    assert len(shared.calls) == 1
    assert first["choices"][0]["message"]["content"] == second["choices"][0]["message"]["content"]
    assert first["usage"] == second["usage"]
    assert first["id"] == second["id"]


@pytest.mark.parametrize("stream_first", [True, False], ids=["stream_first", "document_first"])
@pytest.mark.parametrize("tool_call", [False, True], ids=["text", "tool"])
def test_a_message_is_one_entry_streamed_or_not(shared, text, stream_first, tool_call):
    shared.provider.behave(tool_call=tool_call)
    tool = {"name": "weather", "description": "Tells the weather.", "input_schema": WEATHER}
    given = {
        "model": "claude",
        "max_tokens": 99,
        "messages": [{"role": "user", "content": text}],
        "tools": [tool],
    }
    with anthropic.Anthropic(base_url=shared.url, api_key="sk-acme", max_retries=0) as client:

        def streamed():
            with client.messages.stream(**given) as events:
                return events.get_final_message().model_dump(
                    exclude={"content": {"__all__": {"parsed_output"}}}
                )

        def whole():
            return client.messages.create(**given).model_dump()

        asks = [streamed, whole]
        first, second = both(asks if stream_first else asks[::-1])
    assert first == second
    assert len(shared.calls) == 1


@pytest.mark.parametrize("stream_first", [True, False], ids=["stream_first", "document_first"])
def test_a_response_is_one_entry_streamed_or_not(shared, text, stream_first):
    with openai.OpenAI(base_url=f"{shared.url}/v1", api_key="sk-acme", max_retries=0) as client:

        def streamed():
            events = list(client.responses.create(model="smart", input=text, store=False, stream=True))
            return events[-1].response.model_dump(exclude_unset=True)

        def whole():
            return client.responses.create(model="smart", input=text, store=False).model_dump(
                exclude_unset=True
            )

        asks = [streamed, whole]
        first, second = both(asks if stream_first else asks[::-1])
    assert first == second
    assert len(shared.calls) == 1
