"""Secrets of triggers: signing secrets are encrypted under the trigger's ID, tokens are hashed."""

from __future__ import annotations

from culprit.accounts import sealed_columns
from culprit.accounts.tokens import generate_token, hash_token
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.vault import Vault

#: Prefix by which secret scanners recognize a token in a repository.
PREFIX = "culprit_trigger_"


def set_secret(row: Trigger, supplied: str | None, box: Vault) -> str:
    """Set and return the secret of a trigger: the given one, or a generated one."""
    secret = supplied or generate_token(PREFIX)
    if row.proof == "token":
        row.token_hash = hash_token(secret)
        return secret
    sealed_columns.seal_secret(row, secret, box)
    return secret


def open_secret(row: Trigger, box: Vault) -> bytes:
    """Return the signing secret of a trigger. Raises SecretUnreadableError."""
    secret = sealed_columns.open_secret(row, box)
    assert secret is not None
    return secret.encode()
