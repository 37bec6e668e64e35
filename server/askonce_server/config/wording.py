"""Words pydantic's errors for operators: the path as they wrote it, what is wrong, and the likely mend."""

from __future__ import annotations

import types
from collections.abc import Callable, Iterable, Mapping, Sequence
from difflib import get_close_matches
from typing import Annotated, Any, Union, get_args, get_origin

from pydantic import BaseModel, ValidationError

from askonce_server.config.fields import EMPTY, ENV_NAME_PATTERN
from askonce_server.config.problems import Path, Problem, written
from askonce_server.config.source import Source

MAPPING = "must be a mapping of names to values"


def problems_of(error: ValidationError, model: type[BaseModel], source: Source) -> list[Problem]:
    """Return one problem for each error of `model`, whose document came from `source`."""
    problems = []
    for detail in error.errors(include_url=False):
        path, siblings = located(model, detail["loc"])
        message = _message(detail["type"], detail.get("ctx", {}), detail["input"], detail["msg"])
        if detail["type"].startswith("union_tag_") and detail["input"] is not None:
            path = (*path, "kind")
        if detail["type"] == "extra_forbidden":
            message = unknown(str(path[-1]), siblings)
        problems.append(Problem(written(path), message, source.origin(path)))
    return problems


def located(model: type[BaseModel], location: Iterable[str | int]) -> tuple[Path, list[str]]:
    """Return the path that `location` means in a document, and the names that its last section knows.

    Pydantic adds the tag of a union and `[key]` for a name in a mapping, which nobody wrote.
    """
    path: Path = ()
    annotation: Any = model
    siblings: list[str] = []
    for step in location:
        sections = sections_in(annotation)
        if len(sections) > 1:
            annotation = next((section for section in sections if tag_of(section) == step), None)
            continue
        if step == "[key]":
            continue
        path = (*path, step)
        siblings = list(sections[0].model_fields) if sections else []
        annotation = _below(annotation, sections, step)
    return path, siblings


def sections_in(annotation: Any) -> list[type[BaseModel]]:
    """Return the sections that `annotation` allows: itself, or the members of a union."""
    if get_origin(annotation) is Annotated:
        return sections_in(get_args(annotation)[0])
    if get_origin(annotation) in {Union, types.UnionType}:
        return [section for member in get_args(annotation) for section in sections_in(member)]
    return [annotation] if isinstance(annotation, type) and issubclass(annotation, BaseModel) else []


def tag_of(section: type[BaseModel]) -> str:
    """Return the `kind` of a section of a union."""
    return str(get_args(section.model_fields["kind"].annotation)[0])


def item_of(annotation: Any) -> Any:
    """Return the type of the items of a list or mapping, or None."""
    if get_origin(annotation) is Annotated:
        return item_of(get_args(annotation)[0])
    if get_origin(annotation) is tuple:
        return get_args(annotation)[0]
    return get_args(annotation)[1] if get_origin(annotation) is dict else None


def unknown(name: str, known: Iterable[str]) -> str:
    """Say that `name` is not one of `known`, and which was likely meant."""
    names = list(known)
    mend = did_you_mean(name, names)
    return f"is no setting{mend or ': known here are ' + ', '.join(names)}"


def did_you_mean(name: object, known: Iterable[str]) -> str:
    """Return `: did you mean …?`, or nothing."""
    word = str(name)
    by_folded = {folded(candidate): candidate for candidate in known}
    close = get_close_matches(folded(word), by_folded, n=1, cutoff=0.6)
    return f": did you mean {by_folded[close[0]]}?" if close else ""


def folded(name: str) -> str:
    """Return `name` as it is compared: `maxBytes`, `max-bytes` and `MAX_BYTES` are near `max_bytes`."""
    return name.lower().replace("-", "").replace("_", "")


def _below(annotation: Any, sections: list[type[BaseModel]], step: str | int) -> Any:
    if not sections:
        return item_of(annotation)
    field = sections[0].model_fields.get(str(step))
    return field.annotation if field is not None else None


def _message(kind: str, context: Mapping[str, Any], value: object, fallback: str) -> str:
    wording = WORDINGS.get(kind)
    return wording(context, value) if wording is not None else fallback[:1].lower() + fallback[1:]


def _choice(context: Mapping[str, Any], value: object) -> str:
    options = str(context["expected"]).replace("'", "").replace(" or ", ", ").split(", ")
    return _one_of(options, value)


def _kind(context: Mapping[str, Any], _value: object) -> str:
    return _one_of(str(context["expected_tags"]).replace("'", "").split(", "), context["tag"])


def _one_of(options: Sequence[str], value: object) -> str:
    if value is None:
        return EMPTY
    listed = " or ".join(filter(None, [", ".join(options[:-1]), options[-1]]))
    return f"must be {listed}, not {_shown(value)}{did_you_mean(value, options)}"


def _text(_context: Mapping[str, Any], value: object) -> str:
    if isinstance(value, bool | int | float):
        return f"must be a text: write {_shown(value)} in quotes"
    return EMPTY if value is None else "must be a text"


def _pattern(context: Mapping[str, Any], _value: object) -> str:
    if context["pattern"] == ENV_NAME_PATTERN:  # never shown: it may be the secret itself
        return "must be the name of an environment variable"
    return "must be a name of 1 to 64 letters, digits, '.', '_' and '-' that begins with a letter or digit"


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    text = repr(value) if isinstance(value, str) else str(value)
    return text if len(text) <= 60 else text[:57] + "..."


def _always(message: str) -> Callable[[Mapping[str, Any], object], str]:
    return lambda _context, value: EMPTY if value is None else message


WORDINGS: dict[str, Callable[[Mapping[str, Any], object], str]] = {
    "missing": lambda _context, _value: "is required",
    "value_error": lambda context, _value: str(context["error"]),
    "literal_error": _choice,
    "union_tag_invalid": _kind,
    "union_tag_not_found": _always("is required"),
    "string_type": _text,
    "string_too_short": _always("must not be empty"),
    "string_pattern_mismatch": _pattern,
    "int_type": _always("must be a whole number"),
    "float_type": _always("must be a number"),
    "finite_number": _always("must be a finite number"),
    "greater_than": lambda context, _value: f"must be more than {context['gt']:g}",
    "greater_than_equal": lambda context, _value: f"must be at least {context['ge']:g}",
    "less_than": lambda context, _value: f"must be less than {context['lt']:g}",
    "less_than_equal": lambda context, _value: f"must be at most {context['le']:g}",
    "too_short": _always("must not be empty"),
    "tuple_type": _always("must be a list"),
    "dict_type": _always(MAPPING),
    "model_type": _always(MAPPING),
    "model_attributes_type": _always(MAPPING),
}
