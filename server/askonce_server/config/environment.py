"""Settings from the environment: `ASKONCE_<SETTING>`, and `ASKONCE_<SECTION>_<SETTING>` one level down."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path as FilePath
from typing import Any

from askonce_server.config.model import Config
from askonce_server.config.problems import ConfigError, Path, Problem
from askonce_server.config.source import Source, read_scalar, read_text
from askonce_server.config.wording import did_you_mean, item_of, sections_in

PREFIX = "ASKONCE_"
NOT_SETTINGS = frozenset({"ASKONCE_CONFIG", "ASKONCE_TARGET", "ASKONCE_ADMIN_TARGET"})
"""Name the file, and the server and the admin listener that a command talks to."""
INJECTED = re.compile(
    r"^ASKONCE_(\w+_)?(SERVICE_HOST|SERVICE_PORT(_\w+)?|PORT_\d+_(TCP|UDP|SCTP)(_(PROTO|PORT|ADDR))?)$"
)
"""Kubernetes sets these in every pod beside a Service whose name begins with `askonce`."""
INJECTED_URL = re.compile(r"^(tcp|udp|sctp)://")
"""The value of the one of them that is named like a setting: `ASKONCE_PORT`."""


@dataclass(frozen=True, slots=True)
class Variable:
    """A setting that a variable overrides, and its type."""

    path: Path
    annotation: Any


def variables() -> dict[str, Variable]:
    """Return every variable by name, a section before its settings."""
    found = {}
    for name, field in Config.model_fields.items():
        found[f"{PREFIX}{name.upper()}"] = Variable((name,), field.annotation)
        for section in sections_in(field.annotation):
            for inner, below in section.model_fields.items():
                found[f"{PREFIX}{name.upper()}_{inner.upper()}"] = Variable((name, inner), below.annotation)
    return found


def override(source: Source, environ: Mapping[str, str]) -> None:
    """Put the settings of `environ` into the document of `source`, and add a problem for each that is none.

    An empty variable counts as absent, and so do those that the configuration itself names, such as the
    one with a token.
    """
    known = variables()
    for name, variable in known.items():
        if environ.get(name):
            _apply(source, variable, name, environ[name])
    expected = {*known, *NOT_SETTINGS, *_named(source.document)}
    for name, value in sorted(environ.items()):
        if name.startswith(PREFIX) and value and name not in expected and not _injected(name, value):
            source.problems.append(Problem("", f"is no setting{did_you_mean(name, known)}", name))


def _apply(source: Source, variable: Variable, name: str, text: str) -> None:
    place = source.document
    for step in variable.path[:-1]:
        if isinstance(place, dict) and place.get(step) is None:
            place[step] = {}
        place = place.get(step) if isinstance(place, dict) else None
    if not isinstance(place, dict):
        return  # the file has something else there, which is reported as its mistake
    try:
        place[variable.path[-1]] = _value(source, variable, name, text)
    except ConfigError as error:
        source.problems.extend(error.problems)
        return
    for old in [path for path in source.origins if path[: len(variable.path)] == variable.path]:
        del source.origins[old]
    source.origins[variable.path] = name


def _value(source: Source, variable: Variable, name: str, text: str) -> object:
    if variable.path[-1] == "listen" and not (text.startswith("[") and text.endswith("]")):
        items = [item.strip() for item in text.split(",")]
        return items if len(items) > 1 else items[0]
    if sections_in(variable.annotation) or item_of(variable.annotation) is not None:
        read = read_text(text, name=name, lines=False)
        source.problems.extend(read.problems)
        return read.document
    return text if variable.annotation is FilePath else read_scalar(text)


def _named(value: object) -> Iterator[str]:
    """Return the variables that settings such as `token_env` name."""
    if isinstance(value, dict):
        for name, below in value.items():
            if isinstance(below, str) and name.endswith("_env"):
                yield below
            yield from _named(below)
    elif isinstance(value, list):
        for below in value:
            yield from _named(below)


def _injected(name: str, value: str) -> bool:
    return bool(INJECTED.match(name) or (name.endswith("_PORT") and INJECTED_URL.match(value)))
