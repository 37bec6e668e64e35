"""The demo's cases: `cases.json` lists them in order, `bodies/` and `answers/` hold the bytes."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from importlib.resources import files
from importlib.resources.abc import Traversable
from typing import Any

_CONTENT_TYPES = {"json": "application/json", "sse": "text/event-stream"}


@dataclass(frozen=True, slots=True)
class DemoCase:
    """One request with the provider's answer, and what has to become of it in two passes over all cases."""

    title: str
    dialect: str
    endpoint: str
    provider: str
    """Of the served target; `model` too."""
    model: str
    scope: Mapping[str, str]
    body: bytes
    """The provider's own request body."""
    first: str
    """The first pass over an empty store: `hit exact`, `hit normalized`, `miss, stored`, `miss, refused R` or
    `bypass R`, where R is a reason of the contract in lower case."""
    second: str
    """The second pass: as above, or `miss` alone, whatever becomes of the answer."""
    answer: bytes = b""
    """What the provider answers. Empty where the demo has no answer to offer: nothing is to be stored."""
    content_type: str = ""
    status: int = 0
    finish_reasons: tuple[str, ...] = ()
    stream_complete: bool = False


def cases() -> list[DemoCase]:
    """Return the cases in the order in which they are to be played: later ones build on earlier ones."""
    folder = files("askonce_server.demo")
    listed = json.loads((folder / "cases.json").read_bytes())
    return [_case(folder, fields) for fields in listed]


def _case(folder: Traversable, fields: dict[str, Any]) -> DemoCase:
    body = (folder / "bodies" / fields.pop("body")).read_bytes()
    return DemoCase(body=body, **fields | _answer(folder, fields.pop("answer", None)))


def _answer(folder: Traversable, answer: dict[str, Any] | None) -> dict[str, Any]:
    if answer is None:
        return {}
    name = answer["body"]
    return {
        "answer": (folder / "answers" / name).read_bytes(),
        "content_type": _CONTENT_TYPES[name.rpartition(".")[2]],
        "status": answer["status"],
        "finish_reasons": tuple(answer["finish_reasons"]),
        "stream_complete": answer["stream_complete"],
    }
