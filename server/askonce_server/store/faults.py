"""What a failure of the store means, in words that name the mend."""

from __future__ import annotations

import errno
import shutil
from pathlib import Path
from typing import Final

import lmdb

from askonce_server.store.held import StoreLost
from askonce_server.store.seals import Damaged

_FULL: Final = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
_NO_SPACE_BYTES: Final = 1 << 20
_DENIED: Final = frozenset({errno.EACCES, errno.EPERM, errno.EROFS})
_DAMAGED: Final = (
    lmdb.CorruptedError,
    lmdb.InvalidError,
    lmdb.PageNotFoundError,
    lmdb.VersionMismatchError,
    lmdb.PageFullError,
    lmdb.CursorFullError,
)


def number_of(fault: BaseException, path: Path) -> int:
    """Return the system's error number behind `fault` at `path`, or 0.

    LMDB calls a short write an input/output error; on a disk without space it is that disk being full.
    """
    number = fault.errno if isinstance(fault, OSError) else getattr(fault, "code", 0)
    if isinstance(fault, lmdb.DiskError):
        return errno.ENOSPC
    if number == errno.EIO and _free_bytes(path) < _NO_SPACE_BYTES:
        return errno.ENOSPC
    return number or 0


def _free_bytes(path: Path) -> int:
    try:
        return shutil.disk_usage(path).free
    except OSError:
        return _NO_SPACE_BYTES


def is_full(fault: BaseException, path: Path) -> bool:
    """Whether there was no room for the store at `path`: neither in the map nor on the disk."""
    return isinstance(fault, lmdb.MapFullError) or number_of(fault, path) in _FULL


def is_damage(fault: BaseException) -> bool:
    """Whether it means that the data file is damaged."""
    return isinstance(fault, (*_DAMAGED, Damaged))


def describe(fault: BaseException, path: Path) -> str:
    """Say what went wrong with the store at `path` and how to mend it."""
    if isinstance(fault, StoreLost):
        return str(fault)
    number = number_of(fault, path)
    if number in _FULL:
        return f"no space left for the store at {path}: free some on its disk, or move store.path ({fault})"
    if number in _DENIED:
        return f"the store at {path} cannot be written: allow this user to, or move store.path ({fault})"
    if number == errno.EIO:
        return f"the disk under the store at {path} fails: check it, or move store.path ({fault})"
    if is_damage(fault):
        return damaged(path, str(fault))
    if isinstance(fault, lmdb.PanicError):
        return f"the store at {path} stopped after a failed write: restart the server ({fault})"
    if isinstance(fault, lmdb.ReadersFullError):
        return f"too many readers of the store at {path}: lower the number of workers or threads ({fault})"
    return f"the store at {path} cannot be used: {fault}"


def damaged(path: Path, finding: str) -> str:
    """Say that the data file of the store at `path` is damaged, what was found, and how to mend it."""
    return (
        f"the store at {path} is damaged ({finding}): move that folder away or restore it; "
        "without it the server starts with an empty store"
    )
