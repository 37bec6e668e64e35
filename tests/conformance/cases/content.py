"""What of the content is keyed, and that both forms of a request are one."""

from __future__ import annotations

from conformance.cases.case import (
    HI,
    Case,
    body,
    chat,
    descriptor,
    embeddings,
    exactly,
    messages,
    parts,
    responses,
)

SEARCH = {
    "type": "function",
    "function": {
        "name": "search_books",
        "parameters": {"type": "object", "properties": {"q": {"type": "string"}}},
    },
}
CLIENT_TOOL = {
    "name": "read",
    "input_schema": {"type": "object", "properties": {"cache_control": {"type": "string"}}},
}
MARK = {"cache_control": {"type": "ephemeral"}}
USE = {"type": "tool_use", "id": "t1", "name": "read", "input": {"cache_control": "no-store"}}
RESULT = {"type": "tool_result", "tool_use_id": "t1", "content": [{"type": "text", "text": "21"}]}
IMAGE = {"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAA"}}


def varied(name, value, other):
    """A parameter, and another value of it: two keys that are not the plain one either."""
    yield Case(name, f"`{name}` may change the answer.", chat(**{name: value}), apart=exactly("plain"))
    why = f"Another `{name}` is another request."
    yield Case(f"{name}_other", why, chat(**{name: other}), apart=exactly("plain", name))


def harmless(name, value):
    why = f"`{name}` steers billing or caching at the provider, not the answer."
    return Case(f"unkeyed_{name}", why, chat(**{name: value}), same=exactly("plain"))


def turns(*contents):
    roles = ("user", "assistant") * len(contents)
    return [{"role": role, "content": content} for role, content in zip(roles, contents, strict=False)]


CLAUDE = {"messages": turns([{"type": "text", "text": "hi"}], [USE], [RESULT]), "tools": [CLIENT_TOOL]}


def with_marks(value):
    """The same with a system prompt, and a mark of the prompt cache wherever one may stand."""
    mark = {"cache_control": value}
    return {
        "system": [{"type": "text", "text": "Be brief.", **mark}],
        "messages": turns(
            [{"type": "text", "text": "hi", **mark}],
            [USE],
            [{**RESULT, "content": [{"type": "text", "text": "21", **mark}], **mark}],
        ),
        "tools": [{**CLIENT_TOOL, **mark}],
    }


CLAUDE_MARKED = with_marks({"type": "ephemeral"})

