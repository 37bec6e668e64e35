"""Making room in a store that is full."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import islice, takewhile
from typing import Final

from askonce_server.store.costs import MIB, write_cost
from askonce_server.store.hits import Hits
from askonce_server.store.layout import META_HAND
from askonce_server.store.prepared import Prepared
from askonce_server.store.rows import Rows
from askonce_server.store.sieve import victims
from askonce_server.store.space import Space

SWEEP_ROWS: Final = 256
"""How many expired entries are removed at once."""
EVICT_STORES: Final = 256
"""How many Stores are evicted between two measurements."""
_NEW_STORES: Final = 64
"""So many of the newest Stores go last: whoever stored them had no time to ask for them yet."""
_MAX_ROUNDS: Final = 16
"""How often one Store may evict before it is refused."""


def make_room(rows: Rows, space: Space, hits: Hits, prepared: Prepared, *, now_ms: int) -> bool:
    """Take the room that a write needs, or return False.

    What it replaces makes room first, then what has expired, then what SIEVE lets go. Nothing is evicted for
    an answer that takes more than half of the store, nor when it is the file that cannot grow: pages that a
    reader holds are not freed by removing rows.
    """
    cost = write_cost(prepared)
    if space.take(cost) or space.take(cost, freed=rows.reclaimable(prepared)):
        return True
    if cost > space.limit // 2:
        return False
    rows.remove_expired(now_ms, limit=SWEEP_ROWS)
    for _ in range(_MAX_ROUNDS):
        space.measure()
        freed = rows.reclaimable(prepared)
        if space.take(cost, freed=freed):
            return True
        short = space.shortfall(cost, freed=freed)
        if short <= 0 or not evict(rows, hits, wanted=short + slack(space.limit), now_ms=now_ms):
            return False
    return False


def trim(rows: Rows, space: Space, hits: Hits, *, now_ms: int) -> bool:
    """Evict some of what a store has above its limit, which was lowered; return whether there is more."""
    short = space.shortfall(0, freed=0)
    if short <= 0 or not evict(rows, hits, wanted=short + slack(space.limit), now_ms=now_ms):
        return False
    space.measure()
    return space.shortfall(0, freed=0) > 0


def slack(limit: int) -> int:
    """Return how many bytes more than needed are evicted, so that not every Store has to."""
    return min(limit // 64, MIB)


def evict(rows: Rows, hits: Hits, *, wanted: int, now_ms: int) -> int:
    """Evict Stores that took about `wanted` bytes of pages; return how many Stores."""
    hand = int.from_bytes(rows.meta(META_HAND) or b"", "big")
    last = rows.newest_store() - _NEW_STORES

    def older_from(store_id: int) -> Iterator[int]:
        return takewhile(lambda one: one <= last, rows.stores_from(store_id))

    chosen = _choose(rows, victims(older_from, hand, hits.take), wanted)
    chosen = chosen or _choose(rows, victims(rows.stores_from, hand, hits.take), wanted)
    for store_id in chosen:
        rows.evict(store_id, now_ms=now_ms)
    if chosen:
        rows.evicted += len(chosen)
        hand = next(rows.stores_from(chosen[-1] + 1), 0)  # behind the newest: the oldest, not what comes next
        rows.set_meta(META_HAND, hand.to_bytes(8, "big"))
    return len(chosen)


def _choose(rows: Rows, candidates: Iterator[int], wanted: int) -> list[int]:
    """Return as many Stores, in order, as take `wanted` bytes."""
    chosen: list[int] = []
    freed = 0
    for store_id in islice(candidates, EVICT_STORES):
        chosen.append(store_id)
        freed += rows.store_cost(store_id)
        if freed >= wanted:
            break
    return chosen
