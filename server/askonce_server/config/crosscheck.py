"""Mistakes between settings that are far apart.

They are looked for in the document itself, so that they show beside mistakes of single settings; whatever is
not of the expected shape is passed over here, since it has been reported already.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from askonce_server.config.places import MAX_SOCKET_PATH_BYTES
from askonce_server.config.problems import Path
from askonce_server.config.wording import did_you_mean

Finding = tuple[Path, str]
"""A path and what is wrong there."""


def findings(document: dict[str, Any]) -> Iterator[Finding]:
    """Return the mistakes between settings of `document`."""
    yield from _twins(document)
    yield from _embedders(document)
    yield from _judge(document)
    yield from _listeners(document)
    yield from _workers(document)


def _workers(document: dict[str, Any]) -> Iterator[Finding]:
    workers = document.get("workers")
    if not isinstance(workers, int) or workers < 2:
        return
    if _section(document, "store").get("engine") == "memory":
        yield ("workers",), "each would have a memory of its own: use store.engine lmdb, or 1 worker"
    longest = MAX_SOCKET_PATH_BYTES - len(f".{workers - 1}")
    for section, name in (((), document), (("admin",), _section(document, "admin"))):
        for address in _texts(name.get("listen")):
            path = address.removeprefix("unix:").removeprefix("//")
            if address.startswith("unix:") and longest < len(path.encode()) <= MAX_SOCKET_PATH_BYTES:
                yield (
                    (*section, "listen"),
                    f"the path of a socket may have {longest} bytes here, since each worker adds its number",
                )


def _twins(document: dict[str, Any]) -> Iterator[Finding]:
    first: dict[str, int] = {}
    for at, rule in _rules(document):
        name = rule.get("id")
        if not isinstance(name, str):
            continue
        if name in first:
            yield ("rules", at, "id"), f"{name!r} is already the id of rules[{first[name]}]"
        first.setdefault(name, at)


def _embedders(document: dict[str, Any]) -> Iterator[Finding]:
    embedders = document.get("embedders", {})
    if not isinstance(embedders, dict):
        return
    for at, rule in _rules(document):
        name = _section(rule, "semantic").get("embedder")
        if isinstance(name, str) and name not in embedders:
            known = ", ".join(embedders) or "none"
            mend = did_you_mean(name, embedders) or f": known here are {known}"
            yield ("rules", at, "semantic", "embedder"), f"{name!r} is not among embedders{mend}"


def _judge(document: dict[str, Any]) -> Iterator[Finding]:
    if document.get("judge") is not None:
        return
    for at, rule in _rules(document):
        if _section(rule, "semantic").get("verifier") == "judge":
            mend = "add the section judge, with url and model, beside rules"
            yield ("rules", at, "semantic", "verifier"), f"is judge, and none is described: {mend}"


def _listeners(document: dict[str, Any]) -> Iterator[Finding]:
    public = _texts(document.get("listen"))
    for name in ("admin", "telemetry"):
        for address in _texts(_section(document, name).get("listen")):
            if address in public:
                yield (name, "listen"), f"{address} is already in listen: it needs an address of its own"
    admin = _texts(_section(document, "admin").get("listen"))
    for address in _texts(_section(document, "telemetry").get("listen")):
        if address in admin:
            yield (
                ("telemetry", "listen"),
                f"{address} is already in admin.listen: it needs an address of its own",
            )


def _rules(document: dict[str, Any]) -> Iterator[tuple[int, dict[str, Any]]]:
    rules = document.get("rules")
    for at, rule in enumerate(rules if isinstance(rules, list) else ()):
        if isinstance(rule, dict):
            yield at, rule


def _section(within: dict[str, Any], name: str) -> dict[str, Any]:
    section = within.get(name)
    return section if isinstance(section, dict) else {}


def _texts(value: object) -> list[str]:
    return [item for item in (value if isinstance(value, list) else [value]) if isinstance(item, str)]
