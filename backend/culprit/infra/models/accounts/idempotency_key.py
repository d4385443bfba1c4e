"""Table of idempotency keys."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.dialects.postgresql import JSONB
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class IdempotencyKey(Base):
    """A key that a client sent with a POST, and the answer, written together with what the POST created."""

    __tablename__ = "idempotency_key"
    __table_args__ = (UniqueConstraint("user_id", "key"),)

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"))
    key: Mapped[str]
    method: Mapped[str]
    path: Mapped[str]
    request_hash: Mapped[bytes]
    status: Mapped[int | None]
    body: Mapped[Any | None] = mapped_column(JSONB(none_as_null=True))
    created_at: Mapped[CreatedAt]
