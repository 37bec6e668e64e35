"""Write the vectors: `python tests/conformance/make_vectors.py`, or with `--check` only compare.

The wants come from the second implementation in `reference.py`, never from the server.
"""

from __future__ import annotations

import base64
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

HERE = Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from conformance import reference  # noqa: E402
from conformance.cases import (  # noqa: E402
    anchors,
    content,
    meanings,
    policies,
    prose,
    refused,
    scopes,
    segments,
    spelling,
    streams_chat,
    streams_messages,
    streams_responses,
)
from conformance.cases.case import RULES, Case  # noqa: E402

GROUPS: dict[str, ModuleType] = {
    module.__name__.rpartition(".")[2]: module
    for module in (segments, spelling, content, prose, scopes, policies, meanings, refused, anchors)
}


def main() -> None:
    stale = [name for name, text in files().items() if not _is_written(name, text)]
    if "--check" in sys.argv:
        sys.exit(f"stale: {', '.join(stale)}" if stale else 0)
    for name, text in files().items():
        (HERE / name).write_text(text, encoding="utf-8")


def files() -> dict[str, str]:
    """Return the text of every generated file by name."""
    found = {"rules.json": _dumped({"rules": list(rules().values())})}
    for name, module in GROUPS.items():
        cases = [vector(case) for case in module.CASES]
        found[f"{name}.json"] = _dumped({"about": module.__doc__, "key_schema": "askonce/1", "cases": cases})
    modules = (streams_chat, streams_responses, streams_messages)
    streams = [case.vector() for module in modules for case in module.CASES]
    found["streams.json"] = _dumped(
        {"about": "Recorded streams, documents, and one made of the other.", "cases": streams}
    )
    return found


def rules() -> dict[str, dict[str, Any]]:
    """Return the rules as a configuration file has them, each chosen by the attribute `rule`."""
    return {
        name: {
            "id": name,
            "match": {"attributes": {"rule": name}},
            "strategy": ["exact", "normalized"],
            "scope": ["tenant"],
            **settings,
        }
        for name, settings in RULES.items()
    }


def vector(case: Case) -> dict[str, Any]:
    """Return a case with its wants."""
    attributes = {**case.descriptor.get("attributes", {}), "rule": case.rule}
    given: dict[str, Any] = {"rule": case.rule, "descriptor": {**case.descriptor, "attributes": attributes}}
    readable = _readable(case.descriptor)
    if readable:
        given["content_text"] = readable
    for name in ("namespace", "generations", "semantic"):
        if getattr(case, name):
            given[name] = getattr(case, name)
    found = {"name": case.name, "why": case.why, "given": given, "want": _want(case, given)}
    for name, relation in (("same", case.same), ("apart", case.apart)):
        named = {kind: list(others) for kind, others in relation.items() if others}
        if named:
            found[name] = named
    return found


def _want(case: Case, given: dict[str, Any]) -> dict[str, Any]:
    if case.bypass:
        return {"bypass": case.bypass}
    if case.invalid:
        return {"invalid": list(case.invalid)}
    rule = rules()[case.rule]
    if case.anchor:
        return {"anchor": reference.anchor(given["descriptor"])}
    if case.semantic is not None:
        skipped = case.skipped.get("semantic")
        return {"semantic": {"skipped": skipped} if skipped else reference.semantic_keys(given, rule)}
    return reference.keys(given, rule, skipped=case.skipped)


def _readable(descriptor: Any) -> Any:
    """Return the content as text, where it is: for people, since proto3 JSON has bytes in base64."""
    if "bodyJson" in descriptor:
        return _text(descriptor["bodyJson"])
    return {name: _text(value) for name, value in descriptor.get("parts", {}).items()}


def _text(value: str) -> str:
    return base64.b64decode(value).decode(errors="replace")


def _is_written(name: str, text: str) -> bool:
    path = HERE / name
    return path.exists() and path.read_text(encoding="utf-8") == text


def _dumped(tree: Any) -> str:
    return json.dumps(tree, indent=1, ensure_ascii=True) + "\n"


def load() -> Sequence[dict[str, Any]]:
    """Return all written vectors."""
    return [
        case
        for name in GROUPS
        for case in json.loads((HERE / f"{name}.json").read_text(encoding="utf-8"))["cases"]
    ]


if __name__ == "__main__":
    main()
