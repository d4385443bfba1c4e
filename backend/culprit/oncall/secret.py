"""Where a rotation is fetched from: the address of a calendar and the token of PagerDuty, sealed under its id."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra import outgoing
from culprit.infra.outgoing import Address
from culprit.infra.secrets import Sealed, Vault
from culprit.models import Rotation


def address_of(url: str) -> Address:
    """The address of a calendar; `webcal` is https. Raises OutgoingError `url`."""
    scheme, colon, rest = url.partition(":")
    return outgoing.address_of(f"https:{rest}" if scheme.lower() in {"webcal", "webcals"} and colon else url)


def seal(row: Rotation, secret: str, box: Vault) -> None:
    """Put the secret into the row, sealed."""
    sealed = box.seal(row.id, secret.encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def forget(row: Rotation) -> None:
    """No secret from now on."""
    row.ciphertext = row.nonce = row.wrapped_key = row.key_version = None


def opened(row: Rotation, box: Vault) -> str | None:
    """The secret; None where there is none. Raises SecretUnreadable."""
    if row.ciphertext is None:
        return None
    return box.open(row.id, _sealed(row)).decode()


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every secret under the current key-encryption key; returns how many had another."""
    query = select(Rotation).where(Rotation.key_version.is_not(None), Rotation.key_version != box.current)
    rows = session.scalars(query.with_for_update()).all()
    for row in rows:
        sealed = box.rewrap(row.id, _sealed(row))
        row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    if rows:
        audit.record(session, None, "oncall.rewrapped", "rotation", "all", count=len(rows), key=box.current)
    return len(rows)


def _sealed(row: Rotation) -> Sealed:
    assert row.ciphertext and row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
