"""Giving disk back: a store's file is written anew without its free pages, and takes the old one's place."""

from __future__ import annotations

import os
import shutil
from pathlib import Path
from typing import Final, NamedTuple

import lmdb

from askonce_server.ports import StoreUnavailable
from askonce_server.store.costs import MIB
from askonce_server.store.environment import DATA_FILE, OpenEnvironment, StoreSettings, open_existing
from askonce_server.store.faults import describe
from askonce_server.store.space import used_bytes

_COPY: Final = "compacting"
"""The folder of the copy, inside the store's own: on the same disk, so that it can take its place."""


class Compacted(NamedTuple):
    """The bytes that a file took on the disk, and takes now."""

    before: int
    after: int


def compact(settings: StoreSettings) -> Compacted:
    """Compact the store at `settings.path`.

    The old file stays what it is until the new one is on the disk. Raises StoreUnavailable, also when
    somebody has the store open, or when there is no room for both files.
    """
    opened = open_existing(settings)
    copy = settings.path / _COPY
    try:
        shutil.rmtree(copy, ignore_errors=True)  # left by one that was killed
        _see_that_there_is_room(opened, settings.path)
        copy.mkdir(mode=0o700)
        opened.env.copy(str(copy), compact=True)
        opened.env.close()
        return _swap(settings.path / DATA_FILE, copy / DATA_FILE)
    except (lmdb.Error, OSError) as fault:
        raise StoreUnavailable(describe(fault, settings.path)) from fault
    finally:
        shutil.rmtree(copy, ignore_errors=True)
        opened.close()


def _see_that_there_is_room(opened: OpenEnvironment, folder: Path) -> None:
    with opened.env.begin(buffers=True) as txn:
        needed = used_bytes(txn, opened.databases)
    free = shutil.disk_usage(folder).free
    if free < needed + MIB:
        raise StoreUnavailable(
            f"the copy of the store at {folder} takes {needed // MIB + 1} MiB, and its disk has "
            f"{free // MIB} MiB left: make room, or export the store to another disk"
        )


def _swap(old: Path, new: Path) -> Compacted:
    """Bring the new file to the disk, then let it take the old one's place, at once and for good."""
    with new.open("rb+") as file:
        os.fchmod(file.fileno(), 0o600)
        os.fsync(file.fileno())
    sizes = Compacted(old.stat().st_blocks * 512, new.stat().st_blocks * 512)
    new.replace(old)
    folder = os.open(old.parent, os.O_RDONLY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)
    return sizes
