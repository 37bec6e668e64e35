"""The settings of encryption at rest."""

from __future__ import annotations

from typing import Annotated

from pydantic import AfterValidator, ValidationInfo, field_validator

from askonce_server.config.fields import EnvName, FilePath, Section, Switch


class EncryptionKey(Section):
    """Where a key is: 32 random bytes, in base64 or hex; in a file also as they are."""

    key_file: FilePath | None = None
    """The file with the key; this or `key_env` is required."""
    key_env: EnvName | None = None
    """The name of the environment variable with the key; this or `key_file` is required."""

    @field_validator("key_env")
    @classmethod
    def _one_place(cls, value: str | None, checked: ValidationInfo) -> str | None:
        if "key_file" in checked.data and (value is None) == (checked.data["key_file"] is None):
            raise ValueError("needs exactly one of key_file and key_env")
        return value


def at_least_one(keys: tuple[EncryptionKey, ...]) -> tuple[EncryptionKey, ...]:
    """Return `keys`. Raises ValueError when there is none."""
    if not keys:
        raise ValueError("must name at least one key")
    return keys


class EncryptionSection(Section):
    """Encryption of answers, vectors and stored texts on disk, by AES-256-GCM.

    Keys are read when the store is opened.
    """

    keys: Annotated[tuple[EncryptionKey, ...], AfterValidator(at_least_one)]
    """The keys, the newest first: it encrypts, and all of them read."""
    enabled: Switch = True
    """Whether what is stored is encrypted; off, the keys only read what was."""
