"""The secrets of triggers: those that sign are sealed under the trigger's own id, tokens are kept as a hash."""

from __future__ import annotations

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.auth.tokens import new_token, token_hash
from culprit.infra.secrets import Sealed, Vault
from culprit.models import Trigger

#: Lets secret scanners find one in a repository.
PREFIX = "culprit_trigger_"


def give(row: Trigger, given: str | None, box: Vault) -> str:
    """A new secret for a trigger, as it was given or made here. Returns it."""
    secret = given or new_token(PREFIX)
    if row.proof == "token":
        row.token_hash = token_hash(secret)
        return secret
    sealed = box.seal(row.id, secret.encode())
    row.ciphertext, row.nonce = sealed.ciphertext, sealed.nonce
    row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    return secret


def opened(row: Trigger, box: Vault) -> bytes:
    """The secret of a trigger that signs. Raises SecretUnreadable."""
    return box.open(row.id, _sealed(row))


def rewrap_all(session: Session, box: Vault) -> int:
    """Bring every secret under the current key-encryption key; returns how many had another."""
    query = select(Trigger).where(Trigger.key_version.is_not(None), Trigger.key_version != box.current)
    rows = session.scalars(query.with_for_update()).all()
    for row in rows:
        sealed = box.rewrap(row.id, _sealed(row))
        row.wrapped_key, row.key_version = sealed.wrapped_key, sealed.key_version
    if rows:
        audit.record(session, None, "trigger.rewrapped", "trigger", "all", count=len(rows), key=box.current)
    return len(rows)


def _sealed(row: Trigger) -> Sealed:
    assert row.ciphertext and row.nonce and row.wrapped_key and row.key_version
    return Sealed(row.ciphertext, row.nonce, row.wrapped_key, row.key_version)
