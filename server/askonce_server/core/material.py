"""The canonical material of a request: everything that determines the response, and nothing else."""

from __future__ import annotations

from typing import Any

from askonce_server.core.descriptor import Descriptor
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.rules import Identity, KeyPolicy
from askonce_server.core.turns import map_prose, map_system, without_user_text
from askonce_server.core.white_space import fold

KNOWN_DIALECTS = frozenset({"openai", "anthropic"})

UNKEYED_PARAMS = frozenset(
    {"metadata", "prompt_cache_key", "prompt_cache_retention", "safety_identifier", "cache_control"}
)
"""Params of the known dialects that steer billing, caching or bookkeeping at the provider, not the answer.

`cache_control` does so as an object; of anything else nobody knows what it means, so that it is keyed.
"""

_SERVED = Identity.SERVED

CLASS_PARAMS = frozenset(
    {
        "temperature",
        "top_p",
        "max_tokens",
        "n",
        "frequency_penalty",
        "presence_penalty",
        "response_format",
        "tool_choice",
        "seed",
        "reasoning_effort",
        "size",
        "quality",
    }
)
"""What `key.params: class` keys, besides `stream_options.include_usage`."""


def material(parts: Parts, descriptor: Descriptor, policy: KeyPolicy) -> dict[str, JsonValue]:
    """Return the object whose canonical JSON is the material of the exact profile.

    Members that are absent are left out, so that both forms of one request give one object. What need not
    change is shared with `parts`.
    """
    tree = context(descriptor, policy)
    if parts.messages is not None:
        tree["messages"] = without_cache_marks(parts.messages)
    if parts.system is not None:
        tree["system"] = without_cache_marks(parts.system)
    if parts.tools is not None:
        tree["tools"] = without_cache_marks(parts.tools)
    params = keyed_params(parts.params, descriptor, policy)
    if params:
        tree["params"] = params
    return tree


def context(descriptor: Descriptor, policy: KeyPolicy) -> dict[str, JsonValue]:
    """Return the members that come from the descriptor's own fields: headers, versions, route."""
    tree: dict[str, JsonValue] = {}
    if descriptor.headers:
        tree["headers"] = dict(descriptor.headers)
    if descriptor.versions:
        tree["versions"] = dict(descriptor.versions)
    if policy.identity is not _SERVED:
        route = _route(descriptor, policy)
        if route:
            tree["route"] = route
    return tree


def _route(descriptor: Descriptor, policy: KeyPolicy) -> dict[str, JsonValue]:
    """Return what was asked for: the route, and under `both` the target as well."""
    route: dict[str, JsonValue] = {}
    if descriptor.route_id:
        route["id"] = descriptor.route_id
        route["version"] = descriptor.route_version
    if descriptor.rule_branch:
        route["branch"] = descriptor.rule_branch
    if policy.identity is Identity.BOTH:
        route["provider"] = descriptor.requested.provider
        route["model"] = descriptor.requested.model
    return route


def keyed_params(
    params: dict[str, JsonValue], descriptor: Descriptor, policy: KeyPolicy
) -> dict[str, JsonValue]:
    """Return the params that are key material: all but the unkeyed ones and those that the rule ignores."""
    known_dialect = descriptor.dialect in KNOWN_DIALECTS
    unkeyed = policy.unkeyed.get(known_dialect)
    if unkeyed is None:
        unkeyed = policy.unkeyed[known_dialect] = _unkeyed(policy, known_dialect=known_dialect)
    if unkeyed.isdisjoint(params):
        return params
    if not _is_mark(params.get("cache_control")) and "cache_control" not in policy.ignore_params:
        unkeyed -= {"cache_control"}
    return {name: value for name, value in params.items() if name not in unkeyed}


def _unkeyed(policy: KeyPolicy, *, known_dialect: bool) -> frozenset[str]:
    unkeyed = UNKEYED_PARAMS if known_dialect else frozenset[str]()
    shared = ("stream_options",) if policy.stream_shared else ()
    return unkeyed.union(policy.ignore_params, shared)


def unmodelled_param(params: dict[str, JsonValue]) -> str | None:
    """Return the name of a keyed param that `key.params: class` does not list, or None."""
    for name, value in params.items():
        if name == "stream_options" and isinstance(value, dict) and value.keys() <= {"include_usage"}:
            continue
        if name not in CLASS_PARAMS:
            return name
    return None


def normalized(tree: dict[str, JsonValue], *, bare_text: bool, case_fold: bool) -> dict[str, JsonValue]:
    """Return the material of the normalized profile: white space in prose folded, nothing else touched."""
    change = _fold_case if case_fold else fold
    changed = dict(tree)
    if "messages" in tree:
        changed["messages"] = map_prose(tree["messages"], change, bare_text=bare_text)
    if "system" in tree:
        changed["system"] = map_system(tree["system"], change)
    return changed


def _fold_case(text: str) -> str:
    return fold(text).casefold()


def semantic_context(tree: dict[str, JsonValue], *, history_max_messages: int) -> dict[str, JsonValue]:
    """Return the material with each embedded text replaced in place by null."""
    return {**tree, "messages": without_user_text(tree.get("messages"), last=history_max_messages)}


def bare_text(descriptor: Descriptor) -> bool:
    """Whether a bare string as messages is a user turn: the `input` of responses, not of embeddings."""
    return descriptor.endpoint == "responses"


def without_cache_marks(value: JsonValue) -> JsonValue:
    """Drop `cache_control` where it marks a turn, a content part, a block or a tool: an object, or null.

    A text or a list of that name is content and stays, as is any member inside a tool's schema or arguments.
    Returns `value` itself when nothing is marked.
    """
    if type(value) is not list or not _has_marks(value):
        return value
    return [_unmarked(item) if isinstance(item, dict) else item for item in value]


def _has_marks(items: list[Any]) -> bool:
    for item in items:
        if type(item) is dict:
            if _is_marked(item):
                return True
            content = item.get("content")
            if type(content) is list and _has_marks(content):
                return True
    return False


def _unmarked(item: dict[str, Any]) -> JsonValue:
    kept = dict(item)
    if _is_marked(item):
        del kept["cache_control"]
    if "content" in kept:
        kept["content"] = without_cache_marks(kept["content"])
    return kept


def _is_marked(item: dict[str, Any]) -> bool:
    return "cache_control" in item and _is_mark(item["cache_control"])


def _is_mark(value: JsonValue) -> bool:
    return value is None or type(value) is dict