CASES = [
    *varied("top_p", 0.5, 0.9),
    *varied("stop", ["END"], "END"),
    *varied("n", 1, 2),
    *varied("tool_choice", "auto", "none"),
    *varied("presence_penalty", 0.5, 0.6),
    *varied("max_tokens", 16, 17),
    *varied("response_format", {"type": "text"}, {"type": "json_object"}),
    *varied("num_ctx", 2048, 8192),
    *varied("top_k", 1, 50),
    *varied("user", "ada", "ben"),
    Case(
        "store_false", "What is forwarded is keyed, known or not.", chat(store=False), apart=exactly("plain")
    ),
    *varied("seed", 1, 2),
    harmless("metadata", {"trace": "1"}),
    harmless("prompt_cache_key", "k"),
    harmless("prompt_cache_retention", "24h"),
    harmless("safety_identifier", "u1"),
    harmless("cache_control", {"type": "ephemeral"}),
    Case(
        "cache_control_text",
        "A parameter `cache_control` that is no object is none that is known.",
        chat(cache_control="no-store"),
        apart=exactly("plain"),
    ),
    Case(
        "param_null",
        "A parameter that is null is the same as absent.",
        chat(top_k=None, user=None),
        same=exactly("plain"),
    ),
    Case(
        "param_default",
        "An explicit default is not the same as absent.",
        chat(top_k=0),
        apart=exactly("plain"),
    ),
    Case(
        "param_null_inside",
        "A null inside a parameter is content.",
        chat(x={"a": None}),
        apart=exactly("plain"),
    ),
    Case(
        "metadata_inside",
        "Only members at the top level are left out.",
        chat(x={"metadata": 1}),
        apart=exactly("plain"),
    ),
    Case(
        "unkeyed_in_unknown_dialect",
        "In a dialect that is not known everything is keyed.",
        descriptor(
            dialect="mistral",
            stream=False,
            parts=parts(messages=HI, params={"temperature": 0, "metadata": {"a": 1}}),
        ),
        apart=exactly("dialect"),
    ),
    Case("tools", "Tool definitions are content.", chat(tools=[SEARCH]), apart=exactly("plain")),
    Case(
        "tools_required",
        "A tool whose arguments changed is another.",
        chat(tools=[{**SEARCH, "function": {**SEARCH["function"], "required": ["q"]}}]),
        apart=exactly("tools"),
    ),
    Case(
        "tools_empty",
        "No tools and an empty list of tools are told apart.",
        chat(tools=[]),
        apart=exactly("plain"),
    ),
    Case("tools_null", "Tools that are null are absent.", chat(tools=None), same=exactly("plain")),
    Case(
        "tools_as_param",
        "A parameter cannot pass for tools.",
        descriptor(parts=parts(messages=HI, params={"temperature": 0, "tools": [SEARCH]}), stream=False),
        apart=exactly("tools"),
    ),
    Case(
        "system_turn",
        "System turns of openai stay among the messages.",
        chat([{"role": "system", "content": "Be brief."}, *HI]),
        apart=exactly("plain"),
    ),
    Case(
        "system_turn_behind",
        "The place of a system turn counts.",
        chat([*HI, {"role": "system", "content": "Be brief."}]),
        apart=exactly("system_turn"),
    ),
    Case(
        "null_content",
        "Null inside a message is content.",
        chat([*HI, {"role": "assistant", "content": None}]),
    ),
    Case(
        "no_content",
        "A member that is missing inside a message is not null.",
        chat([*HI, {"role": "assistant"}]),
        apart=exactly("null_content"),
    ),
    Case("image", "An inline image is content.", chat([{"role": "user", "content": [IMAGE]}])),
    Case(
        "image_other",
        "Another inline image is another question.",
        chat(
            [
                {
                    "role": "user",
                    "content": [{"type": "image_url", "image_url": {"url": "data:image/png;base64,AAAB"}}],
                }
            ]
        ),
        apart=exactly("image"),
    ),
    Case(
        "part_instead_of_string",
        "A text part and a string are told apart.",
        chat([{"role": "user", "content": [{"type": "text", "text": "hi"}]}]),
        apart=exactly("plain"),
    ),
    Case("conversation_ann", "Earlier turns are content.", chat(turns("I am Ann", "Hello", "my name?"))),
    Case(
        "conversation_bob",
        "Earlier turns are content.",
        chat(turns("I am Bob", "Hello", "my name?")),
        apart=exactly("conversation_ann"),
    ),
    Case("turns_split", "No split of the same text over two turns may collide.", chat(turns("ab", "c", "d"))),
    Case(
        "turns_split_otherwise",
        "No split of the same text over two turns may collide.",
        chat(turns("a", "bc", "d")),
        apart=exactly("turns_split"),
    ),
    Case(
        "parts_form",
        "A body and the same request in parts are one.",
        descriptor(parts=parts(messages=HI, params={"temperature": 0}), stream=False),
        same=exactly("plain"),
    ),
    Case(
        "parts_form_with_model",
        "Model and stream leave the params as they leave a body.",
        descriptor(
            parts=parts(
                messages=HI, params={"temperature": 0.0, "model": "x", "stream": False, "top_k": None}
            ),
            stream=False,
        ),
        same=exactly("plain"),
    ),
    Case(
        "parts_form_stream",
        "The stream of parts is in the descriptor.",
        descriptor(parts=parts(messages=HI, params={"temperature": 0}), stream=True),
        same=exactly("stream"),
        apart=exactly("plain"),
    ),
    Case(
        "parts_null",
        "A part that is null is absent.",
        descriptor(
            parts=parts(messages=HI, params={"temperature": 0}, system=None, tools=None), stream=False
        ),
        same=exactly("plain"),
    ),
    Case(
        "parts_spelling",
        "Parts may be spelt in any way, like bodies.",
        descriptor(
            parts=parts(
                messages='json:[ {"content":"\\u0068i","role":"user"} ]', params='json:{"temperature":0e5}'
            ),
            stream=False,
        ),
        same=exactly("plain"),
    ),
    Case(
        "parts_with_tools",
        "Tools of parts are those of a body.",
        descriptor(parts=parts(messages=HI, tools=[SEARCH], params={"temperature": 0}), stream=False),
        same=exactly("tools"),
    ),
    Case(
        "parts_with_system",
        "A system prompt apart is no system turn.",
        descriptor(parts=parts(messages=HI, system="Be brief.", params={"temperature": 0}), stream=False),
        apart=exactly("plain", "system_turn"),
    ),
    Case(
        "claude",
        "A body of anthropic with a tool call whose arguments speak of cache_control.",
        messages(CLAUDE),
    ),
    Case(
        "claude_marked",
        "Marks of the prompt cache on system, turns, parts and tools are left out.",
        messages(CLAUDE_MARKED),
    ),
    Case(
        "claude_unmarked",
        "The same without marks.",
        messages({**CLAUDE, "system": [{"type": "text", "text": "Be brief."}]}),
        same=exactly("claude_marked"),
        apart=exactly("claude"),
    ),
    Case(
        "claude_null_marks",
        "A mark that is null is none.",
        messages(with_marks(None)),
        same=exactly("claude_marked"),
    ),
    Case(
        "claude_text_for_a_mark",
        "A member `cache_control` that is no object marks nothing: it is content.",
        messages(with_marks("x")),
        apart=exactly("claude_marked"),
    ),
    Case(
        "claude_list_for_a_mark",
        "The same for a list.",
        messages(with_marks([{"type": "ephemeral"}])),
        apart=exactly("claude_marked", "claude_text_for_a_mark"),
    ),
    Case(
        "claude_other_argument",
        "A property named cache_control in arguments is content.",
        messages(
            {**CLAUDE, "messages": turns("hi", [{**USE, "input": {"cache_control": "max-age=1"}}], [RESULT])}
        ),
        apart=exactly("claude"),
    ),
    Case(
        "claude_other_schema",
        "A property named cache_control in a schema is content.",
        messages(
            {**CLAUDE, "tools": [{**CLIENT_TOOL, "input_schema": {"type": "object", "properties": {}}}]}
        ),
        apart=exactly("claude"),
    ),
    Case(
        "claude_mark_in_input",
        "Nothing inside arguments is a mark.",
        messages(
            {
                "messages": turns(
                    "hi", [{**USE, "input": {"content": [{"type": "text", "text": "a", **MARK}]}}], [RESULT]
                )
            }
        ),
    ),
    Case(
        "claude_no_mark_in_input",
        "Nothing inside arguments is a mark.",
        messages(
            {
                "messages": turns(
                    "hi", [{**USE, "input": {"content": [{"type": "text", "text": "a"}]}}], [RESULT]
                )
            }
        ),
        apart=exactly("claude_mark_in_input"),
    ),
    Case(
        "claude_system_french",
        "The system prompt is content.",
        messages({"messages": HI, "system": "French"}),
    ),
    Case(
        "claude_system_german",
        "The system prompt is content.",
        messages({"messages": HI, "system": "German"}),
        apart=exactly("claude_system_french"),
    ),
    Case(
        "claude_parts",
        "Both forms of an anthropic request are one.",
        descriptor(
            dialect="anthropic",
            endpoint="messages",
            served={"provider": "anthropic", "model": "claude-sonnet-4"},
            parts=parts(messages=HI, system="French", params={"max_tokens": 64, "temperature": 0}),
            stream=False,
        ),
        same=exactly("claude_system_french"),
    ),
    Case("responses_bare", "The input of a response may be a bare string.", responses({"input": "hi"})),
    Case(
        "responses_turn",
        "A bare input and a turn are told apart.",
        responses({"input": HI}),
        same=exactly("endpoint"),
        apart=exactly("responses_bare"),
    ),
    Case(
        "responses_instructions",
        "Instructions are the system prompt.",
        responses({"input": "hi", "instructions": "A"}),
        apart=exactly("responses_bare"),
    ),
    Case(
        "responses_instructions_other",
        "Instructions are the system prompt.",
        responses({"input": "hi", "instructions": "B"}),
        apart=exactly("responses_instructions"),
    ),
    Case(
        "responses_parts",
        "Both forms of a response request are one.",
        descriptor(
            endpoint="responses",
            parts=parts(messages="hi", system="A", params={"temperature": 0}),
            stream=False,
        ),
        same=exactly("responses_instructions"),
    ),
    Case(
        "responses_tools",
        "A flat function is a tool like any other.",
        responses({"input": "hi", "tools": [{"type": "function", "name": "f", "parameters": {}}]}),
        apart=exactly("responses_bare"),
    ),
    Case("embeddings_string", "Embeddings neither sample nor stream.", embeddings({"input": "hi"})),
    Case(
        "embeddings_list",
        "A list of one is no string.",
        embeddings({"input": ["hi"]}),
        apart=exactly("embeddings_string"),
    ),
    Case("embeddings_tokens", "Input may be tokens.", embeddings({"input": [1, 2.0, 3]})),
    Case(
        "embeddings_dimensions",
        "Dimensions are a parameter.",
        embeddings({"input": "hi", "dimensions": 256}),
        apart=exactly("embeddings_string"),
    ),
    Case(
        "embeddings_parts",
        "Both forms of an embeddings request are one.",
        descriptor(
            endpoint="embeddings",
            served={"provider": "openai", "model": "text-embedding-3-small"},
            parts=parts(messages="hi"),
        ),
        same=exactly("embeddings_string"),
    ),
    Case(
        "unknown_endpoint",
        "Parts of an endpoint without a layout are keyed as they are.",
        descriptor(
            dialect="cohere", endpoint="rerank", parts=parts(messages=["a", "b"], params={"query": "q"})
        ),
    ),
    Case(
        "unknown_endpoint_without_messages",
        "Where nothing is generated the params may say everything.",
        descriptor(dialect="openai", endpoint="images", parts=parts(params={"prompt": "a cat"})),
    ),
    Case(
        "body_with_system_member",
        "A member that the layout does not name is a parameter.",
        body({"model": "m", "messages": HI, "temperature": 0, "system": "Be brief."}),
        apart=exactly("plain", "parts_with_system"),
    ),
]
