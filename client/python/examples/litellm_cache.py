# ruff: noqa: INP001 -- to be copied, not imported
"""LiteLLM's response cache on AskOnce, for chat completions: sync and async, streams too.

    litellm.cache = AskOnceCache(AskOnce("127.0.0.1:50051"), tenant=lambda call: call["metadata"]["tenant"])

LiteLLM keeps a stream as the document that it makes of it, and replays it as a stream.
"""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Mapping
from typing import Any

import litellm
from litellm.caching.caching import Cache

from askonce import AskOnce, Content, Descriptor, Target, UpstreamResponse

PLUMBING = frozenset(
    {
        "api_base",
        "api_key",
        "base_url",
        "cache",
        "cache_key",
        "caching",
        "custom_llm_provider",
        "litellm_call_id",
        "litellm_logging_obj",
        "litellm_metadata",
        "litellm_trace_id",
        "max_retries",
        "messages",
        "metadata",
        "model",
        "num_retries",
        "parent_otel_span",
        "request_timeout",
        "shared_session",
        "stream",
        "timeout",
        "tools",
    }
)
"""What cannot change an answer, or is described elsewhere. All else is keyed: a miss too many is safe."""

UNDERSTOOD = frozenset({"no-cache", "no-store", "ttl", "use-cache"})
"""Members of LiteLLM's `cache` argument; a call with others is not cached."""


class AskOnceCache(Cache):  # type: ignore[misc]
    """Asks AskOnce in place of LiteLLM's own stores. Without a sidecar every call goes to its provider.

    Args:
        client: Of the sidecar.
        tenant: Who may share the answer, from the call's arguments. Take it from what your program has
            authenticated. A call for which it says nothing, or raises, is not cached.
    """

    def __init__(self, client: AskOnce, tenant: Callable[[Mapping[str, Any]], str]) -> None:
        super().__init__(supported_call_types=["completion", "acompletion"], max_messages=None)
        self.client = client
        self.tenant = tenant

    def get_cache(self, dynamic_cache_object: Any = None, **call: Any) -> Any:  # noqa: ARG002 -- LiteLLM's
        """Return the stored answer as LiteLLM wrote it, or None."""
        descriptor = self.describe(call)
        if descriptor is None:
            return None
        body = self.client.lookup(descriptor).body
        return None if body is None else json.loads(body)

    def add_cache(self, result: Any, **call: Any) -> None:
        """Store an answer; the sidecar refuses what is not whole."""
        descriptor = self.describe(call)
        if descriptor is None:
            return
        text = result if isinstance(result, str) else result.model_dump_json(exclude_unset=True)
        answer = UpstreamResponse.openai_chat(text.encode(), status_code=200)
        self.client.store(descriptor, answer, ttl=(call.get("cache") or {}).get("ttl"))

    async def async_get_cache(self, dynamic_cache_object: Any = None, **call: Any) -> Any:  # noqa: ARG002
        """Do `get_cache` off the event loop."""
        return await asyncio.to_thread(self.get_cache, **call)

    async def async_add_cache(
        self,
        result: Any,
        dynamic_cache_object: Any = None,  # noqa: ARG002
        **call: Any,
    ) -> None:
        """Do `add_cache` off the event loop."""
        await asyncio.to_thread(self.add_cache, result, **call)

    def describe(self, call: Mapping[str, Any]) -> Descriptor | None:
        """Describe a call by its arguments; None: it is not to be cached."""
        try:
            tenant = self.tenant(call)
            if not tenant or not self.should_use_cache(**call) or set(call.get("cache") or {}) - UNDERSTOOD:
                return None
            base = call.get("api_base") or call.get("base_url")
            model, provider, _, found = litellm.get_llm_provider(
                call["model"], custom_llm_provider=call.get("custom_llm_provider"), api_base=base
            )
            said = {name: value for name, value in call.items() if name not in PLUMBING}
            params = json.dumps(said, allow_nan=False).encode()  # what JSON cannot say cannot be keyed
            messages = json.dumps(call["messages"], allow_nan=False).encode()
            tools = json.dumps(call["tools"], allow_nan=False).encode() if call.get("tools") else None
        except Exception:
            return None
        return Descriptor(
            dialect="openai",
            endpoint="chat",
            content=Content(messages=messages, tools=tools, params=params),
            served=Target(provider, model),
            stream=False,  # what is kept is always a document
            scope={"tenant": str(tenant)},
            versions={"api_base": str(found or base or "default"), "streamed": str(bool(call.get("stream")))},
        )
