"""Reads YAML into plain values, strictly, and remembers the line of each.

Scalars follow the core schema of YAML 1.2, so that `off`, `no`, `1:30` and `2024-08-06` are texts. PyYAML's
own constructor follows YAML 1.1 and keeps the last of duplicate keys, so only its parser is used.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path as FilePath

import yaml

from askonce_server.config.problems import ConfigError, Path, Problem, written

MAX_FILE_BYTES = 4 << 20
MAX_NODES = 100_000
"""Bounds what aliases can unfold to."""

NULL = re.compile(r"^(~|null|Null|NULL|)$")
BOOLEAN = re.compile(r"^(true|True|TRUE|false|False|FALSE)$")
INTEGER = re.compile(r"^[-+]?[0-9]{1,30}$")
FLOAT = re.compile(r"^[-+]?(\.[0-9]+|[0-9]+(\.[0-9]*)?)([eE][-+]?[0-9]+)?$")
SPECIAL_FLOAT = re.compile(r"^([-+]?\.(inf|Inf|INF)|\.(nan|NaN|NAN))$")
PLAIN = "plain"
"""The tag of a scalar without quotes and without a tag of its own."""
KNOWN_TAGS = frozenset({PLAIN, *(f"tag:yaml.org,2002:{kind}" for kind in ("str", "map", "seq"))})


class _Loader(yaml.SafeLoader):
    """Parses only; what a plain scalar means is decided below."""

    def resolve(self, kind: type[yaml.Node], value: str | None, implicit: object) -> str:
        """Return the tag of a node that has none."""
        if kind is yaml.ScalarNode and isinstance(implicit, tuple) and implicit[0]:
            return PLAIN
        return str(super().resolve(kind, value, implicit))  # type: ignore[no-untyped-call]


@dataclass(slots=True)
class Source:
    """A document with the places that its settings stand at."""

    document: object
    origins: dict[Path, str] = field(default_factory=dict)
    problems: list[Problem] = field(default_factory=list)

    def origin(self, path: Path) -> str:
        """Return where the setting at `path`, or the nearest one above it, was read."""
        while path and path not in self.origins:
            path = path[:-1]
        return self.origins.get(path, "")


def text_of(file: FilePath) -> str:
    """Return the text in `file`. Raises ConfigError when there is none."""
    try:
        with file.open("rb") as stream:
            raw = stream.read(MAX_FILE_BYTES + 1)
    except OSError as error:
        raise ConfigError([Problem("", f"cannot be read: {error.strerror or error}", str(file))]) from error
    if len(raw) > MAX_FILE_BYTES:
        raise ConfigError([Problem("", f"is larger than {MAX_FILE_BYTES >> 20}MiB", str(file))])
    try:
        return raw.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = raw.count(b"\n", 0, error.start) + 1
        raise ConfigError([Problem("", "is not UTF-8", f"{file}:{line}")]) from error


def read_text(text: str, *, name: str, lines: bool = True) -> Source:
    """Read the document in `text`, which came from `name`. Raises ConfigError when it is not YAML."""
    try:
        root = yaml.compose(text, Loader=_Loader)
        builder = _Builder(name, lines=lines)
        document = builder.value(root, ()) if root is not None else None
    except yaml.YAMLError as error:
        raise ConfigError([_syntax(error, name, lines=lines)]) from error
    except RecursionError as error:
        raise ConfigError([Problem("", "is nested too deeply", name)]) from error
    return Source(document, builder.origins, builder.problems)


def _syntax(error: yaml.YAMLError, name: str, *, lines: bool) -> Problem:
    mark = getattr(error, "problem_mark", None)
    what = getattr(error, "problem", None) or str(error).splitlines()[0]
    context = getattr(error, "context", None)
    if context and "single document" in context:
        what = "holds more than one document"
    if mark is None:
        return Problem("", f"is not YAML: {what}", name)
    origin = f"{name}:{mark.line + 1}" if lines else name
    return Problem("", f"is not YAML: {what} (column {mark.column + 1})", origin)


class _Builder:
    """Turns nodes into values."""

    def __init__(self, name: str, *, lines: bool) -> None:
        self.name = name
        self.lines = lines
        self.origins: dict[Path, str] = {}
        self.problems: list[Problem] = []
        self.seen = 0
        self.open: list[yaml.Node] = []

    def value(self, node: yaml.Node, path: Path) -> object:
        """Return the value of `node`, which stands at `path`."""
        self.seen += 1
        if node in self.open or self.seen > MAX_NODES:
            self._add(path, node, "refers to itself" if node in self.open else "unfolds to too many values")
            return None
        if node.tag not in KNOWN_TAGS:
            tag = node.tag.replace("tag:yaml.org,2002:", "!!")
            self._add(path, node, f"has the tag {tag}, and tags mean nothing here")
            return None
        self.origins.setdefault(path, self._origin(node))
        self.open.append(node)
        try:
            if isinstance(node, yaml.MappingNode):
                return self._mapping(node, path)
            if isinstance(node, yaml.SequenceNode):
                return [self.value(item, (*path, at)) for at, item in enumerate(node.value)]
            return read_scalar(node.value) if node.tag == PLAIN else str(node.value)
        finally:
            self.open.pop()

    def _mapping(self, node: yaml.MappingNode, path: Path) -> dict[str, object]:
        merged: dict[str, object] = {}
        own: dict[str, object] = {}
        for key_node, value_node in node.value:
            if not isinstance(key_node, yaml.ScalarNode):
                self._add(path, key_node, "has a name that is no text")
                continue
            key = str(key_node.value)
            below = (*path, key)
            if key == "<<" and key_node.tag == PLAIN:
                for part in self._merged(value_node, path):
                    merged = {**part, **merged}
            elif key in own:
                first = self.origins[below].rpartition(":")[2]
                self._add(
                    below,
                    key_node,
                    f"stands here twice, first on line {first}" if self.lines else "stands here twice",
                )
            else:
                self.origins[below] = self._origin(key_node)
                own[key] = self.value(value_node, below)
        return {**merged, **own}

    def _merged(self, node: yaml.Node, path: Path) -> Iterator[dict[str, object]]:
        for part in node.value if isinstance(node, yaml.SequenceNode) else [node]:
            value = self.value(part, path)
            if isinstance(value, dict):
                yield value
            else:
                self._add(path, part, "merges (<<) something that is no mapping")

    def _origin(self, node: yaml.Node) -> str:
        return f"{self.name}:{node.start_mark.line + 1}" if self.lines else self.name

    def _add(self, path: Path, node: yaml.Node, message: str) -> None:
        self.problems.append(Problem(written(path), message, self._origin(node)))


def read_scalar(text: str) -> object:
    """Return the value of a plain scalar, by the core schema of YAML 1.2."""
    if NULL.match(text):
        return None
    if BOOLEAN.match(text):
        return text[0] in "tT"
    if INTEGER.match(text):
        return int(text)
    if FLOAT.match(text) or SPECIAL_FLOAT.match(text):
        return float(text.lower().replace(".inf", "inf").replace(".nan", "nan"))
    return text
