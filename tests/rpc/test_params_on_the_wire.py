"""No wrong hit: every param of every API is in the key."""

from __future__ import annotations

from typing import Any

import pytest

from rpc.replies import filed, verdict
from rpc.requests import BODIES, describe, with_body


def deterministic(params: dict[str, Any]) -> dict[str, Any]:
    """Params that a rule which serves deterministic requests alone looks up."""
    return {"temperature": 0, **params} if "temperature" not in params else {"seed": 7, **params}


CHAT_PARAMS: dict[str, tuple[Any, Any]] = {
    "audio": ({"voice": "alloy", "format": "wav"}, {"voice": "echo", "format": "wav"}),
    "modalities": (["text"], ["text", "audio"]),
    "frequency_penalty": (0, 0.5),
    "presence_penalty": (0, 0.5),
    "function_call": ("auto", "none"),
    "functions": ([{"name": "a"}], [{"name": "b"}]),
    "logit_bias": ({"50256": -100}, {"50256": 100}),
    "logprobs": (True, False),
    "top_logprobs": (1, 2),
    "max_tokens": (10, 20),
    "max_completion_tokens": (10, 20),
    "n": (1, 2),
    "parallel_tool_calls": (True, False),
    "prediction": ({"type": "content", "content": "a"}, {"type": "content", "content": "b"}),
    "reasoning_effort": ("low", "high"),
    "response_format": ({"type": "text"}, {"type": "json_object"}),
    "seed": (1, 2),
    "stop": (["\n"], ["\n", "END"]),
    "temperature": (0, 0.5),
    "top_p": (0.1, 0.9),
    "tool_choice": ("auto", "required"),
    "verbosity": ("low", "high"),
    "moderation": ({"on": True}, {"on": False}),
    "service_tier": ("default", "flex"),
    "stream_options": ({"include_usage": True}, {"include_usage": False}),
    "user": ("ann", "bob"),
    "top_k": (1, 50),
    "num_ctx": (2048, 8192),
    "a_param_of_tomorrow": ("x", "y"),
    "store": (False, None),
}


RESPONSES_PARAMS: dict[str, tuple[Any, Any]] = {
    "max_output_tokens": (10, 20),
    "max_tool_calls": (1, 2),
    "parallel_tool_calls": (True, False),
    "reasoning": ({"effort": "low"}, {"effort": "high"}),
    "text": ({"format": {"type": "text"}}, {"format": {"type": "json_object"}}),
    "temperature": (0, 0.5),
    "top_p": (0.1, 0.9),
    "top_logprobs": (1, 2),
    "tool_choice": ("auto", "required"),
    "truncation": ("auto", "disabled"),
    "include": (["reasoning.encrypted_content"], []),
    "service_tier": ("default", "flex"),
    "context_management": ([{"type": "compaction"}], []),
    "instructions": ("A", "B"),
}


MESSAGES_PARAMS: dict[str, tuple[Any, Any]] = {
    "max_tokens": (10, 20),
    "temperature": (0, 0.5),
    "top_p": (0.1, 0.9),
    "top_k": (1, 50),
    "stop_sequences": (["a"], ["b"]),
    "thinking": ({"type": "enabled", "budget_tokens": 1024}, {"type": "enabled", "budget_tokens": 2048}),
    "tool_choice": ({"type": "auto"}, {"type": "any"}),
    "output_config": ({"effort": "low"}, {"effort": "high"}),
    "output_format": ({"type": "json_schema", "schema": {}}, {"type": "text"}),
    "service_tier": ("auto", "standard_only"),
    "inference_geo": ("us", "eu"),
    "speed": ("fast", "standard"),
    "system": ("Answer in French.", "Answer in German."),
}


EMBEDDINGS_PARAMS: dict[str, tuple[Any, Any]] = {
    "dimensions": (256, 512),
    "encoding_format": ("float", "base64"),
    "user": ("ann", "bob"),
    "input": ("one text", "another text"),
}


