"""Answer groups: entries of a partition whose answers were found to be the same."""

from __future__ import annotations

from askonce_server.core.entries import Neighbor

GROUP_BYTES = 16


def new_group(entry_id: bytes) -> bytes:
    """Return the group that begins with an entry: 16 bytes, the same whenever that entry is stored again.

    An entry's id is a hash of its partition and text, so that its beginning is no other's.
    """
    return entry_id[:GROUP_BYTES]


def group_of(neighbor: Neighbor) -> bytes:
    """Return the group of a stored entry, a group by itself where its answer was compared with no other."""
    return neighbor.row.group or neighbor.entry.key.entry_id[:GROUP_BYTES]
