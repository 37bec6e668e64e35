"""A second implementation of the keys, slow and plain, written from their description alone.

It shares no code with the server: JSON comes from the standard library, the canonical form from `rfc8785`. It
reads descriptors as proto3 JSON and rules as a configuration file has them. It judges neither eligibility nor
whether white space matters; the cases say that.
"""

from __future__ import annotations

import base64
import hashlib
import json
import struct
from collections.abc import Callable, Mapping
from typing import Any

import rfc8785

# Unicode 16, PropList.txt, White_Space
WHITE_SPACE = {
    *range(0x09, 0x0E),
    *(0x20, 0x85, 0xA0, 0x1680),
    *range(0x2000, 0x200B),
    *(0x2028, 0x2029, 0x202F, 0x205F, 0x3000),
}
PLACES = {  # dialect, endpoint -> members of the body that hold messages, system, tools
    ("openai", "chat"): ("messages", None, "tools"),
    ("openai", "responses"): ("input", "instructions", "tools"),
    ("openai", "embeddings"): ("input", None, None),
    ("anthropic", "messages"): ("messages", "system", "tools"),
}
NEVER_KEYED = {
    "metadata",
    "prompt_cache_key",
    "prompt_cache_retention",
    "safety_identifier",
}
PROSE_ROLES = ("system", "developer", "user", "assistant")
LEADING_ROLES = ("system", "developer")
TEXT_TYPES = ("text", "input_text", "output_text")


def frame(*parts: bytes) -> bytes:
    return b"".join(struct.pack(">I", len(part)) + part for part in parts)


def digest(tag: str, *parts: bytes) -> bytes:
    return hashlib.sha256(frame(f"askonce/1/{tag}".encode(), *parts)).digest()


def content_of(descriptor: Mapping[str, Any]) -> dict[str, Any]:
    """Return messages, system, tools and params of a descriptor that holds a body or parts."""
    if "bodyJson" in descriptor:
        body = json.loads(base64.b64decode(descriptor["bodyJson"]))
        places = PLACES[descriptor["dialect"], descriptor["endpoint"]]
        found = {
            name: body.get(place) for name, place in zip(("messages", "system", "tools"), places, strict=True)
        }
        own = {place for place in places if place}
        params = {name: value for name, value in body.items() if name not in own}
    else:
        parts = descriptor["parts"]
        found = {
            name: json.loads(base64.b64decode(parts[name])) if parts.get(name) else None
            for name in ("messages", "system", "tools")
        }
        params = json.loads(base64.b64decode(parts["params"])) if parts.get("params") else None
        params = params or {}
    for gone in ("model", "stream"):
        params.pop(gone, None)
    return {**found, "params": {name: value for name, value in params.items() if value is not None}}


def is_mark(name: str, value: Any) -> bool:
    """Whether a member marks the prompt cache; what is no object, nor null, is content."""
    return name == "cache_control" and (value is None or isinstance(value, dict))


def unmarked(items: Any) -> Any:
    """Drop marks of the prompt cache from the members of a list, and from those of their `content` lists."""
    if not isinstance(items, list):
        return items
    kept = []
    for item in items:
        if isinstance(item, dict):
            item = {name: value for name, value in item.items() if not is_mark(name, value)}  # noqa: PLW2901
            if "content" in item:
                item["content"] = unmarked(item["content"])
        kept.append(item)
    return kept


