"""Answer groups: entries of a partition whose answers were found to be the same."""

from __future__ import annotations

from hashlib import blake2b

from askonce_server.core.entries import Neighbor

GROUP_BYTES = 16


def new_group(partition: bytes, entry_id: bytes) -> bytes:
    """Return the group that begins with an entry: 16 bytes, the same whenever that entry is stored again."""
    framed = len(partition).to_bytes(4, "little") + partition + entry_id
    return blake2b(framed, digest_size=GROUP_BYTES, person=b"askonce.group").digest()


def group_of(neighbor: Neighbor) -> bytes:
    """Return the group of a stored entry, a group by itself where its answer was compared with no other."""
    key = neighbor.entry.key
    return neighbor.row.group or new_group(key.partition, key.entry_id)
