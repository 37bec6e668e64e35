"""Which requests may be looked up at all: determinism, remote content, provider state, time, size."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from functools import lru_cache
from typing import Any

from askonce_server.core.descriptor import DETERMINISTIC_ENDPOINTS, Descriptor, Digests, Facts
from askonce_server.core.material import bare_text, keyed_params, unmodelled_param
from askonce_server.core.parts import JsonValue, Parts
from askonce_server.core.reasons import BypassReason
from askonce_server.core.rules import Rule
from askonce_server.core.turns import user_texts

_STATEFUL_PARAMS = frozenset(
    {"previous_response_id", "conversation", "container", "web_search_options"}
    | {"search_parameters", "data_sources", "plugins"}  # searches of xAI, Azure and OpenRouter
)
_STATEFUL_WHERE_TRUE = ("background", "store", "enable_search")  # the last one is Qwen's search
_SAMPLING_PARAMS = frozenset({"temperature", "top_p", "min_p"})
"""What only a request has whose answer is drawn. `top_k` is none: a search may ask for so many results."""
_CLIENT_TOOLS = frozenset({"function", "custom", "local_shell", "apply_patch", "computer_use_preview"})
_CLIENT_TOOL_PREFIXES = ("bash_", "text_editor_", "computer_", "memory_")
"""Tools that the caller runs. Any other typed tool runs at the provider and sees what the request does not
say: the web, files, a container."""
_CLIENT_TOOL_MEMBERS = frozenset(
    {"name", "function", "functionDeclarations", "function_declarations", "toolSpec", "cachePoint"}
)
"""What a tool without type declares when the caller runs it."""
_HOSTED_TOOL_MEMBERS = frozenset(
    {"googleSearch", "google_search", "googleSearchRetrieval", "google_search_retrieval", "urlContext"}
    | {"url_context", "codeExecution", "code_execution", "googleMaps", "google_maps", "fileSearch"}
    | {"file_search", "enterpriseWebSearch", "enterprise_web_search", "retrieval", "systemTool"}
    | {"server_url", "vector_store_ids", "connector_id"}
)
_REFERENCE_MEMBERS = frozenset({"id", "type"})
_INERT_PARTS = frozenset(
    {"text", "input_text", "output_text", "thinking", "redacted_thinking", "reasoning", "refusal"}
    | {"tool_use", "function_call", "custom_tool_call", "search_result"}
)
"""Parts that carry what they say; an address in them is quoted, not fetched."""
_OPAQUE_MEMBERS = frozenset(
    {"text", "arguments", "args", "input", "parameters", "input_schema", "schema", "functionCall"}
    | {"response", "tool_calls", "function_call", "citations", "annotations"}
    | {"parametersJsonSchema", "parameters_json_schema", "responseJsonSchema", "response_json_schema"}
)
_PLAIN_MEMBERS = frozenset({"role", "content", "type", "text", "name", "id"})
_REFERENCES = frozenset({"uri", "url", "file_id", "fileId"})
_REFERENCE_ENDINGS = ("_url", "Url", "URL", "_uri", "Uri", "URI", "_file_id")
_REFERENCE_LISTS = frozenset({"urls", "uris", "file_ids", "fileIds"})
_REFERENCE_LIST_ENDINGS = ("_urls", "Urls", "URLs", "_uris", "Uris")
_MEDIA = frozenset(
    {"image", "images", "video", "videos", "audio", "file", "files", "document", "media", "source", "src"}
)
"""Members that hold either the content itself or its address, which then says its scheme."""
_ADDRESS = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*://|//[^/.]+\.")  # base64 may begin with two strokes too


def scope_missing(rule: Rule, descriptor: Descriptor) -> bool:
    """Whether a dim of the rule is missing or empty. It never means everyone."""
    scope = descriptor.scope
    return any(not scope.get(name) for name in rule.scope)


def why_not(rule: Rule, descriptor: Descriptor, parts: Parts | None) -> BypassReason | None:
    """Return why the request may not be looked up under `rule`, or None.

    `parts` is None for a request given as digests, whose facts speak instead.
    """
    content = descriptor.content
    facts = content.facts if isinstance(content, Digests) else None
    personalized = descriptor.personalized or (facts is not None and facts.personalized)
    if personalized and not ("user" in rule.scope and descriptor.scope.get("user")):
        return BypassReason.PERSONALIZED
    if facts is not None:
        return _why_not_digests(rule, descriptor, facts)
    assert parts is not None
    return _why_not_parts(rule, descriptor, parts)


def _why_not_digests(rule: Rule, descriptor: Descriptor, facts: Facts) -> BypassReason | None:
    policy = rule.key
    if policy.params_class or policy.ignore_params or policy.stream_shared:
        return BypassReason.UNREPRESENTABLE_CONTENT
    if facts.stateful:
        return BypassReason.STATEFUL_REQUEST
    if facts.remote_content and not rule.eligibility.remote_content:
        return BypassReason.REMOTE_CONTENT
    if facts.sampling and descriptor.endpoint not in DETERMINISTIC_ENDPOINTS and not rule.eligibility.sampled:
        return BypassReason.SAMPLED_REQUEST
    if rule.eligibility.time_sensitive:
        return BypassReason.TIME_SENSITIVE
    return None


def _why_not_parts(rule: Rule, descriptor: Descriptor, parts: Parts) -> BypassReason | None:
    if _is_stateful(parts):
        return BypassReason.STATEFUL_REQUEST
    if not rule.eligibility.remote_content and _has_remote_content(parts):
        return BypassReason.REMOTE_CONTENT
    if not rule.eligibility.sampled and _samples(descriptor, parts.params):
        return BypassReason.SAMPLED_REQUEST
    policy = rule.key
    if policy.params_class and unmodelled_param(keyed_params(parts.params, descriptor, policy)):
        return BypassReason.UNMODELLED_PARAM
    limit = rule.eligibility.max_content
    if limit is not None and content_size(descriptor) > limit:
        return BypassReason.TOO_LARGE
    words = rule.eligibility.time_sensitive
    if words and _mentions(words, parts, bare=bare_text(descriptor)):
        return BypassReason.TIME_SENSITIVE
    return None


def content_size(descriptor: Descriptor) -> int:
    """Return the size of the request's content in bytes, as it came."""
    content = descriptor.content
    if isinstance(content, bytes):
        return len(content)
    if isinstance(content, Digests):
        return 0
    return len(content.messages) + len(content.system) + len(content.tools) + len(content.params)


