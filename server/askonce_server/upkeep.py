"""A store without a server: what the commands that look after one do with it."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import BinaryIO

from askonce_server import store
from askonce_server.config.model import Config
from askonce_server.core.labels import Label
from askonce_server.ports import StoreUnavailable
from askonce_server.store import (
    Compacted,
    Exported,
    Fate,
    Finding,
    Imported,
    NotAnExport,
    Reencrypted,
    Stopped,
    StoreSettings,
    Told,
)

__all__ = [
    "Compacted",
    "Exported",
    "Fate",
    "Finding",
    "Imported",
    "NotAnExport",
    "Reencrypted",
    "Stopped",
    "StoreUnavailable",
    "Told",
    "compact",
    "export_store",
    "import_store",
    "labels",
    "reencrypt",
    "store_settings",
    "verify",
]


def store_settings(config: Config) -> StoreSettings:
    """Return how the store of `config` is used by one process that stands alone. Raises StoreUnavailable."""
    section = config.store
    if section.engine != "lmdb":
        raise StoreUnavailable(f"store.engine is {section.engine}: what it keeps ends with the server")
    return StoreSettings(
        path=section.path,
        max_bytes=section.max_bytes,
        durability=section.durability,
        write_timeout=section.write_timeout.total_seconds(),
        keys=store.keyring(section),
    )


def export_store(
    config: Config, write: Callable[[bytes], object], tell: Callable[[int, int], object]
) -> Exported:
    """Give every line of an export to `write`; `tell` hears how many Stores of how many.

    Raises StoreUnavailable.
    """
    return store.export_store(store_settings(config), write, tell, now_ms=_now_ms())


def import_store(config: Config, source: BinaryIO, told: Told, *, strict: bool) -> Imported:
    """File what stands in `source`. Raises StoreUnavailable, NotAnExport and, under `strict`, Stopped."""
    return store.import_store(store_settings(config), source, told, now_ms=_now_ms(), strict=strict)


def labels(config: Config) -> list[Label]:
    """Return the labels that the store has, oldest first, beside a server too. Raises StoreUnavailable."""
    return store.read_labels(store_settings(config))


def verify(config: Config, *, repair: bool) -> list[Finding]:
    """Return every row that disagrees with others; with `repair` mend them. Raises StoreUnavailable."""
    return store.verify(store_settings(config), repair=repair)


def compact(config: Config) -> Compacted:
    """Write the store anew without free pages. Raises StoreUnavailable."""
    return store.compact(store_settings(config))


def reencrypt(config: Config, tell: Callable[[int, int], object]) -> Reencrypted:
    """Write every row anew as `store.encryption` has it; `tell` hears how many rows of how many.

    Raises StoreUnavailable.
    """
    return store.reencrypt(store_settings(config), tell)


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
