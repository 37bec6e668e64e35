"""How the clock's anchor is kept in the store."""

from __future__ import annotations

import struct
from typing import Final

from askonce_server.clock import Anchor

_TIMES: Final = struct.Struct(">qq")


def encode_anchor(anchor: Anchor) -> bytes:
    """Return the row of `anchor`."""
    return _TIMES.pack(anchor.wall_ns, anchor.boot_ns) + anchor.boot_id.encode()


def decode_anchor(value: bytes | None) -> Anchor | None:
    """Return the anchor in a row, or None where there is none."""
    if value is None or len(value) < _TIMES.size:
        return None
    wall_ns, boot_ns = _TIMES.unpack_from(value)
    return Anchor(value[_TIMES.size :].decode(errors="replace"), wall_ns, boot_ns)
