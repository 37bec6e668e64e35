"""Loads the configuration: a file, or the embedded default, under the overrides of the environment."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from pydantic import ValidationError

from askonce_server.config.crosscheck import findings
from askonce_server.config.environment import override
from askonce_server.config.model import Config
from askonce_server.config.places import default_listen, state_folder
from askonce_server.config.problems import ConfigError, Problem, written
from askonce_server.config.source import Source, read_text, text_of
from askonce_server.config.wording import problems_of

__all__ = ["ConfigError", "Problem", "load", "load_text", "text_of", "validate"]


def load(path: str | os.PathLike[str] | None, environ: Mapping[str, str]) -> Config:
    """Return the configuration in the file at `path`, or the embedded default, as `environ` overrides it.

    Raises ConfigError with every mistake at once.
    """
    if path is None:
        return validate(Source({}), environ)
    return load_text(text_of(Path(path)), name=str(path), environ=environ)


def load_text(text: str, *, name: str, environ: Mapping[str, str]) -> Config:
    """Return the configuration in `text`, which stood in the file called `name`, as `environ` overrides it.

    Raises ConfigError with every mistake at once.
    """
    source = read_text(text, name=name)
    if source.document is None and not source.problems:
        raise ConfigError([Problem("", "is empty: to run the embedded default, name no file", name)])
    return validate(source, environ)


def validate(source: Source, environ: Mapping[str, str]) -> Config:
    """Return the configuration in `source`, as `environ` overrides it. Raises ConfigError."""
    override(source, environ)
    problems = list(source.problems)
    document = source.document
    if isinstance(document, dict):
        for finding, message in findings(document):
            problems.append(Problem(written(finding), message, source.origin(finding)))
        document = _with_places(document, environ)
    try:
        config = Config.model_validate(document)
    except ValidationError as error:
        # What the reader could not make sense of was left empty, which is no mistake of its own.
        unread = {problem.path for problem in source.problems}
        problems.extend(found for found in problems_of(error, Config, source) if found.path not in unread)
        raise ConfigError(sorted(problems, key=_place)) from None
    if problems:
        raise ConfigError(sorted(problems, key=_place))
    return config


def _with_places(document: dict[str, object], environ: Mapping[str, str]) -> dict[str, object]:
    """Return `document` with the defaults that depend on the user's folders."""
    filled = {"listen": list(default_listen(environ)), "store": {}, **document}
    if isinstance(filled["store"], dict):
        # A user without a home has to say where: the empty path is reported as no path.
        filled["store"] = {"path": state_folder(environ), **filled["store"]}
    return filled


def _place(problem: Problem) -> tuple[str, int]:
    name, _, line = problem.origin.rpartition(":")
    return (name, int(line)) if line.isdigit() else (problem.origin, 0)
