"""The kinds of values that settings have: how each is read, written back and described to editors."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import timedelta
from fnmatch import translate
from pathlib import Path
from typing import Annotated, Generic, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    ValidationError,
    WithJsonSchema,
)
from pydantic_core import InitErrorDetails, PydanticCustomError

from askonce_server.config.address import Address, TcpAddress, UnixAddress, parse_address
from askonce_server.config.quantities import format_size, format_time, parse_size, parse_time

EMPTY = "is empty: give it a value or leave it out"

Quantity = TypeVar("Quantity", int, timedelta)


@dataclass(frozen=True, slots=True)
class Kind:
    """What operators call the type of a setting."""

    name: str


@dataclass(frozen=True, slots=True)
class DefaultText:
    """Says in words a default that depends on the user's folders or is too long to show."""

    text: str


class Section(BaseModel):
    """A mapping of the configuration: unknown names are mistakes, values never change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True
    )


def expected(what: str, value: object) -> ValueError:
    """Return the error that `value` is not `what`. Pydantic reports only ValueErrors beside others."""
    return ValueError(EMPTY if value is None else f"must be {what}")


def mistake_at(setting: str, message: str, value: object) -> ValidationError:
    """Return the error that `setting`, below the one being checked, is wrong as `message` says."""
    error = PydanticCustomError("value_error", "{error}", {"error": message})
    details = InitErrorDetails(type=error, loc=(setting,), input=value)
    return ValidationError.from_exception_data(setting, [details])


def read_size(value: object) -> int:
    """Return bytes. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise expected("a size such as 1MiB", value)
    return parse_size(value)


def read_time(value: object) -> timedelta:
    """Return a time. Raises ValueError for plain numbers, which do not say their unit."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise expected("a time such as 15m, 35ms or 1h30m", value)
    return parse_time(str(value))


def read_address(value: object) -> Address:
    """Return an address. Raises ValueError that names the mend."""
    if isinstance(value, UnixAddress | TcpAddress):
        return value
    if not isinstance(value, str):
        raise expected("an address such as unix:///run/askonce/askonce.sock or 127.0.0.1:50051", value)
    return parse_address(value)


def read_switch(value: object) -> bool:
    """Return a boolean, however YAML of either version spells it. Raises ValueError."""
    if isinstance(value, bool):
        return value
    word = value.lower() if isinstance(value, str) else None
    if word in {"on", "true", "yes"}:
        return True
    if word in {"off", "false", "no"}:
        return False
    raise expected("true or false (on or off)", value)


def read_list(value: object) -> object:
    """Wrap a single text, and say what is wrong with anything that is no list. Raises ValueError."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise expected("a text or a list of texts", value)
    return value


def read_patterns(value: object) -> object:
    """Read like a list, but refuse an empty one: it could mean any or none. Raises ValueError."""
    if value == []:
        raise ValueError("must not be empty: leave it out to match any")
    return read_list(value)


_SET = re.compile(r"\[!?+\]?+[^\]]*\]")
"""A set of a glob as `fnmatch` finds it: a `]` that comes first stands for itself."""


def glob(value: str) -> str:
    """Return `value`. Raises ValueError for a glob that would match something else than it looks like."""
    if "[" in _SET.sub("", value):
        raise ValueError(f"{value!r} has a [ that no ] closes: close it, or write [[] for the sign itself")
    if "(?!)" in translate(value):
        raise ValueError(f"{value!r} matches nothing: a range in it runs backwards, write it as in [a-z]")
    return value


def read_path(value: object) -> Path:
    """Return a path, `~` replaced by the home folder. Raises ValueError."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise expected("a path", value)
    return Path(value).expanduser()


def distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return `values`. Raises ValueError when one stands there twice."""
    for at, value in enumerate(values):
        if value in values[:at]:
            raise ValueError(f"names {value!r} twice")
    return values


@dataclass(frozen=True, slots=True)
class Between(Generic[Quantity]):
    """A check that a size or time is from `low` to `high`, both included."""

    low: Quantity
    high: Quantity

    def __call__(self, value: Quantity) -> Quantity:
        """Return `value`. Raises ValueError."""
        if value < self.low or value > self.high:
            raise ValueError(f"must be from {self}")
        return value

    def __str__(self) -> str:
        return f"{_written(self.low)} to {_written(self.high)}"


def _written(quantity: int | timedelta) -> str:
    return format_time(quantity) if isinstance(quantity, timedelta) else format_size(quantity)


def one_or_many(item: Mapping[str, object]) -> dict[str, object]:
    """Return the JSON Schema of `item` or a list of them."""
    return {"anyOf": [item, {"type": "array", "items": item, "uniqueItems": True}]}


KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
MS = timedelta(milliseconds=1)

TEXT_SCHEMA = {"type": "string", "minLength": 1}
ADDRESS_SCHEMA = {"type": "string", "examples": ["unix:///run/askonce/askonce.sock", "127.0.0.1:50051"]}

Size = Annotated[
    int,
    Kind("size"),
    PlainValidator(read_size),
    PlainSerializer(format_size, return_type=str),
    WithJsonSchema(
        {
            "anyOf": [
                {"type": "integer", "minimum": 0},
                {"type": "string", "pattern": r"^\d+(\.\d+)?\s*(B|[kMGT]B|[KMGT]iB)?$"},
            ]
        }
    ),
]
Time = Annotated[
    timedelta,
    Kind("time"),
    PlainValidator(read_time),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": r"^(0|(\d+(\.\d+)?(d|h|m|s|ms))+)$"}, {"const": 0}]}
    ),
]
Switch = Annotated[
    bool,
    Kind("`true` or `false`"),
    PlainValidator(read_switch),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off", "yes", "no"]}]}),
]
FilePath = Annotated[
    Path,
    Kind("path"),
    PlainValidator(read_path),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(TEXT_SCHEMA),
]
OneAddress = Annotated[
    UnixAddress | TcpAddress,
    Kind("address"),
    PlainValidator(read_address),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(ADDRESS_SCHEMA),
]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[
    tuple[Text, ...],
    Kind("text or list of texts"),
    BeforeValidator(read_list),
    AfterValidator(distinct),
    WithJsonSchema(one_or_many(TEXT_SCHEMA)),
]
Glob = Annotated[Text, AfterValidator(glob)]
Patterns = Annotated[
    tuple[Glob, ...],
    Kind("pattern or list of patterns"),
    BeforeValidator(read_patterns),
    AfterValidator(distinct),
    WithJsonSchema(
        one_or_many({**TEXT_SCHEMA, "description": "A glob: `*`, `?` and `[abc]`, case-sensitive."})
    ),
]
ENV_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
EnvName = Annotated[str, Kind("name of a variable"), Field(pattern=ENV_NAME_PATTERN)]
NAME_PATTERN = r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$"
Name = Annotated[str, Kind("name"), Field(pattern=NAME_PATTERN)]
NAME_SCHEMA = {"type": "string", "pattern": NAME_PATTERN}
Count = Annotated[int, Field(strict=True)]
