"""The client's secret at the provider, sealed under the row's own id."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.secrets import Sealed, Vault
from culprit.models import OidcProvider
from culprit.signon import queries


def seal(row: OidcProvider, secret: str, box: Vault) -> None:
    """Put it into the row."""
    sealed = box.seal(row.id, secret.encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def forget(row: OidcProvider) -> None:
    """A public client from now on."""
    row.ciphertext = row.nonce = row.wrapped_key = row.key_version = None


def opened(row: OidcProvider, box: Vault) -> str | None:
    """The secret; None for a public client. Raises SecretUnreadable."""
    return None if row.ciphertext is None else box.open(row.id, _sealed(row)).decode()


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring it under the current key-encryption key; returns how many had another."""
    row = queries.provider(session, lock=True)
    if row is None or row.key_version in {None, box.current}:
        return 0
    sealed = box.rewrap(row.id, _sealed(row))
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    audit.record(session, None, "signon.rewrapped", "oidc_provider", row.id, count=1, key=box.current)
    return 1


def _sealed(row: OidcProvider) -> Sealed:
    assert row.ciphertext and row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
