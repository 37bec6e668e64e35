"""What is known of many answers, in bounded memory."""

from __future__ import annotations

from collections import OrderedDict
from collections.abc import Callable

from askonce_server.core.standing import Standing, begin
from askonce_server.core.varints import Reader, put, put_bytes


class Standings:
    """The standings of at most `most` answers, each known by its group.

    The answer that was asked about longest ago is forgotten: where it was between two audits and its last
    labels, no more; when it comes back its next audit is at a random serve again. What is held, on probation
    or in quarantine, is never forgotten.
    """

    def __init__(self, *, most: int, every: int, key: bytes) -> None:
        self._most = most
        self._every = every
        self._key = key
        self._used: OrderedDict[bytes, Standing] = OrderedDict()
        """Those that may be forgotten, the one that was used last at the end."""
        self._held: dict[bytes, Standing] = {}
        self._forgotten = 0

    def __len__(self) -> int:
        """Return how many are remembered."""
        return len(self._used) + len(self._held)

    def find(self, group: bytes) -> Standing | None:
        """Return what is known of an answer."""
        return self._used.get(group) or self._held.get(group)

    def get(self, group: bytes) -> Standing | None:
        """Return the standing of an answer, a new one where nothing is known.

        None: all that are remembered are held, so that what becomes of this one could not be remembered.
        """
        known = self.find(group)
        if known is None and len(self._held) < self._most:
            known = begin(group, self._key, self._every, again=self._forgotten)
        return known

    def put(self, group: bytes, standing: Standing) -> None:
        """Remember a standing, as the one that was used last. Does nothing where `get` had none."""
        if group not in self._used and group not in self._held and not self._room():
            return
        if standing.held:
            self._used.pop(group, None)
            self._held[group] = standing
        else:
            self._held.pop(group, None)
            self._used[group] = standing
            self._used.move_to_end(group)

    def forget(self, which: Callable[[bytes], bool]) -> None:
        """Forget answers that are no more."""
        for known in (self._used, self._held):
            for group in [group for group in known if which(group)]:
                del known[group]

    def write(self, written: bytearray) -> None:
        """Append all of it to `written`: a group's bytes and some five more each."""
        put(written, self._forgotten, len(self))
        for known in (self._used, self._held):
            for group, standing in known.items():
                put_bytes(written, group)
                standing.write(written)

    def read(self, reader: Reader) -> None:
        """Take in what `write` wrote, as far as there is room. Raises ValueError."""
        self._forgotten = reader.number()
        for _ in range(reader.number()):
            group = reader.value()
            self.put(group, Standing.read(reader))

    def _room(self) -> bool:
        if len(self) < self._most:
            return True
        if not self._used:
            return False
        self._used.popitem(last=False)
        self._forgotten += 1
        return True
