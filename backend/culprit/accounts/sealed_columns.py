"""Secrets in rows: sealed under the id of their row, in the four columns that every table with a secret has alike."""

from __future__ import annotations

from collections.abc import Sequence
from typing import cast

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.infra.secrets import Sealed, Vault
from culprit.models import Channel, Credential, OidcProvider, ReportVersion, Rotation, Service, Trigger

Holder = Channel | Credential | OidcProvider | ReportVersion | Rotation | Service | Trigger
#: Tables with secrets, and the word that the audit log has for each.
HOLDERS: tuple[tuple[type[Holder], str], ...] = (
    (Channel, "channel"),
    (Credential, "credential"),
    (OidcProvider, "signon"),
    (ReportVersion, "report"),
    (Rotation, "oncall"),
    (Service, "service"),
    (Trigger, "trigger"),
)


def seal(row: Holder, secret: str, box: Vault) -> None:
    """Put a secret into a row, which must have its id."""
    _put(row, box.seal(row.id, secret.encode()))


def opened(row: Holder, box: Vault) -> str | None:
    """The secret of a row; None where it has none. Raises SecretUnreadable."""
    sealed = _sealed(row)
    return None if sealed is None else box.open(row.id, sealed).decode()


def forget(row: OidcProvider | Rotation | Service) -> None:
    """No secret from now on."""
    row.ciphertext = row.nonce = row.wrapped_key = row.key_version = None


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every secret under the current key-encryption key; returns how many had another.

    Raises SecretUnreadable where an old key is missing, and then changes nothing.
    """
    total = 0
    for table, noun in HOLDERS:
        other = (table.key_version.is_not(None), table.key_version != box.current)
        found = session.scalars(select(table).where(*other).with_for_update()).all()
        rows = cast(Sequence[Holder], found)
        for row in rows:
            sealed = _sealed(row)
            assert sealed is not None
            _put(row, box.rewrap(row.id, sealed))
        if rows:
            audit.record(
                session,
                None,
                f"{noun}.rewrapped",
                table.__tablename__,
                "all",
                count=len(rows),
                key=box.current,
            )
        total += len(rows)
    return total


def _put(row: Holder, sealed: Sealed) -> None:
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def _sealed(row: Holder) -> Sealed | None:
    if row.ciphertext is None:
        return None
    assert row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
