"""The secrets of triggers: those that sign are sealed under the trigger's own id, tokens are kept as a hash."""

from __future__ import annotations

from culprit.auth import sealed
from culprit.auth.tokens import new_token, token_hash
from culprit.infra.secrets import Vault
from culprit.models import Trigger

#: Lets secret scanners find one in a repository.
PREFIX = "culprit_trigger_"


def give(row: Trigger, given: str | None, box: Vault) -> str:
    """A new secret for a trigger, as it was given or made here. Returns it."""
    secret = given or new_token(PREFIX)
    if row.proof == "token":
        row.token_hash = token_hash(secret)
        return secret
    sealed.seal(row, secret, box)
    return secret


def opened(row: Trigger, box: Vault) -> bytes:
    """The secret of a trigger that signs. Raises SecretUnreadable."""
    secret = sealed.opened(row, box)
    assert secret is not None
    return secret.encode()
