"""SIEVE: which Stores to evict.

Zhang, Yang, Yue, Vigfusson, Rashmi: "SIEVE is Simpler than LRU" (NSDI 2024). Stores stand in the order of
their arrival and never move. A hand goes from the oldest to the newest and round again: what was read since
the hand came by last is spared and loses its mark, the first that was not goes. New answers that nobody asks
for again therefore go soon, and those that are asked for stay.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Final

_MAX_SPARED: Final = 4096
"""So many are spared at once; then the next goes, read or not, since the writer must go on."""


def victims(
    stores_from: Callable[[int], Iterator[int]], hand: int, take_mark: Callable[[int], bool]
) -> Iterator[int]:
    """Go through the ids of the Stores to evict, in order, each once.

    `stores_from` iterates over the ids from a given one upwards, `hand` is the one after the last victim or
    0, `take_mark` tells whether a Store was read and takes its mark. None of the Stores is removed meanwhile.
    """
    spared, chosen = 0, set[int]()
    start, left = hand, 2  # from the hand to the end, then all of them twice: to take marks, and to choose
    while left >= 0:
        for store_id in stores_from(start):
            if store_id in chosen:
                return
            if spared < _MAX_SPARED and take_mark(store_id):
                spared += 1
                continue
            chosen.add(store_id)
            yield store_id
        start, left = 0, left - 1
