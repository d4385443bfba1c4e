"""SELECTs of idempotency keys."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import select
from sqlalchemy.orm import Session

from culprit.infra.models.accounts.idempotency_key import IdempotencyKey


def find_key(session: Session, user_id: UUID, key: str | None) -> IdempotencyKey | None:
    """Return the stored key of an account, or None."""
    query = select(IdempotencyKey).where(IdempotencyKey.user_id == user_id, IdempotencyKey.key == key)
    return session.scalars(query).first()