def around(descriptor: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the members of the material that are not content: headers, versions, route."""
    found: dict[str, Any] = {}
    if descriptor.get("headers"):
        found["headers"] = {name.lower(): value for name, value in descriptor["headers"].items()}
    if descriptor.get("versions"):
        found["versions"] = dict(descriptor["versions"])
    identity = rule.get("key", {}).get("identity", "served")
    route: dict[str, Any] = {}
    if identity != "served":
        if descriptor.get("routeId"):
            route |= {"id": descriptor["routeId"], "version": descriptor["routeVersion"]}
        if descriptor.get("ruleBranch"):
            route["branch"] = descriptor["ruleBranch"]
    if identity == "both":
        route |= {name: descriptor["requested"][name] for name in ("provider", "model")}
    return {**found, "route": route} if route else found


def tree_of(descriptor: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return the object whose canonical JSON is the material of the exact profile."""
    key = rule.get("key", {})
    content = content_of(descriptor)
    tree = around(descriptor, rule)
    for name in ("messages", "system", "tools"):
        if content[name] is not None:
            tree[name] = unmarked(content[name])
    gone = set(key.get("ignore_params", ()))
    if descriptor["dialect"] in ("openai", "anthropic"):
        gone |= NEVER_KEYED | {name for name, value in content["params"].items() if is_mark(name, value)}
    if key.get("stream") == "shared":
        gone.add("stream_options")
    params = {name: value for name, value in content["params"].items() if name not in gone}
    if params:
        tree["params"] = params
    return tree


def fold(text: str) -> str:
    """Turn each run of white space into one space, and strip the ends."""
    words = "".join(" " if ord(mark) in WHITE_SPACE else mark for mark in text).split(" ")
    return " ".join(word for word in words if word)


def in_content(content: Any, change: Callable[[str], Any]) -> Any:
    if isinstance(content, str):
        return change(content)
    if not isinstance(content, list):
        return content
    return [
        {**part, "text": change(part["text"])}
        if isinstance(part, dict) and part.get("type") in TEXT_TYPES and isinstance(part.get("text"), str)
        else part
        for part in content
    ]


def normalized_tree(tree: Mapping[str, Any], descriptor: Mapping[str, Any], rule: Mapping[str, Any]) -> Any:
    """Return the tree with the prose of system, user and assistant turns folded."""
    case_fold = rule.get("normalized", {}).get("case_fold", False)

    def change(text: str) -> str:
        return fold(text).casefold() if case_fold else fold(text)

    changed = dict(tree)
    messages = tree.get("messages")
    if isinstance(messages, str) and descriptor["endpoint"] == "responses":
        changed["messages"] = change(messages)
    elif isinstance(messages, list):
        changed["messages"] = [
            {**turn, "content": in_content(turn["content"], change)}
            if isinstance(turn, dict) and turn.get("role") in PROSE_ROLES and "content" in turn
            else turn
            for turn in messages
        ]
    if "system" in tree:
        changed["system"] = in_content(tree["system"], change)
    return changed


def semantic_parts(tree: Mapping[str, Any], last: int) -> tuple[str, Any]:
    """Return the text to embed, and the tree with each embedded text replaced by null."""
    messages = tree["messages"]
    if isinstance(messages, str):
        return messages, {**tree, "messages": None}
    users = [at for at, turn in enumerate(messages) if isinstance(turn, dict) and turn.get("role") == "user"]
    embedded = users[-last:] if last else users
    texts: list[str] = []

    def take(text: str) -> None:
        texts.append(text)

    blanked = [
        {**turn, "content": in_content(turn.get("content"), take)} if at in embedded else turn
        for at, turn in enumerate(messages)
    ]
    return "\n".join(texts), {**tree, "messages": blanked}


def upstream_of(descriptor: Mapping[str, Any], rule: Mapping[str, Any]) -> tuple[bytes, bytes]:
    identity = rule.get("key", {}).get("identity", "served")
    target = descriptor.get("requested" if identity == "target" else "served", {})
    return target.get("provider", "").encode(), target.get("model", "").encode()


def wants_stream(descriptor: Mapping[str, Any]) -> bool:
    if "stream" in descriptor:
        return bool(descriptor["stream"])
    if "bodyJson" not in descriptor:
        return False
    return bool(json.loads(base64.b64decode(descriptor["bodyJson"])).get("stream"))


def fingerprint(
    descriptor: Mapping[str, Any], rule: Mapping[str, Any], profile: str, material: bytes
) -> bytes:
    stream = b"stream" if wants_stream(descriptor) else b"json"
    if rule.get("key", {}).get("stream") == "shared":
        stream = b""
    return digest(
        "fingerprint",
        descriptor["dialect"].encode(),
        descriptor["endpoint"].encode(),
        *upstream_of(descriptor, rule),
        profile.encode(),
        material,
        stream,
    )


def policy(rule: Mapping[str, Any], profile: str, semantic: Mapping[str, Any] | None = None) -> bytes:
    key = rule.get("key", {})
    parts = [
        key.get("identity", "served").encode(),
        key.get("stream", "separate").encode(),
        key.get("params", "all_except").encode(),
        frame(*(name.encode() for name in sorted(key.get("ignore_params", ())))),
    ]
    if profile == "normalized":
        settings = rule.get("normalized", {})
        parts.append(b"on" if settings.get("guard", True) else b"off")
        parts.append(b"true" if settings.get("case_fold", False) else b"false")
    if semantic is not None:
        parts.append(str(semantic["history_max_messages"]).encode())
        parts.append(semantic["history_overflow"].encode())
    return digest("policy", *parts)


def dims(descriptor: Mapping[str, Any], rule: Mapping[str, Any], namespace: str) -> list[bytes]:
    parts: list[bytes] = []
    for name in rule.get("scope", ["tenant"]):
        parts += [name.encode(), descriptor["scope"][name].encode()]
    return [*parts, namespace.encode()] if namespace else parts


def scope_key(
    profile: str, generations: list[bytes], key_policy: bytes, parts: list[bytes], embedder: bytes = b""
) -> bytes:
    return digest("scope", frame(*generations), profile.encode(), embedder, key_policy, *parts)


def keys(given: Mapping[str, Any], rule: Mapping[str, Any], *, skipped: Mapping[str, str]) -> dict[str, Any]:
    """Return everything that a deterministic matcher's key is made of, and the key, for each matcher.

    `skipped` says which matcher has none, and why.
    """
    descriptor = given["descriptor"]
    parts = dims(descriptor, rule, given.get("namespace", ""))
    generations = generations_of(given, rule)
    found: dict[str, Any] = {"scope_root": digest("scope-root", *parts).hex()}
    for profile in ("exact", "normalized"):
        if profile in skipped:
            found[profile] = {"skipped": skipped[profile]}
            continue
        material = material_of(descriptor, rule, profile)
        key_policy = policy(rule, profile)
        print_ = fingerprint(descriptor, rule, profile, material)
        scope = scope_key(profile, generations, key_policy, parts)
        spelt = (
            {"material_hex": material.hex()} if "digests" in descriptor else {"material": material.decode()}
        )
        found[profile] = {
            **spelt,
            "fingerprint": print_.hex(),
            "key_policy": key_policy.hex(),
            "scope_key": scope.hex(),
            "entry_id": digest("entry", scope, print_).hex(),
        }
    return found


def generations_of(given: Mapping[str, Any], rule: Mapping[str, Any]) -> list[bytes]:
    """Return the generations of everything, the model, each dim value and the whole scope; zero if unsaid."""
    count = 3 + len(rule.get("scope", ["tenant"]))
    return [bytes.fromhex(value) for value in given.get("generations", ["00" * 16] * count)]


def material_of(descriptor: Mapping[str, Any], rule: Mapping[str, Any], profile: str) -> bytes:
    if "digests" in descriptor:
        digests = descriptor["digests"]
        sha = base64.b64decode(digests["exactSha256" if profile == "exact" else "normalizedSha256"])
        names = (digests["canonicalization"].encode(), digests["canonicalizationVersion"].encode())
        return b"\x00" + frame(*names, sha, rfc8785.dumps(around(descriptor, rule)))
    tree = tree_of(descriptor, rule)
    return rfc8785.dumps(tree if profile == "exact" else normalized_tree(tree, descriptor, rule))


def semantic_keys(given: Mapping[str, Any], rule: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a semantic entry's key is made of, and the key."""
    descriptor, settings = given["descriptor"], given["semantic"]
    last = settings["history_max_messages"]
    text, blanked = semantic_parts(tree_of(descriptor, rule), last)
    context = fingerprint(descriptor, rule, "semantic", rfc8785.dumps(blanked))
    key_policy = policy(rule, "semantic", settings)
    parts = dims(descriptor, rule, given.get("namespace", ""))
    embedder = bytes.fromhex(settings["embedder_fingerprint"])
    scope = scope_key("semantic", generations_of(given, rule), key_policy, parts, embedder)
    partition = digest("partition", scope, context, str(last).encode())
    return {
        "text": text,
        "context_material": rfc8785.dumps(blanked).decode(),
        "context": context.hex(),
        "key_policy": key_policy.hex(),
        "scope_key": scope.hex(),
        "partition": partition.hex(),
        "entry_id": digest("entry", partition, digest("text", text.encode())).hex(),
    }


def anchor(descriptor: Mapping[str, Any]) -> str:
    """Return the conversation anchor: leading system turns and the first user turn, framed by kind."""
    content = content_of(descriptor)
    turns = []
    if content["system"] is not None:
        turns.append(frame(b"system", anchored(unmarked(content["system"]))))
    messages = unmarked(content["messages"])
    if isinstance(messages, str):
        turns.append(frame(b"user", anchored(messages)))
    elif isinstance(messages, list):
        first = next((at for at, turn in enumerate(messages) if turn["role"] not in LEADING_ROLES), None)
        head = messages[:first] + [turn for turn in messages if turn["role"] == "user"][:1]
        turns += [frame(turn["role"].encode(), anchored(turn.get("content"))) for turn in head]
    return digest("anchor", *turns).hex()


def anchored(content: Any) -> bytes:
    """Return a turn's content as the anchor frames it: each part behind its kind."""
    if isinstance(content, str):
        return frame(frame(b"text", content.encode()))
    if not isinstance(content, list):
        return frame(frame(b"other", rfc8785.dumps(content)))
    return frame(*(anchored_part(part) for part in content))


def anchored_part(part: Any) -> bytes:
    kind = part.get("type") if isinstance(part, dict) else None
    if kind in TEXT_TYPES and isinstance(part.get("text"), str):
        return frame(b"text", part["text"].encode())
    return frame(kind.encode() if isinstance(kind, str) else b"other", rfc8785.dumps(part))
