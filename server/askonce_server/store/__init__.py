"""Adapters of the EntryStore port.

`open_store` gives the embedded store on LMDB, `MemoryEntryStore` its twin for tests, `UnavailableStore`
what stands in for a store that cannot be opened, and `ReopeningStore` tries again. `Sweeper` keeps one clean.
"""

from askonce_server.store.environment import Durability, StoreSettings
from askonce_server.store.lmdb import LmdbEntryStore
from askonce_server.store.local_leases import LocalLeases
from askonce_server.store.memory import MemoryEntryStore
from askonce_server.store.opening import open_store
from askonce_server.store.reopening import ReopeningStore
from askonce_server.store.shared_leases import SharedLeases, open_leases
from askonce_server.store.sweeper import Sweeper, SweeperStats
from askonce_server.store.unavailable import UnavailableStore

__all__ = [
    "Durability",
    "LmdbEntryStore",
    "LocalLeases",
    "MemoryEntryStore",
    "ReopeningStore",
    "SharedLeases",
    "StoreSettings",
    "Sweeper",
    "SweeperStats",
    "UnavailableStore",
    "open_leases",
    "open_store",
]
