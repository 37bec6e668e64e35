"""The folder of a store: made where it is missing, refused on a network file system."""

from __future__ import annotations

from pathlib import Path
from typing import Final

from askonce_server.ports import StoreUnavailable

_NETWORK: Final = frozenset({"nfs", "nfs4", "cifs", "smb3", "smbfs", "ceph", "afs", "glusterfs", "lustre"})
"""File systems over which memory maps and locks of several machines do not agree."""


def make_folder(path: Path) -> None:
    """Make the folder at `path` where it is missing. Raises OSError, StoreUnavailable."""
    path.mkdir(mode=0o700, parents=True, exist_ok=True)
    kind = file_system(path)
    if kind in _NETWORK:
        raise StoreUnavailable(
            f"the store at {path} lies on a network file system ({kind}): move store.path to a local disk"
        )


def file_system(path: Path) -> str:
    """Return the type of the file system under `path`, or an empty text where it cannot be told."""
    try:
        mounts = Path("/proc/self/mountinfo").read_text(encoding="utf-8", errors="replace").splitlines()
    except OSError:
        return ""
    place = path.resolve()
    best, kind = -1, ""
    for line in mounts:
        fields, _, rest = line.partition(" - ")
        point = Path(fields.split()[4].replace("\\040", " "))
        if place.is_relative_to(point) and len(point.parts) >= best:
            best, kind = len(point.parts), rest.split()[0]
    return kind
