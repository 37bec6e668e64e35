"""Adapters of the EntryStore port.

`open_store` gives the embedded store on LMDB, `MemoryEntryStore` its twin for tests, `UnavailableStore`
what stands in for a store that cannot be opened, and `ReopeningStore` tries again. `Sweeper` keeps one clean.
`export_store`, `import_store`, `compact`, `reencrypt` and `verify` are for stores that no server has open.
"""

from askonce_server.store.compacting import Compacted, compact
from askonce_server.store.environment import Durability, StoreSettings
from askonce_server.store.exporting import Exported, export_store
from askonce_server.store.factory import keyring
from askonce_server.store.importing import Fate, Imported, Stopped, Told, import_store
from askonce_server.store.incoming import NotAnExport
from askonce_server.store.labelled import read_labels
from askonce_server.store.lmdb import LmdbEntryStore
from askonce_server.store.local_leases import LocalLeases
from askonce_server.store.memory import MemoryEntryStore
from askonce_server.store.opening import open_store, verify
from askonce_server.store.reencrypting import Reencrypted, reencrypt
from askonce_server.store.reopening import ReopeningStore
from askonce_server.store.shared_leases import SharedLeases, open_leases
from askonce_server.store.sweeper import Sweeper, SweeperStats
from askonce_server.store.turn import Turn
from askonce_server.store.unavailable import UnavailableStore
from askonce_server.store.verification import Finding

__all__ = [
    "Compacted",
    "Durability",
    "Exported",
    "Fate",
    "Finding",
    "Imported",
    "LmdbEntryStore",
    "LocalLeases",
    "MemoryEntryStore",
    "NotAnExport",
    "Reencrypted",
    "ReopeningStore",
    "SharedLeases",
    "Stopped",
    "StoreSettings",
    "Sweeper",
    "SweeperStats",
    "Told",
    "Turn",
    "UnavailableStore",
    "compact",
    "export_store",
    "import_store",
    "keyring",
    "open_leases",
    "open_store",
    "read_labels",
    "reencrypt",
    "verify",
]
