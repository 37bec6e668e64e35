"""Makes the keyring that a configuration describes."""

from __future__ import annotations

import os
from collections.abc import Mapping

from askonce_server.config.keys import KeyFault, read_keys
from askonce_server.config.model import StoreSection
from askonce_server.ports import StoreUnavailable
from askonce_server.store.keyring import PLAIN, Keyring


def keyring(section: StoreSection, *, environ: Mapping[str, str] = os.environ) -> Keyring:
    """Read the keys of `section.encryption`; none without it. Raises StoreUnavailable."""
    if section.encryption is None:
        return PLAIN
    try:
        return Keyring(read_keys(section.encryption, environ), encrypts=section.encryption.enabled)
    except KeyFault as fault:
        raise StoreUnavailable(
            f"the store at {section.path} is not opened without its keys: {fault}"
        ) from fault
