"""Derives the key of a request that the command line described, and shows it."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from askonce.v1.decision_service_pb2 import LookupRequest
from askonce_server.cli import request
from askonce_server.cli.configured import configuration
from askonce_server.cli.failure import Failed
from askonce_server.cli.said import Said
from askonce_server.config.convert import core_rules
from askonce_server.core.errors import MalformedRequest
from askonce_server.rpc import convert
from askonce_server.service.explain_key import KeyExplanation, MatcherKey, Segment
from askonce_server.service.explain_key import explain_key as derive

_SHORT = 60


def explain(
    file: str, said: Said, namespace: str, config: Path | None, environ: Mapping[str, str]
) -> KeyExplanation:
    """Return the keys of the request in `file` under the rules of `config`. Raises Failed."""
    lookup = LookupRequest(descriptor=request.descriptor(request.read(file), said), anchor=True)
    lookup.controls.namespace = namespace
    rules = core_rules(configuration(config, environ))
    try:
        return derive(convert.asked(lookup), rules)
    except MalformedRequest as malformed:
        raise Failed(str(malformed)) from None


def document(explained: KeyExplanation, *, material: bool) -> dict[str, Any]:
    """Return the explanation as JSON."""
    reason = explained.bypass_reason
    return {
        "rule_id": explained.rule_id,
        "bypass_reason": reason.name.lower() if reason else None,
        "scope_root": explained.scope_root.hex(),
        "conversation_anchor": explained.anchor,
        "matchers": [_matcher(one, material=material) for one in explained.matchers],
    }


def _matcher(one: MatcherKey, *, material: bool) -> dict[str, Any]:
    found: dict[str, Any] = {"matcher": one.matcher.name.lower()}
    if one.key is None:
        return found | {"skipped": one.skipped.name.lower() if one.skipped else None}
    return found | {
        "entry_id": one.key.entry_id.hex(),
        "fingerprint": one.key.fingerprint.hex(),
        "scope_key": one.key.scope_key.hex(),
        "fingerprint_segments": [_segment(part, material=material) for part in one.fingerprint],
        "scope_segments": [_segment(part, material=material) for part in one.scope],
    }


def _segment(part: Segment, *, material: bool) -> dict[str, Any]:
    told = {"name": part.name, "sha256": part.sha256, "bytes": len(part.value)}
    if part.name != "material" or material:
        told["value"] = _text(part.value)
    return told


def _text(value: bytes) -> str:
    """Return the bytes as text; the material of digests is no text."""
    return value.decode() if value[:1] != b"\x00" else value.hex()


def show(explained: KeyExplanation, *, material: bool) -> None:
    """Print the explanation for people."""
    console = Console(highlight=False, soft_wrap=True)
    console.print(Text(f"rule: {explained.rule_id or 'none matches'}"))
    if explained.bypass_reason is not None:
        console.print(Text(f"no key: bypass, {explained.bypass_reason.name.lower()}"))
        return
    for one in explained.matchers:
        name = one.matcher.name.lower()
        if one.key is None:
            said = (
                f"skipped, {one.skipped.name.lower()}" if one.skipped else "no key: it looks for near texts"
            )
            console.print(Text(f"\n{name}: {said}"))
            continue
        table = Table("segment", "sha256", "value", box=None, pad_edge=False)
        for part in (*one.fingerprint, *one.scope):
            table.add_row(part.name, part.sha256[:16], Text(_short(part)))
        console.print(Text(f"\n{name}"), style="bold")
        console.print(table)
        console.print(Text(f"fingerprint {one.key.fingerprint.hex()}"))
        console.print(Text(f"scope key   {one.key.scope_key.hex()}"))
        console.print(Text(f"entry id    {one.key.entry_id.hex()}"))
    if material:
        _show_material(console, explained)
    console.print(Text(f"\nconversation anchor {explained.anchor}"))


def _show_material(console: Console, explained: KeyExplanation) -> None:
    shown: set[bytes] = set()
    for one in explained.matchers:
        for part in one.fingerprint:
            if part.name == "material" and part.value not in shown:
                shown.add(part.value)
                console.print(Text(f"\nmaterial ({one.matcher.name.lower()})"), style="bold")
                console.print(Text(_text(part.value)))


def _short(part: Segment) -> str:
    if part.name == "material":
        return f"{len(part.value)} bytes"
    value = _text(part.value)
    return value if len(value) <= _SHORT else f"{value[: _SHORT - 1]}…"
