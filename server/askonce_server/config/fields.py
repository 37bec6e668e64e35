"""The kinds of values that settings have: how each is read, written back and described to editors."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from datetime import timedelta
from pathlib import Path
from typing import Annotated, TypeVar

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    PlainSerializer,
    PlainValidator,
    WithJsonSchema,
)

from askonce_server.config.address import Address, TcpAddress, UnixAddress, parse_address
from askonce_server.config.quantities import format_size, format_time, parse_size, parse_time

Quantity = TypeVar("Quantity", int, timedelta)


class Section(BaseModel):
    """A mapping of the configuration: unknown names are mistakes, values never change."""

    model_config = ConfigDict(
        extra="forbid", frozen=True, validate_default=True, use_attribute_docstrings=True
    )


def read_size(value: object) -> int:
    """Return bytes. Raises ValueError."""
    if isinstance(value, bool) or not isinstance(value, int | str):
        raise ValueError("must be a size such as 1MiB")  # noqa: TRY004 - pydantic wants ValueError
    return parse_size(value)


def read_time(value: object) -> timedelta:
    """Return a time. Raises ValueError for plain numbers, which do not say their unit."""
    if isinstance(value, timedelta):
        return value
    if isinstance(value, bool) or not isinstance(value, int | float | str):
        raise ValueError("must be a time such as 15m, 35ms or 1h30m")  # noqa: TRY004 - as above
    return parse_time(str(value))


def read_address(value: object) -> Address:
    """Return an address. Raises ValueError that names the mend."""
    if isinstance(value, UnixAddress | TcpAddress):
        return value
    if not isinstance(value, str):
        raise ValueError("must be an address such as unix:///run/askonce/askonce.sock or 127.0.0.1:50051")  # noqa: TRY004 - as above
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
    raise ValueError("must be true or false (on or off)")


def read_list(value: object) -> object:
    """Wrap a single text, and say what is wrong with anything that is no list. Raises ValueError."""
    if isinstance(value, str):
        return (value,)
    if not isinstance(value, list | tuple):
        raise ValueError("must be a text or a list of texts")  # noqa: TRY004 - as above
    return value


def read_patterns(value: object) -> object:
    """Read like a list, but refuse an empty one: it could mean any or none. Raises ValueError."""
    if value == []:
        raise ValueError("must not be empty: leave it out to match any")
    return read_list(value)


def read_path(value: object) -> Path:
    """Return a path, `~` replaced by the home folder. Raises ValueError."""
    if isinstance(value, Path):
        return value
    if not isinstance(value, str) or not value or "\0" in value:
        raise ValueError("must be a path")
    return Path(value).expanduser()


def distinct(values: tuple[str, ...]) -> tuple[str, ...]:
    """Return `values`. Raises ValueError when one stands there twice."""
    for at, value in enumerate(values):
        if value in values[:at]:
            raise ValueError(f"names {value!r} twice")
    return values


def between(low: Quantity, high: Quantity) -> Callable[[Quantity], Quantity]:
    """Return a check that a size or time is from `low` to `high`, both included."""

    def check(value: Quantity) -> Quantity:
        if value < low or value > high:
            raise ValueError(f"must be from {_written(low)} to {_written(high)}")
        return value

    return check


def _written(quantity: int | timedelta) -> str:
    return format_time(quantity) if isinstance(quantity, timedelta) else format_size(quantity)


def _one_or_many(item: Mapping[str, object]) -> dict[str, object]:
    return {"anyOf": [item, {"type": "array", "items": item, "uniqueItems": True}]}


KIB, MIB, GIB, TIB = 1 << 10, 1 << 20, 1 << 30, 1 << 40
MS = timedelta(milliseconds=1)

TEXT_SCHEMA = {"type": "string", "minLength": 1}
ADDRESS_SCHEMA = {"type": "string", "examples": ["unix:///run/askonce/askonce.sock", "127.0.0.1:50051"]}

Size = Annotated[
    int,
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
    PlainValidator(read_time),
    PlainSerializer(format_time, return_type=str),
    WithJsonSchema(
        {"anyOf": [{"type": "string", "pattern": r"^(0|(\d+(\.\d+)?(d|h|m|s|ms))+)$"}, {"const": 0}]}
    ),
]
Switch = Annotated[
    bool,
    PlainValidator(read_switch),
    WithJsonSchema({"anyOf": [{"type": "boolean"}, {"enum": ["on", "off", "yes", "no"]}]}),
]
FilePath = Annotated[
    Path,
    PlainValidator(read_path),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(TEXT_SCHEMA),
]
OneAddress = Annotated[
    UnixAddress | TcpAddress,
    PlainValidator(read_address),
    PlainSerializer(str, return_type=str),
    WithJsonSchema(ADDRESS_SCHEMA),
]
Text = Annotated[str, Field(min_length=1)]
Texts = Annotated[
    tuple[Text, ...],
    BeforeValidator(read_list),
    AfterValidator(distinct),
    WithJsonSchema(_one_or_many(TEXT_SCHEMA)),
]
Patterns = Annotated[
    tuple[Text, ...],
    BeforeValidator(read_patterns),
    AfterValidator(distinct),
    WithJsonSchema(
        _one_or_many({**TEXT_SCHEMA, "description": "A glob: `*`, `?` and `[abc]`, case-sensitive."})
    ),
]
ENV_NAME_PATTERN = r"^[A-Za-z_][A-Za-z0-9_]*$"
EnvName = Annotated[str, Field(pattern=ENV_NAME_PATTERN)]
Name = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$")]
Count = Annotated[int, Field(strict=True)]
