"""Hypothesis strategies of requests: real-shaped ones, and anything at all."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

from hypothesis import strategies as st

from askonce_server.core.descriptor import Content, Descriptor, Target
from askonce_server.core.reasons import Matcher
from askonce_server.core.rules import Eligibility, Identity, Rule, RuleMode
from core.builders import rule
from strategies import json_trees, respell, strings

OPEN = rule(eligibility=Eligibility(sampled=True, remote_content=True))
"""A rule that looks up nearly everything."""

LAYOUTS = {
    ("openai", "chat"): ("messages", None, "tools"),
    ("openai", "responses"): ("input", "instructions", "tools"),
    ("openai", "embeddings"): ("input", None, None),
    ("anthropic", "messages"): ("messages", "system", "tools"),
}
MARK = {"cache_control": {"type": "ephemeral"}}
WORDS = st.sampled_from(
    ["", "a", "b", "A", "a b", "a  b", " a", "a\n", "a\tb", "a\u00a0b", "- a", '"a  b"', "é", "e\u0301"]
)
names = st.sampled_from(["a", "b", "top_k", "stop", "user", "metadata", "cache_control", "text", "content"])


def marked(part: st.SearchStrategy[dict[str, Any]]) -> st.SearchStrategy[dict[str, Any]]:
    """Sometimes set a mark of the prompt cache on a part."""
    return part | part.map(lambda one: {**one, **MARK})


small = json_trees(max_leaves=4)
texts = WORDS | strings()
objects = st.dictionaries(names, small, max_size=2)


def typed(*kinds: str, **members: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return st.fixed_dictionaries({"type": st.sampled_from(kinds), **members})


text_parts = typed("text", "input_text", "output_text", text=texts)
other_parts = typed("image", source=st.fixed_dictionaries({"data": texts}))
uses = typed("tool_use", input=objects)
results = typed("tool_result", content=texts | st.lists(text_parts, max_size=2))
contents = texts | st.lists(marked(text_parts | other_parts | uses | results), max_size=3) | st.none()
roles = st.sampled_from(["system", "developer", "user", "assistant", "tool"])
turns = marked(
    st.fixed_dictionaries({"role": roles, "content": contents}, optional={"name": texts, "tool_calls": small})
)
tools = marked(st.fixed_dictionaries({"name": texts, "input_schema": objects}))
systems = texts | st.lists(marked(text_parts), max_size=2)
params = st.dictionaries(names, small, max_size=3)
maps = st.dictionaries(st.sampled_from(["a", "b", "ab"]), texts, max_size=2)


@st.composite
def said(draw: st.DrawFn) -> dict[str, Any]:
    """Draw what a request says, free of its form: dialect and endpoint, the four parts, stream."""
    dialect, endpoint = draw(st.sampled_from(list(LAYOUTS)))
    _, system, tool = LAYOUTS[dialect, endpoint]
    bare = st.nothing() if endpoint == "chat" else texts
    return {
        "dialect": dialect,
        "endpoint": endpoint,
        "messages": draw(st.lists(turns, max_size=3) | bare),
        "system": draw(st.none() | systems) if system else None,
        "tools": draw(st.none() | st.lists(tools, max_size=2)) if tool else None,
        "params": draw(params),
        "stream": draw(st.booleans()),
    }


def as_body(draw: st.DrawFn, what: dict[str, Any], **around: Any) -> Descriptor:
    """Write a request as its provider's body, spelt at random."""
    layout = LAYOUTS[what["dialect"], what["endpoint"]]
    places = zip(("messages", "system", "tools"), layout, strict=True)
    members = {place: what[name] for name, place in places if place and what[name] is not None}
    own = {"model": draw(texts), "stream": what["stream"]}
    return built(what, respell(draw, {**what["params"], **own, **members}), stream=None, **around)


def as_parts(draw: st.DrawFn, what: dict[str, Any], **around: Any) -> Descriptor:
    """Write a request in parts, each spelt at random."""
    members = {
        name: what[name] for name in ("messages", "system", "tools", "params") if what[name] is not None
    }
    content = Content(**{name: respell(draw, tree) for name, tree in members.items()})
    return built(what, content, stream=what["stream"], **around)


def built(what: dict[str, Any], content: Any, *, stream: bool | None, **around: Any) -> Descriptor:
    fields: dict[str, Any] = {
        "served": Target("p", "m"),
        "requested": Target("q", "n"),
        "route_id": "",
        "route_version": "",
        "rule_branch": "",
        "scope": {"tenant": "acme"},
        "versions": {},
        "headers": {},
        "embedding": None,
        "personalized": False,
        "attributes": {},
    }
    what = {"dialect": what["dialect"], "endpoint": what["endpoint"]}
    return Descriptor(**{**fields, **what, "content": content, "stream": stream, **around})


def shuffled(draw: st.DrawFn, tree: Any) -> Any:
    """Change one thing at a random place of a JSON tree to something else."""
    if isinstance(tree, dict) and tree and draw(st.integers(0, 3)):
        name = draw(st.sampled_from(sorted(tree)))
        return {**tree, name: shuffled(draw, tree[name])}
    if isinstance(tree, list) and tree and draw(st.integers(0, 3)):
        at = draw(st.integers(0, len(tree) - 1))
        return [*tree[:at], shuffled(draw, tree[at]), *tree[at + 1 :]]
    return draw(other_than(tree))


def other_than(tree: Any) -> st.SearchStrategy[Any]:
    """Draw another JSON value, often a near one."""
    near: list[Any] = [[tree], {"a": tree}, None, str(tree)]
    if isinstance(tree, str):
        near += [tree + " ", tree.upper(), tree + "a"]
    if isinstance(tree, int | Decimal) and not isinstance(tree, bool):
        near += [tree + 1, -tree]
    return st.sampled_from(near) | small


# A vocabulary in which random trees often look like requests.
words = st.sampled_from(
    [
        "messages",
        "input",
        "system",
        "instructions",
        "tools",
        "role",
        "content",
        "type",
        "text",
        "source",
        "url",
        "image_url",
        "file_id",
        "function",
        "name",
        "id",
        "cache_control",
        "stream",
        "model",
        "temperature",
        "audio",
        "seed",
        "store",
        "prompt",
        "stream_options",
        "include_usage",
        "user",
        "assistant",
        "tool_result",
        "parts",
    ]
)
keyish = words | strings()
leaves = st.none() | st.booleans() | st.integers() | st.floats() | words | strings()
wild = st.recursive(
    leaves,
    lambda inner: st.lists(inner, max_size=4) | st.dictionaries(keyish, inner, max_size=5),
    max_leaves=25,
)


def rules() -> st.SearchStrategy[Rule]:
    """Draw a rule with any policy."""
    deterministic = [Matcher.EXACT, Matcher.NORMALIZED]
    return st.builds(
        rule,
        mode=st.sampled_from(RuleMode),
        strategy=st.lists(st.sampled_from(deterministic), min_size=1, unique=True).map(tuple),
        scope=st.sampled_from([("tenant",), ("tenant", "user"), ()]),
        identity=st.sampled_from(Identity),
        stream_shared=st.booleans(),
        params_class=st.booleans(),
        ignore_params=st.sampled_from([(), ("user",), ("a", "b")]),
        normalized_guard=st.booleans(),
        case_fold=st.booleans(),
        eligibility=st.builds(
            Eligibility,
            sampled=st.booleans(),
            remote_content=st.booleans(),
            time_sensitive=st.sampled_from([(), ("a",)]),
            max_content=st.none() | st.integers(0, 200),
        ),
    )
