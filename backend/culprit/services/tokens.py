"""The bearer token of a service's Prometheus, sealed like a credential under the id of its service."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.secrets import Sealed, Vault
from culprit.models import Service


def seal(row: Service, token: str, box: Vault) -> None:
    """Put the token into the row, sealed."""
    sealed = box.seal(row.id, token.encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def forget(row: Service) -> None:
    """No token from now on."""
    row.ciphertext = row.nonce = row.wrapped_key = row.key_version = None


def opened(row: Service, box: Vault) -> str | None:
    """The token; None where there is none. Raises SecretUnreadable."""
    if row.ciphertext is None:
        return None
    return box.open(row.id, _sealed(row)).decode()


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every token under the current key-encryption key; returns how many had another."""
    query = select(Service).where(Service.key_version.is_not(None), Service.key_version != box.current)
    rows = session.scalars(query.with_for_update()).all()
    for row in rows:
        sealed = box.rewrap(row.id, _sealed(row))
        row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    if rows:
        audit.record(session, None, "service.rewrapped", "service", "all", count=len(rows), key=box.current)
    return len(rows)


def _sealed(row: Service) -> Sealed:
    assert row.ciphertext and row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
