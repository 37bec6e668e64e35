"""A provider's body and the same request in parts say the same."""

from decimal import Decimal

import jiter
import pytest
from hypothesis import given
from hypothesis import strategies as st

from askonce_server.core.errors import MalformedRequest
from askonce_server.core.parts import Parts
from askonce_server.dialects import from_content, split

TURNS = [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "hi"}]
TOOLS = [{"type": "function", "function": {"name": "weather", "parameters": {"type": "object"}}}]

# endpoint -> names of the members that hold messages, system and tools
LAYOUTS = {
    ("openai", "chat"): ("messages", None, "tools"),
    ("openai", "responses"): ("input", "instructions", "tools"),
    ("openai", "embeddings"): ("input", None, None),
    ("anthropic", "messages"): ("messages", "system", "tools"),
}
GENERATING = {pair for pair in LAYOUTS if pair[1] != "embeddings"}

json_values = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.decimals(allow_nan=False, allow_infinity=False)
    | st.text(max_size=20),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=8), inner, max_size=3),
    max_leaves=8,
)


def violations(dialect, endpoint, body):
    with pytest.raises(MalformedRequest) as caught:
        split(dialect, endpoint, body)
    return {v.field: v.description for v in caught.value.violations}


def parse(body: bytes):
    return jiter.from_json(body, float_mode="decimal")


@pytest.mark.parametrize(
    ("dialect", "endpoint", "body", "want"),
    [
        (
            "openai",
            "chat",
            {"model": "gpt-4o", "messages": TURNS, "tools": TOOLS, "temperature": 0, "stream": True},
            Parts(TURNS, None, TOOLS, {"temperature": 0}, stream=True),
        ),
        (
            # What looks like another dialect's system prompt is a parameter here, hence in the key.
            "openai",
            "chat",
            {"messages": TURNS, "system": "S", "instructions": "I", "input": "x"},
            Parts(TURNS, None, None, {"system": "S", "instructions": "I", "input": "x"}, stream=False),
        ),
        (
            "openai",
            "responses",
            {"model": "gpt-4.1", "instructions": "Be brief.", "input": "hi", "tools": TOOLS, "store": False},
            Parts("hi", "Be brief.", TOOLS, {"store": False}, stream=False),
        ),
        (
            "openai",
            "responses",
            {"input": TURNS, "messages": TURNS, "system": "S"},
            Parts(TURNS, None, None, {"messages": TURNS, "system": "S"}, stream=False),
        ),
        (
            "openai",
            "embeddings",
            {"model": "text-embedding-3-small", "input": ["a", "b"], "dimensions": 256, "tools": TOOLS},
            Parts(["a", "b"], None, None, {"dimensions": 256, "tools": TOOLS}, stream=None),
        ),
        (
            "anthropic",
            "messages",
            {"model": "claude", "system": "S", "messages": TURNS, "tools": TOOLS, "max_tokens": 64},
            Parts(TURNS, "S", TOOLS, {"max_tokens": 64}, stream=False),
        ),
        (
            "anthropic",
            "messages",
            {"system": None, "messages": [], "tools": None, "stop_sequences": None, "stream": None},
            Parts([], None, None, {}, stream=False),
        ),
    ],
)
def test_members_are_found_where_the_dialect_has_them(dialect, endpoint, body, want):
    assert split(dialect, endpoint, body) == want


def test_explicit_defaults_and_empty_values_are_not_absent():
    parts = split("openai", "chat", {"messages": [], "tools": [], "temperature": 1, "stop": "", "user": {}})
    assert parts.messages == []
    assert parts.tools == []
    assert parts.params == {"temperature": 1, "stop": "", "user": {}}


def test_null_inside_a_member_stays():
    parts = split("openai", "chat", {"messages": TURNS, "response_format": {"json_schema": None}})
    assert parts.params == {"response_format": {"json_schema": None}}


def test_numbers_keep_their_spelling_for_the_canonicalization_to_judge():
    parts = split("openai", "chat", parse(b'{"messages": [], "temperature": 1e0, "top_p": 0.10}'))
    assert isinstance(parts.params["temperature"], Decimal)
    assert str(parts.params["top_p"]) == "0.10"


@pytest.mark.parametrize("root", [[], "x", 1, Decimal("1.5"), True, None])
def test_a_root_that_is_no_object_is_named(root):
    found = violations("openai", "chat", root)
    assert list(found) == ["descriptor.body_json"]
    assert "object" in found["descriptor.body_json"]


def test_json_types_are_named_in_words():
    described = [
        violations("openai", "chat", root)["descriptor.body_json"] for root in ([], None, True, 1, "")
    ]
    for description, word in zip(
        described, ["an array", "null", "a boolean", "a number", "a string"], strict=True
    ):
        assert description.startswith(f"is {word};")


@pytest.mark.parametrize("stream", [0, 1, "true", [], {}, Decimal("0.0")])
@pytest.mark.parametrize("pair", sorted(LAYOUTS))
def test_a_stream_that_is_no_boolean_is_named(pair, stream):
    body = {LAYOUTS[pair][0]: TURNS, "stream": stream}
    assert list(violations(*pair, body)) == ["descriptor.body_json.stream"]


