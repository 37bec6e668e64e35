# ruff: noqa: T201 -- it speaks to the test that started it
"""Calls of LiteLLM with the example's cache: `litellm_calls.py SIDECAR PROVIDER`; prints a word a step."""

from __future__ import annotations

import asyncio
import sys
import time

import litellm
from litellm_cache import AskOnceCache

from askonce import AskOnce

litellm.cache = AskOnceCache(
    AskOnce(sys.argv[1], budget=30, store_timeout=60), tenant=lambda call: call["metadata"]["tenant"]
)


def arguments(text, *, tenant="acme", **more):
    return {
        "model": "openai/gpt-4o",
        "messages": [{"role": "user", "content": text}],
        "api_base": f"{sys.argv[2]}/v1",
        "api_key": "sk-real",
        "metadata": {"tenant": tenant},
        **more,
    }


def ask(text, **more):
    got = litellm.completion(**arguments(text, **more))
    if not more.get("stream"):
        return got.choices[0].message.content
    return "".join(chunk.choices[0].delta.content or "" for chunk in got)


async def ask_later(text, **more):
    got = await litellm.acompletion(**arguments(text, **more))
    if not more.get("stream"):
        return got.choices[0].message.content
    return "".join([chunk.choices[0].delta.content or "" async for chunk in got])


def repeats(call):
    """Wait until the answer is stored, which LiteLLM does in the background."""
    deadline, last = time.monotonic() + 30, call()
    while (now := call()) != last:
        assert time.monotonic() < deadline, "nothing is stored"
        last = now
        time.sleep(0.1)
    return last


async def repeats_later(text, **more):
    deadline, last = time.monotonic() + 30, await ask_later(text, **more)
    while (now := await ask_later(text, **more)) != last:
        assert time.monotonic() < deadline, "nothing is stored"
        last = now
        await asyncio.sleep(0.1)


first = repeats(lambda: ask("one"))
print("sync", flush=True)
asyncio.run(repeats_later("two"))
print("async", flush=True)
repeats(lambda: ask("three", stream=True))
print("stream", flush=True)
asyncio.run(repeats_later("four", stream=True))
print("async stream", flush=True)
assert ask("one", tenant="globex") != first
assert ask("one", top_p=0.5) != first
assert ask("one", an_unknown_one=1) != first
assert ask("one", tenant="") != ask("one", tenant="")
assert ask("one") == first
print("apart", flush=True)
sys.stdin.readline()
assert ask("one") != first
print("without a sidecar", flush=True)
