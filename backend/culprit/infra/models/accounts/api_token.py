"""The table of API tokens."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, one_of
from culprit.models.user_account import ROLES

TOKEN_PURPOSES = ("events",)


class ApiToken(Base):
    """A token of a person. It may at most what its person may, and at most what `role` may.

    One with a `purpose` may that alone: it lies in a pipeline, where others can read it.
    """

    __tablename__ = "api_token"
    __table_args__ = (one_of("role", ROLES), one_of("purpose", TOKEN_PURPOSES))

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    name: Mapped[str]
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    prefix: Mapped[str]
    role: Mapped[str]
    purpose: Mapped[str | None]
    expires_at: Mapped[datetime | None]
    last_used_at: Mapped[datetime | None]
    revoked_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
