"""Encrypted secrets in rows, bound to the ID of the row, in four columns that all such tables share."""

from __future__ import annotations

from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.accounts.queries.sealed_rows import SealedRow, lock_outdated_rows
from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.models.reports.report_version import ReportVersion
from culprit.infra.vault import Sealed, Vault

#: Tables with secrets, and the name of each in the audit log.
SEALED_TABLES: tuple[tuple[type[SealedRow], str], ...] = (
    (Channel, "channel"),
    (Credential, "credential"),
    (OidcProvider, "single_sign_on"),
    (ReportVersion, "report"),
    (Rotation, "oncall"),
    (Service, "service"),
    (Trigger, "trigger"),
)


def seal_secret(row: SealedRow, secret: str, box: Vault) -> None:
    """Encrypt a secret into a row, which must have its ID."""
    _store_sealed(row, box.seal(row.id, secret.encode()))


def open_secret(row: SealedRow, box: Vault) -> str | None:
    """Return the secret of a row, or None if it has none. Raises SecretUnreadableError."""
    sealed = _read_sealed(row)
    return None if sealed is None else box.open(row.id, sealed).decode()


def clear_secret(row: OidcProvider | Rotation | Service) -> None:
    """Remove the secret."""
    row.ciphertext = row.nonce = row.wrapped_key = row.key_version = None


def rewrap_secrets(session: Session, box: Vault) -> int:
    """Encrypt every secret with the current key-encryption key; return how many used another.

    Raises SecretUnreadableError if an old key is missing, and then changes nothing.
    """
    total = 0
    for table, noun in SEALED_TABLES:
        rows = lock_outdated_rows(session, table, box.current)
        for row in rows:
            sealed = _read_sealed(row)
            assert sealed is not None
            _store_sealed(row, box.rewrap(row.id, sealed))
        if rows:
            audit.record_action(
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


def _store_sealed(row: SealedRow, sealed: Sealed) -> None:
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version


def _read_sealed(row: SealedRow) -> Sealed | None:
    if row.ciphertext is None:
        return None
    assert row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
