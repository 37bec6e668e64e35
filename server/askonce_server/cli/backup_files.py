"""What commands that go through a whole store do: files, the progress, and what is said in the end."""

from __future__ import annotations

import os
import sys
import tempfile
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext, suppress
from pathlib import Path
from typing import BinaryIO, Final, Self

from rich.console import Console
from rich.progress import (
    BarColumn,
    DownloadColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeRemainingColumn,
)

from askonce_server import upkeep
from askonce_server.cli.configured import configuration
from askonce_server.cli.failure import Failed
from askonce_server.cli.said import STANDARD_STREAM
from askonce_server.config.model import Config
from askonce_server.upkeep import Fate, Imported, NotAnExport, Stopped, StoreUnavailable, Told

_NAMED: Final = 20
"""How many lines of one fate are named, if not all."""
_WORTH_NAMING: Final = {Fate.DAMAGED, Fate.FULL, Fate.PURGED, Fate.UNGUARDED}
"""What is to be expected of a file that is imported again is only counted."""


def settings(config: Path | None, folder: Path | None) -> Config:
    """Return the configuration, with the store in `folder` where one is named. Raises Failed."""
    loaded = configuration(config, os.environ)
    if folder is None:
        return loaded
    return loaded.model_copy(update={"store": loaded.store.model_copy(update={"path": folder.absolute()})})


def export(file: str, config: Config) -> int:
    """Write an export to `file`, which is there when it is whole. Raises Failed.

    Returns 1 when something that could be served is not in it, since its key is missing.
    """
    try:
        with _outgoing(file) as out, _Bar("exporting", MofNCompleteColumn()) as bar:
            exported = upkeep.export_store(config, out.write, bar.show)
    except StoreUnavailable as unavailable:
        raise Failed(str(unavailable)) from None
    except OSError as error:
        raise Failed(f"cannot write {file}: {error.strerror}") from None
    left_out = {
        "expired": exported.expired,
        "purged": exported.purged,
        "damaged (see askonce store verify)": exported.damaged,
        "under a key that is not among store.encryption.keys": exported.locked,
    }
    _say(f"exported {_counted(exported.stores, 'Store')}", left_out)
    if exported.encrypted and exported.stores:
        sys.stderr.write(
            "warning: the store is encrypted, and the export is not: keep it as safe as the answers\n"
        )
    return 1 if exported.locked else 0


def import_(file: str, config: Config, *, strict: bool, name_all: bool) -> int:
    """Import `file`; return 1 when something of it is missing that could be served. Raises Failed."""
    naming = _Naming(file, most=None if name_all else _NAMED)
    try:
        with _incoming(file) as source, _Bar("importing", DownloadColumn()) as bar:
            size = _size(source)
            told = Told(lambda read: bar.show(read, size), naming.left_out)
            imported = upkeep.import_store(config, source, told, strict=strict)
    except (StoreUnavailable, Stopped) as fault:
        raise Failed(f"{_name(file)}: {fault}" if isinstance(fault, Stopped) else str(fault)) from None
    except NotAnExport as fault:
        raise Failed(f"{_name(file)} cannot be imported: {fault}") from None
    except OSError as error:
        raise Failed(f"cannot read {file}: {error.strerror}") from None
    naming.end()
    _say_imported(imported)
    return 0 if imported.whole else 1


def reencrypt(config: Config) -> int:
    """Write every row anew as `store.encryption` has it; return 1 when keys are missing. Raises Failed."""
    try:
        with _Bar("reencrypting", MofNCompleteColumn()) as bar:
            result = upkeep.reencrypt(config, bar.show)
    except StoreUnavailable as unavailable:
        raise Failed(str(unavailable)) from None
    left_out = {
        "were so already": result.kept,
        "damaged (see askonce store verify)": result.damaged,
        "left under a key that is not among store.encryption.keys": result.locked,
    }
    encryption = config.store.encryption
    how = "encrypted under the first key" if encryption is not None and encryption.enabled else "in plain"
    _say(f"wrote {_counted(result.written, 'row')} {how}", left_out)
    return 1 if result.locked else 0


@contextmanager
def _outgoing(file: str) -> Iterator[BinaryIO]:
    """Give where to write; a file takes the place of another of its name once all of it is on the disk."""
    if file == STANDARD_STREAM:
        yield sys.stdout.buffer
        sys.stdout.buffer.flush()
        return
    place = Path(file)
    if place.exists() and not place.is_file():
        with place.open("wb") as out:  # a device or a pipe
            yield out
        return
    descriptor, name = tempfile.mkstemp(prefix=f".{place.name}.", dir=place.parent)
    try:
        with os.fdopen(descriptor, "wb") as out:
            yield out
            out.flush()
            os.fsync(out.fileno())
        Path(name).replace(place)
    except BaseException:
        with suppress(OSError):
            Path(name).unlink()
        raise


def _incoming(file: str) -> nullcontext[BinaryIO] | BinaryIO:
    return nullcontext(sys.stdin.buffer) if file == STANDARD_STREAM else Path(file).open("rb")


def _size(source: BinaryIO) -> int | None:
    """Return how many bytes there are to read, where that is known."""
    try:
        return os.fstat(source.fileno()).st_size or None
    except OSError:
        return None


def _name(file: str) -> str:
    return "the standard input" if file == STANDARD_STREAM else file


class _Bar:
    """A bar on a terminal, and nothing elsewhere."""

    def __init__(self, what: str, count: DownloadColumn | MofNCompleteColumn) -> None:
        console = Console(stderr=True)
        columns = (TextColumn("{task.description}"), BarColumn(), count, TimeRemainingColumn())
        self._progress = Progress(*columns, console=console, transient=True, disable=not console.is_terminal)
        self._task = self._progress.add_task(what, total=None)

    def __enter__(self) -> Self:
        self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._progress.stop()

    def show(self, done: int, total: int | None) -> None:
        """Show how far it is."""
        self._progress.update(self._task, completed=done, total=total)


class _Naming:
    """Names lines that were left out, so many of each kind."""

    def __init__(self, file: str, *, most: int | None) -> None:
        self._file = _name(file)
        self._most = most
        self._seen: Counter[Fate] = Counter()

    def left_out(self, number: int, fate: Fate, what: str) -> None:
        """Name a line."""
        self._seen[fate] += 1
        if fate in _WORTH_NAMING and (self._most is None or self._seen[fate] <= self._most):
            sys.stderr.write(f"{self._file}:{number}: {fate.value}: {what}\n")

    def end(self) -> None:
        """Say how many were not named."""
        for fate in _WORTH_NAMING:
            unnamed = 0 if self._most is None else self._seen[fate] - self._most
            if unnamed > 0:
                sys.stderr.write(f"{self._file}: {unnamed} more {fate.value} (--name-all names them)\n")


def _say_imported(imported: Imported) -> None:
    left_out = {fate.value: imported.fates[fate] for fate in Fate if fate is not Fate.IMPORTED}
    if imported.without_semantic:
        left_out["imported without the semantic entry"] = imported.without_semantic
    _say(f"imported {_counted(imported.fates[Fate.IMPORTED], 'Store')}", left_out)


def _say(done: str, left_out: dict[str, int]) -> None:
    rest = "".join(f"; {count} {why}" for why, count in left_out.items() if count)
    sys.stderr.write(f"{done}{rest}\n")


def _counted(count: int, what: str) -> str:
    return f"{count} {what}{'' if count == 1 else 's'}"
