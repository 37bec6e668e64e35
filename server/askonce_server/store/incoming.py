"""Reading an export, a line at a time: what it holds, and which lines of it are damaged."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import chain
from typing import Any, BinaryIO, Final, NamedTuple

from askonce_server.core.entries import Write
from askonce_server.core.keys import KEY_SCHEMA
from askonce_server.store import lines
from askonce_server.store.costs import MIB
from askonce_server.store.layout import SCHEMA
from askonce_server.store.lines import DamagedLine, Raised
from askonce_server.store.prepared import prepare

_MAX_LINE_BYTES: Final = 256 * MIB
"""No line is longer; what claims to be is damaged, and is not kept."""


class NotAnExport(Exception):
    """Nothing can be imported from the file; the message says why, and the mend."""


@dataclass(frozen=True, slots=True)
class Incoming:
    """A line that describes a Store, or should."""

    number: int
    """That of the line, from 1."""
    size: int
    write: Write | None
    damage: str = ""
    """What is wrong where there is no Store."""


class _Read(NamedTuple):
    number: int
    size: int
    members: dict[str, Any]
    damage: str = ""


class Export:
    """An export that is being read: its first line at once, the generations and Stores as they are asked for.

    Raises NotAnExport.
    """

    def __init__(self, source: BinaryIO) -> None:
        self._source = source
        self.bytes_read = 0
        self._lines = self._read()
        self._put_back: list[_Read] = []
        header = next(self._lines, None)
        self.guard_key = _guard_key(header)
        """The key of the guard features in the file; empty where there are none."""

    def generations(self) -> list[Raised]:
        """Return the generations that had been raised. To be asked for before the Stores."""
        found: list[Raised] = []
        for line in self._lines:
            if line.members.get("type") != "generation":
                self._put_back.append(line)
                if not line.damage:
                    break
                continue
            try:
                found.append(lines.decode_generation(line.members))
            except DamagedLine as damage:
                self._put_back.append(_Read(line.number, line.size, {}, str(damage)))
        return found

    def stores(self) -> Iterator[Incoming]:
        """Go through the Stores, and through what is damaged."""
        last = seen = 0
        ended = False
        for line in chain(self._put_back, self._lines):
            last, kind = line.number, line.members.get("type")
            if line.damage:
                seen += 1
                yield Incoming(line.number, line.size, None, line.damage)
            elif kind == "store" and not ended:
                seen += 1
                yield _incoming(line)
            elif kind == "end" and not ended:
                ended = True
                missing = line.members.get("stores", 0) - seen
                if missing > 0:
                    yield Incoming(line.number, line.size, None, f"{missing} lines before it are missing")
            else:
                seen += not ended
                yield Incoming(line.number, line.size, None, "it stands in the wrong place")
        if not ended:
            yield Incoming(last + 1, 0, None, "the last line is missing: the file was cut short")

    def _read(self) -> Iterator[_Read]:
        number = 0
        while line := self._line():
            number += 1
            size = len(line)
            if size >= _MAX_LINE_BYTES and not line.endswith(b"\n"):
                line = b""
                while (piece := self._line()) and not piece.endswith(b"\n"):
                    pass
            try:
                yield _Read(number, size, lines.decode(line))
            except DamagedLine as damage:
                yield _Read(number, size, {}, str(damage))

    def _line(self) -> bytes:
        line = self._source.readline(_MAX_LINE_BYTES)
        self.bytes_read += len(line)
        return line


def _guard_key(header: _Read | None) -> bytes:
    """Return the key in the first line, once it is one that this version reads. Raises NotAnExport."""
    if header is None:
        raise NotAnExport("it is empty")
    said = header.members
    if header.damage or said.get("type") != "export":
        raise NotAnExport(
            f"its first line is not that of an export: {header.damage or 'the type is another'}"
        )
    schema, key_schema = said.get("schema"), said.get("key_schema")
    if not isinstance(schema, int) or not 1 <= schema <= SCHEMA:
        raise NotAnExport(
            f"it has layout {schema} and this server reads up to {SCHEMA}: import it with the version that "
            "wrote it, or a newer one"
        )
    if key_schema != KEY_SCHEMA:
        raise NotAnExport(
            f"its keys follow {key_schema} and this server's {KEY_SCHEMA}, so that none would ever be found"
        )
    try:
        return bytes.fromhex(said.get("guard_key", ""))
    except (TypeError, ValueError):
        raise NotAnExport("its first line has a key of guard features that is none") from None


def _incoming(line: _Read) -> Incoming:
    try:
        write = lines.decode_store(line.members)
        prepare(write)
    except DamagedLine as damage:
        return Incoming(line.number, line.size, None, str(damage))
    except ValueError as fault:
        return Incoming(line.number, line.size, None, f"it cannot be stored: {fault}")
    return Incoming(line.number, line.size, write)