@pytest.mark.parametrize("pair", sorted(LAYOUTS))
@pytest.mark.parametrize("absent", [{}, {"null": True}])
def test_absent_messages_are_named(pair, absent):
    member = LAYOUTS[pair][0]
    body = {member: None} if absent else {}
    assert list(violations(*pair, body)) == [f"descriptor.body_json.{member}"]


def test_everything_wrong_is_named_at_once():
    assert set(violations("anthropic", "messages", {"stream": "yes"})) == {
        "descriptor.body_json.messages",
        "descriptor.body_json.stream",
    }


@pytest.mark.parametrize("member", ["prompt", "conversation", "previous_response_id"])
def test_what_the_provider_keeps_may_stand_for_the_input(member):
    parts = split("openai", "responses", {member: "id_1"})
    assert parts == Parts(None, None, None, {member: "id_1"}, stream=False)
    assert list(violations("openai", "responses", {member: None})) == ["descriptor.body_json.input"]


@pytest.mark.parametrize(
    ("dialect", "endpoint"),
    [("openai", "messages"), ("anthropic", "chat"), ("OpenAI", "chat"), ("gemini", "chat"), ("", "")],
)
def test_an_unknown_pair_is_told_to_send_parts(dialect, endpoint):
    found = violations(dialect, endpoint, {"messages": TURNS})
    assert list(found) == ["descriptor.body_json"]
    assert "send `parts` instead" in found["descriptor.body_json"]


def test_parts_without_params():
    assert from_content(TURNS, None, None, None) == Parts(TURNS, None, None, {}, stream=None)


@pytest.mark.parametrize("params", [[], "x", 1, False])
def test_params_that_are_no_object_are_named(params):
    with pytest.raises(MalformedRequest) as caught:
        from_content(TURNS, None, None, params)
    assert [v.field for v in caught.value.violations] == ["descriptor.parts.params"]


@pytest.mark.parametrize("stream", [0, "false", []])
def test_a_stream_in_params_that_is_no_boolean_is_named(stream):
    with pytest.raises(MalformedRequest) as caught:
        from_content(TURNS, None, None, {"stream": stream})
    assert [v.field for v in caught.value.violations] == ["descriptor.parts.params.stream"]


def test_stream_and_model_leave_the_params_as_they_leave_a_body():
    params = {"stream": False, "model": "m", "seed": 7}
    assert from_content(TURNS, None, None, params) == Parts(TURNS, None, None, {"seed": 7}, stream=False)


@given(
    pair=st.sampled_from(sorted(LAYOUTS)),
    messages=json_values.filter(lambda value: value is not None),
    system=json_values,
    tools=json_values,
    params=st.dictionaries(
        st.text(max_size=8) | st.sampled_from(["temperature", "stop", "metadata", "n", "functions"]),
        json_values,
        max_size=5,
    ),
    stream=st.none() | st.booleans(),
    model=st.none() | st.text(max_size=5),
)
def test_both_forms_of_a_request_are_equal(*, pair, messages, system, tools, params, stream, model):
    reserved = {"messages", "input", "system", "instructions", "tools", "stream", "model"}
    params = {name: value for name, value in params.items() if name not in reserved}
    names = LAYOUTS[pair]
    system, tools = (system if names[1] else None), (tools if names[2] else None)
    body = {**params, "model": model, "stream": stream, names[0]: messages}
    if names[1]:
        body[names[1]] = system
    if names[2]:
        body[names[2]] = tools

    of_body = split(*pair, body)
    rest = {**params, "stream": stream, "model": model}
    of_parts = from_content(messages, system, tools, rest)

    assert of_body.messages is messages, "the tree was copied"
    if stream is None and pair in GENERATING:
        assert (of_body.stream, of_parts.stream) == (False, None)
        of_parts.stream = False  # as a descriptor that says so
    assert of_body == of_parts
    assert all(value is not None for value in of_body.params.values())
    assert not {"stream", "model"} & of_body.params.keys()


@given(
    pair=st.sampled_from(sorted(LAYOUTS)),
    body=st.dictionaries(
        st.sampled_from(["messages", "input", "system", "instructions", "tools", "seed", "model", "prompt"]),
        json_values,
        min_size=1,
    ),
)
def test_no_member_that_says_something_is_lost(pair, body):
    said = {name: value for name, value in body.items() if value is not None and name != "model"}
    try:
        parts = split(*pair, body)
    except MalformedRequest:
        return
    names = LAYOUTS[pair]
    rebuilt = dict(parts.params)
    for name, value in zip(names, (parts.messages, parts.system, parts.tools), strict=True):
        if value is not None:
            assert name is not None
            assert name not in rebuilt
            rebuilt[name] = value
    assert rebuilt == said


@given(pair=st.sampled_from(sorted(LAYOUTS)), root=json_values)
def test_split_is_total(pair, root):
    is_object = isinstance(root, dict)
    missing = is_object and root.get(LAYOUTS[pair][0]) is None
    wrong = is_object and not isinstance(root.get("stream"), bool | None)
    try:
        parts = split(*pair, root)
    except MalformedRequest:
        assert missing or wrong or not is_object
    else:
        assert isinstance(parts.params, dict)
