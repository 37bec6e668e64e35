"""How a case is written down: what is given, and what is known of it without deriving anything."""

from __future__ import annotations

import base64
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

RULES: dict[str, dict[str, Any]] = {
    "plain": {},
    "two-dims": {"scope": ["tenant", "user"]},
    "two-dims-reversed": {"scope": ["user", "tenant"]},
    "shared-by-all": {"scope": [], "shared": True},
    "target": {"key": {"identity": "target"}},
    "both": {"key": {"identity": "both"}},
    "shared-stream": {"key": {"stream": "shared"}},
    "class": {"key": {"params": "class"}},
    "ignore-user": {"key": {"ignore_params": ["user"]}},
    "ignore-two": {"key": {"ignore_params": ["user", "store"]}},
    "ignore-two-reversed": {"key": {"ignore_params": ["store", "user"]}},
    "no-guard": {"normalized": {"guard": False}},
    "case-fold": {"normalized": {"case_fold": True}},
    "sampled": {"eligibility": {"sampling": "all"}},
    "remote": {"eligibility": {"remote_content": "allow"}},
    "small": {"eligibility": {"max_content": "1KiB"}},
    "today": {"eligibility": {"time_sensitive": ["today"]}},
    "normalized-only": {"strategy": ["normalized"]},
    "off": {"mode": "off"},
}
"""Rules by id, as in a configuration file. A descriptor picks its rule with the attribute `rule`."""

HI = [{"role": "user", "content": "hi"}]


@dataclass(frozen=True, slots=True)
class Case:
    """One vector before its keys are derived."""

    name: str
    why: str
    descriptor: Mapping[str, Any]
    rule: str = "plain"
    namespace: str = ""
    generations: Sequence[str] = ()
    semantic: Mapping[str, Any] | None = None
    anchor: bool = False
    skipped: Mapping[str, str] = field(default_factory=dict)
    """Matcher to reason."""
    bypass: str = ""
    invalid: Sequence[str] = ()
    same: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Matcher to the names of earlier cases whose entry this one shares."""
    apart: Mapping[str, Sequence[str]] = field(default_factory=dict)
    """Matcher to the names of earlier cases whose entry this one must not share."""


def b64(raw: bytes | str) -> str:
    return base64.b64encode(raw.encode() if isinstance(raw, str) else raw).decode()


def spelt(tree: Any) -> str:
    return tree if isinstance(tree, str) else json.dumps(tree, ensure_ascii=False)


def descriptor(**changes: Any) -> dict[str, Any]:
    """Describe the plain request without content; a change to None takes a member away."""
    plain: dict[str, Any] = {
        "dialect": "openai",
        "endpoint": "chat",
        "served": {"provider": "openai", "model": "gpt-4o"},
        "scope": {"tenant": "acme"},
    }
    return {name: value for name, value in {**plain, **changes}.items() if value is not None}


def body(tree: Any, **changes: Any) -> dict[str, Any]:
    """Describe a request by the provider's body, a tree or JSON as it is to be spelt."""
    raw = tree if isinstance(tree, bytes) else spelt(tree).encode()
    return descriptor(bodyJson=b64(raw), **changes)


def chat(messages: Any = HI, /, **params: Any) -> dict[str, Any]:
    """Describe the plain chat with other messages or further params."""
    return body({"model": "gpt-4o", "messages": messages, "temperature": 0, **params})


def said(text: str) -> dict[str, Any]:
    return chat([{"role": "user", "content": text}])


def parts(**contents: Any) -> dict[str, Any]:
    """Return the member `parts`; each is a tree, or JSON as it is to be spelt behind `json:`."""
    return {
        name: b64(
            value.removeprefix("json:")
            if isinstance(value, str) and value.startswith("json:")
            else json.dumps(value)
        )
        for name, value in contents.items()
    }


def messages(tree: Any, **changes: Any) -> dict[str, Any]:
    """Describe a request to anthropic by its body."""
    plain = {"model": "claude-sonnet-4", "max_tokens": 64, "temperature": 0, **tree}
    changes = {"served": {"provider": "anthropic", "model": "claude-sonnet-4"}, **changes}
    return body(plain, **{"dialect": "anthropic", "endpoint": "messages", **changes})


def responses(tree: Any, **changes: Any) -> dict[str, Any]:
    return body({"model": "gpt-4o", "temperature": 0, **tree}, endpoint="responses", **changes)


def embeddings(tree: Any, **changes: Any) -> dict[str, Any]:
    served = {"provider": "openai", "model": "text-embedding-3-small"}
    return body({"model": "text-embedding-3-small", **tree}, endpoint="embeddings", served=served, **changes)


def exactly(*names: str) -> dict[str, Sequence[str]]:
    """Name cases that share, or do not share, both entries."""
    return {"exact": names, "normalized": names}
