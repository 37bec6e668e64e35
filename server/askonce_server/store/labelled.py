"""The labels of a store, read beside whoever serves from it."""

from __future__ import annotations

from typing import Final

from askonce_server.core.labels import Label
from askonce_server.ports import StoreUnavailable
from askonce_server.store.environment import DATA_FILE, StoreSettings, open_environment
from askonce_server.store.labels import LabelRows

_PAGE: Final = 5000


def read_labels(settings: StoreSettings) -> list[Label]:
    """Return the labels of the store at `settings.path`, oldest first. Raises StoreUnavailable.

    A server may have the store open: it is read as another worker would.
    """
    if not (settings.path / DATA_FILE).exists():
        raise StoreUnavailable(f"there is no store at {settings.path}: name its folder")
    opened = open_environment(settings, exclusive=False)
    try:
        labels: list[Label] = []
        after = 0
        while True:
            with opened.env.begin(buffers=True) as txn:
                page = LabelRows(txn, opened.databases.observations).page(after, limit=_PAGE)
            labels += page.labels
            after = page.last
            if len(page.labels) < _PAGE:
                return labels
    finally:
        opened.close()