VALUES = [
    (api, name, pair)
    for api, params in (
        (("openai", "chat"), CHAT_PARAMS),
        (("openai", "responses"), RESPONSES_PARAMS),
        (("openai", "embeddings"), EMBEDDINGS_PARAMS),
        (("anthropic", "messages"), MESSAGES_PARAMS),
    )
    for name, pair in params.items()
]


@pytest.mark.parametrize(
    ("api", "name", "pair"), VALUES, ids=["-".join((*api, name)) for api, name, _ in VALUES]
)
def test_a_param_with_another_value_or_without_one_is_another_request(gateway, tenant, api, name, pair):
    dialect, endpoint = api
    steady = {} if endpoint == "embeddings" else {"seed" if name == "temperature" else "temperature": 0}

    def asking(**params: Any) -> Any:
        body = {**BODIES[api], **steady, **params}
        if body.get(name) is None:
            body.pop(name, None)
        return with_body(tenant, body, dialect=dialect, endpoint=endpoint)

    gateway.fill(asking(**{name: pair[0]}))
    assert verdict(gateway.ask(asking(**{name: pair[0]}))) == "hit exact"
    assert verdict(gateway.ask(asking(**{name: pair[1]}))) == "miss"
    if name not in ("input", "max_tokens"):
        assert verdict(gateway.ask(asking(**{name: None}))) == "miss"


@pytest.mark.parametrize("name", sorted(set(CHAT_PARAMS) - {"store"}))
def test_the_same_holds_for_parts(gateway, tenant, name):
    one, other = CHAT_PARAMS[name]
    gateway.fill(describe(tenant, params=deterministic({name: one})))
    assert verdict(gateway.ask(describe(tenant, params=deterministic({name: one})))) == "hit exact"
    assert verdict(gateway.ask(describe(tenant, params=deterministic({name: other})))) == "miss"


def test_an_absent_temperature_is_not_zero(gateway, tenant):
    rule = {"attributes": {"rule": "sampled"}}
    gateway.fill(describe(tenant, params={"temperature": 0}, **rule))
    assert verdict(gateway.ask(describe(tenant, params={}, **rule))) == "miss"
    assert verdict(gateway.ask(describe(tenant, params={"temperature": 1}, **rule))) == "miss"


def test_max_tokens_and_max_completion_tokens_are_two_params(gateway, tenant):
    gateway.fill(describe(tenant, params={"temperature": 0, "max_tokens": 5}))
    other = describe(tenant, params={"temperature": 0, "max_completion_tokens": 5})
    assert verdict(gateway.ask(other)) == "miss"


def test_under_a_closed_list_of_params_another_one_is_not_cached(gateway, tenant):
    rule = {"attributes": {"rule": "class"}}
    listed = {
        "temperature": 0,
        "top_p": 1,
        "max_tokens": 5,
        "n": 1,
        "frequency_penalty": 0,
        "presence_penalty": 0,
        "response_format": {"type": "text"},
        "tool_choice": "auto",
        "seed": 3,
        "reasoning_effort": "low",
        "size": "s",
        "quality": "q",
        "stream_options": {"include_usage": True},
    }
    gateway.fill(describe(tenant, params=listed, **rule))
    assert verdict(gateway.ask(describe(tenant, params=listed, **rule))) == "hit exact"
    for name in listed:
        fewer = {key: value for key, value in listed.items() if key != name}
        assert verdict(gateway.ask(describe(tenant, params=fewer, **rule))) == "miss"
    for extra in ({"stop": ["a"]}, {"logit_bias": {}}, {"top_k": 1}, {"stream_options": {"x": 1}}):
        asked = describe(tenant, params={**listed, **extra}, **rule)
        assert verdict(gateway.ask(asked)) == "bypass unmodelled_param"
        assert filed(gateway.store(asked)) == "unmodelled_param"
    unkeyed = describe(tenant, params={**listed, "metadata": {"a": "b"}, "stop": None}, **rule)
    assert verdict(gateway.ask(unkeyed)) == "hit exact"