def _samples(descriptor: Descriptor, params: dict[str, JsonValue]) -> bool:
    """Whether the answer may be drawn by chance.

    An endpoint that is not known counts as deterministic, unless the request itself says how to sample.
    """
    if not descriptor.generating and _SAMPLING_PARAMS.isdisjoint(params):
        return False
    return descriptor.endpoint not in DETERMINISTIC_ENDPOINTS and not _is_deterministic(params)


def _is_deterministic(params: dict[str, JsonValue]) -> bool:
    """Whether the temperature is 0 or there is a seed."""
    temperature = params.get("temperature")
    if _is_number(temperature) and temperature == 0:
        return True
    return _is_number(params.get("seed"))


def _is_number(value: JsonValue) -> bool:
    return isinstance(value, int | Decimal) and not isinstance(value, bool)


def _is_stateful(parts: Parts) -> bool:
    params = parts.params
    if not _STATEFUL_PARAMS.isdisjoint(params):
        return True
    if any(params.get(name) is True for name in _STATEFUL_WHERE_TRUE) or params.get("mcp_servers"):
        return True
    prompt = params.get("prompt")
    if isinstance(prompt, dict) and "id" in prompt:
        return True
    tools = parts.tools
    if tools is not None and any(
        _is_hosted(tool) for tool in (tools if isinstance(tools, list) else [tools])
    ):
        return True
    messages = parts.messages
    return isinstance(messages, list) and any(_is_reference(item) for item in messages)


def _is_reference(item: Any) -> bool:
    """Whether an item of a conversation stands for one that the provider keeps: it says no more than its id.

    A reference may leave its type out; an earlier output, an image for one, may be named by its type and id.
    """
    if not isinstance(item, dict) or "id" not in item:
        return False
    return item.get("type") == "item_reference" or item.keys() <= _REFERENCE_MEMBERS


def _is_hosted(tool: Any) -> bool:
    if not isinstance(tool, dict) or not _HOSTED_TOOL_MEMBERS.isdisjoint(tool):
        return True
    kind = tool.get("type")
    if kind is None:
        return _CLIENT_TOOL_MEMBERS.isdisjoint(tool)
    return not isinstance(kind, str) or not (kind in _CLIENT_TOOLS or kind.startswith(_CLIENT_TOOL_PREFIXES))


def _has_remote_content(parts: Parts) -> bool:
    return any(_refers(value) for value in (parts.messages, parts.system, parts.tools))


def _refers(value: Any) -> bool:
    """Whether a turn, part or tool points elsewhere: a URL that is not `data:`, a file or audio id."""
    if isinstance(value, list):
        return any(_refers(item) for item in value if isinstance(item, dict | list))
    if not isinstance(value, dict):
        return False
    kind = value.get("type")
    if isinstance(kind, str) and kind in _INERT_PARTS:
        return False
    for name, member in value.items():
        if isinstance(member, str):
            # the commonest names first: most of a conversation is made of these
            if name not in _PLAIN_MEMBERS and _points_away(name, member):
                return True
        elif isinstance(member, dict | list) and name not in _OPAQUE_MEMBERS and _leads_out(name, member):
            return True
    return False


def _leads_out(name: str, member: dict[str, Any] | list[Any]) -> bool:
    """Whether a member that holds others refers to something elsewhere."""
    if isinstance(member, list):
        if name in _REFERENCE_LISTS or name.endswith(_REFERENCE_LIST_ENDINGS):
            return any(not isinstance(item, str) or _is_elsewhere(item) for item in member)
        if name in _MEDIA and any(isinstance(item, str) and _ADDRESS.match(item) for item in member):
            return True
    elif name == "audio" and "id" in member:
        return True
    return _refers(member)


def _points_away(name: str, member: str) -> bool:
    if name in _MEDIA:
        return _ADDRESS.match(member) is not None
    return _is_reference_name(name) and _is_elsewhere(member)


def _is_elsewhere(address: str) -> bool:
    return bool(address) and not address.startswith("data:")


def _is_reference_name(name: str) -> bool:
    return name in _REFERENCES or name.endswith(_REFERENCE_ENDINGS)


@lru_cache(maxsize=64)
def _words_pattern(words: tuple[str, ...]) -> re.Pattern[str]:
    return re.compile(r"(?<!\w)(?:" + "|".join(re.escape(word) for word in words) + r")(?!\w)")


def _mentions(words: tuple[str, ...], parts: Parts, *, bare: bool) -> bool:
    pattern = _words_pattern(words)
    return any(pattern.search(text.casefold()) for text in _asked_texts(parts.messages, bare=bare))


def _asked_texts(messages: JsonValue, *, bare: bool) -> Iterator[str]:
    """Yield what users say, or the texts that are to be embedded."""
    for turn in user_texts(messages):
        yield from turn
    if isinstance(messages, list) and not bare:
        yield from (item for item in messages if isinstance(item, str))
