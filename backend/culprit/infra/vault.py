"""Secrets at rest: each under AES-256-GCM with its own key, wrapped by the key-encryption key.

The row ID is the associated data of both layers, so that a ciphertext moved to another row does not open.
Rotation re-wraps 60 bytes per secret and never touches the secret itself. Errors contain neither secrets nor
keys.
"""

from __future__ import annotations

import secrets
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from uuid import UUID

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM

from culprit.infra.settings import get_settings

NONCE_BYTES = 12
KEY_BYTES = 32


class SecretUnreadableError(Exception):
    """A sealed secret does not open: wrong or missing key-encryption key, or a changed row."""


@dataclass(frozen=True, slots=True)
class Sealed:
    """Stored form of a secret. `wrapped_key` is nonce + ciphertext of the data key."""

    ciphertext: bytes
    nonce: bytes
    wrapped_key: bytes
    key_version: int


class Vault:
    """Seal and open secrets with a ring of key-encryption keys; seal with `current`."""

    def __init__(self, keys: Mapping[int, bytes], current: int) -> None:
        if current not in keys:
            raise ValueError(f"no key of version {current}")
        self._keys = dict(keys)
        self.current = current

    def seal(self, row_id: UUID, secret: bytes) -> Sealed:
        """Seal the secret of row `row_id` with a new data key."""
        key = AESGCM.generate_key(bit_length=256)
        nonce = secrets.token_bytes(NONCE_BYTES)
        ciphertext = AESGCM(key).encrypt(nonce, secret, _build_associated_data(row_id, b"secret"))
        return Sealed(ciphertext, nonce, self._wrap_key(row_id, key), self.current)

    def open(self, row_id: UUID, sealed: Sealed) -> bytes:
        """Return the secret. Raises SecretUnreadableError."""
        key = self._unwrap_key(row_id, sealed)
        try:
            return AESGCM(key).decrypt(
                sealed.nonce, sealed.ciphertext, _build_associated_data(row_id, b"secret")
            )
        except (InvalidTag, ValueError):
            raise SecretUnreadableError(f"row {row_id} was changed") from None

    def rewrap(self, row_id: UUID, sealed: Sealed) -> Sealed:
        """Return the same secret under the current key-encryption key."""
        key = self._unwrap_key(row_id, sealed)
        return Sealed(sealed.ciphertext, sealed.nonce, self._wrap_key(row_id, key), self.current)

    def _wrap_key(self, row_id: UUID, key: bytes) -> bytes:
        nonce = secrets.token_bytes(NONCE_BYTES)
        bound = _build_associated_data(row_id, b"key:%d" % self.current)
        return nonce + AESGCM(self._keys[self.current]).encrypt(nonce, key, bound)

    def _unwrap_key(self, row_id: UUID, sealed: Sealed) -> bytes:
        wrapping = self._keys.get(sealed.key_version)
        if wrapping is None:
            raise SecretUnreadableError(f"row {row_id} needs key version {sealed.key_version}")
        nonce, wrapped = sealed.wrapped_key[:NONCE_BYTES], sealed.wrapped_key[NONCE_BYTES:]
        bound = _build_associated_data(row_id, b"key:%d" % sealed.key_version)
        try:
            return AESGCM(wrapping).decrypt(nonce, wrapped, bound)
        except (InvalidTag, ValueError):
            raise SecretUnreadableError(
                f"row {row_id} does not open with key version {sealed.key_version}"
            ) from None


def _build_associated_data(row_id: UUID, purpose: bytes) -> bytes:
    return b"culprit:" + purpose + b":" + row_id.bytes


@lru_cache(maxsize=1)
def get_vault() -> Vault:
    """Return the vault of this process. Raises ValueError if no key is set."""
    return Vault(get_settings().key_ring(), get_settings().secret_key_version)
