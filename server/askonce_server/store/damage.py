"""Whether a data file can be mapped at all.

LMDB trusts its file. What it finds there decides which memory it touches, so that a damaged file can end the
process with a signal that no handler survives. The file is therefore looked at before it is mapped.

The layout read here is that of LMDB 0.9 (`mdb.c`: MDB_page, MDB_meta) on a 64-bit machine.
"""

from __future__ import annotations

import importlib
import logging
import os
import struct
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Final

from askonce_server.store.costs import MIB
from askonce_server.store.faults import damaged

_MAGIC: Final = 0xBEEFC0DE
_VERSION: Final = 1
_PAGE_HEADER: Final = 16
_META: Final = struct.Struct("=II8xQI92xQQ")
"""Magic, version, map size, page size (the first number of the first database), last page, transaction id."""
_SMALL_BYTES: Final = 32 * MIB
"""Checked at every opening: a quarter of a second at most (7 s a GB measured)."""
_log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class FileHeader:
    """What the newer of the two meta pages of a data file says."""

    page_bytes: int
    last_page: int

    @property
    def used_bytes(self) -> int:
        """The length that the file has at least."""
        return (self.last_page + 1) * self.page_bytes


class DamagedFile(Exception):
    """The data file must not be mapped; the message says what was found and how to mend it."""


def read_header(data_file: Path) -> FileHeader | None:
    """Return the header of a data file, or None when there is no file or an empty one.

    Raises DamagedFile when it is none of LMDB's, or is cut short; OSError when it cannot be read.
    """
    folder = data_file.parent
    try:
        with data_file.open("rb") as file:
            size = os.fstat(file.fileno()).st_size
            if size == 0:
                return None
            first = _read_meta(file.read(_PAGE_HEADER + _META.size))
            page_bytes = first[3] if first is not None else 0
            if first is None or not 512 <= page_bytes <= 65536 or page_bytes & (page_bytes - 1):
                raise DamagedFile(damaged(folder, "its first page is not one of LMDB 0.9"))
            file.seek(page_bytes)
            second = _read_meta(file.read(_PAGE_HEADER + _META.size))
    except FileNotFoundError:
        return None
    if second is None or second[3] != page_bytes:
        raise DamagedFile(damaged(folder, "its second page is not one of LMDB 0.9"))
    newer = max(first, second, key=lambda meta: meta[5])
    if abs(first[5] - second[5]) != (1 if newer[5] else 0):
        raise DamagedFile(damaged(folder, "its two first pages do not follow each other"))
    header = FileHeader(page_bytes, newer[4])
    if size < header.used_bytes:
        raise DamagedFile(damaged(folder, f"it has {size} bytes of {header.used_bytes}: it was cut short"))
    return header


def _read_meta(page: bytes) -> tuple[Any, ...] | None:
    if len(page) < _PAGE_HEADER + _META.size:
        return None
    meta = _META.unpack_from(page, _PAGE_HEADER)
    return meta if meta[:2] == (_MAGIC, _VERSION) else None


def check_structure(data_file: Path, header: FileHeader, *, suspect: bool) -> None:
    """Check every page of a small file, and of a large one that is `suspect`. Raises DamagedFile.

    Left-over pages that nothing refers to are no damage.
    """
    if header.used_bytes > _SMALL_BYTES and not suspect:
        return
    started = time.monotonic()
    verify: Any = importlib.import_module("lmdb.verify")
    try:
        findings = [text for text in verify.verify(str(data_file.parent)) if "leak" not in text]
    except verify.VerifyError as fault:
        findings = [str(fault)]
    if header.used_bytes > _SMALL_BYTES:
        _log.info(
            "checked %d bytes of %s in %.1f s", header.used_bytes, data_file, time.monotonic() - started
        )
    if findings:
        raise DamagedFile(damaged(data_file.parent, f"{len(findings)} findings, the first: {findings[0]}"))
