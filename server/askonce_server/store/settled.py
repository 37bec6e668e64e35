"""What a store keeps for the processes that use it: proposed by each, settled by the first."""

from __future__ import annotations

import logging

from askonce_server.clock import Anchor
from askonce_server.ports import StoreUnavailable
from askonce_server.store.anchors import decode_anchor, encode_anchor
from askonce_server.store.layout import (
    META_ANCHOR,
    META_GUARD_KEY,
    META_STORE_KEY,
    META_TOKEN_KEY,
    Transaction,
)
from askonce_server.store.rows import Rows
from askonce_server.store.session import StoreSession

_log = logging.getLogger(__name__)


class SettlingStore(StoreSession):
    """A store that keeps a clock anchor and keys."""

    def settle_anchor(self, proposed: Anchor) -> Anchor:
        """Return the clock anchor kept for the boot of `proposed`; keep `proposed` when there is none.

        Raises StoreUnavailable.
        """
        return self._ask(lambda rows, _: _settle_anchor(rows, proposed))

    def settle_token_key(self, proposed: bytes) -> bytes:
        """Return the key that signs fill tokens; keep `proposed` when there is none yet.

        It lives as long as the store, so that tokens outlive a restart. Raises StoreUnavailable.
        """
        return self._settle(META_TOKEN_KEY, proposed)

    def settle_guard_key(self, proposed: bytes) -> bytes:
        """Return the key of the guards' tokens; keep `proposed` when there is none yet.

        Raises StoreUnavailable.
        """
        key = self._settle(META_GUARD_KEY, proposed)
        self._departed.follow(key)
        return key

    def settle_encryption(self) -> None:
        """Note which key encrypts. Raises StoreUnavailable, also for an encrypted store and no key at all.

        Else a setting that got lost would have what follows written in plain.
        """
        keys = self._opened.keys
        with self.read() as view:
            kept = view.measure(self._store_key)
        if kept is not None and not len(keys):
            raise StoreUnavailable(
                f"the store at {self._path} is encrypted, and no key is given: name its keys in "
                "store.encryption; to have it plain, add enabled: false there and run askonce store reencrypt"
            )
        if kept is not None and kept not in keys:
            _log.warning(
                "the store at %s was last encrypted under key %s, which is not among store.encryption.keys: "
                "what is under it reads as absent",
                self._path,
                kept.hex(),
            )
        if keys.first is not None and keys.first != kept:
            first = keys.first
            self._ask(lambda rows, _: rows.set_meta(META_STORE_KEY, first))
        if keys.first is not None:
            _log.info("answers in the store at %s are encrypted under key %s", self._path, keys.first.hex())

    def _store_key(self, txn: Transaction) -> bytes | None:
        value = txn.get(META_STORE_KEY, db=self._opened.databases.meta)
        return None if value is None else bytes(value)

    def _settle(self, name: bytes, proposed: bytes) -> bytes:
        return self._ask(lambda rows, _: _settle(rows, name, proposed))


def _settle(rows: Rows, name: bytes, proposed: bytes) -> bytes:
    kept = rows.meta(name)
    if kept is None:
        rows.set_meta(name, proposed)
    return proposed if kept is None else kept


def _settle_anchor(rows: Rows, proposed: Anchor) -> Anchor:
    kept = decode_anchor(rows.meta(META_ANCHOR))
    if kept is not None and kept.boot_id == proposed.boot_id:
        return kept
    rows.set_meta(META_ANCHOR, encode_anchor(proposed))
    return proposed
