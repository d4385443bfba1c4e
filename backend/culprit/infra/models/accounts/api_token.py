"""Table of API tokens."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.accounts.user_account import ROLES
from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

TOKEN_PURPOSES = ("events",)


class ApiToken(Base):
    """A token of a user. Its permissions are limited by those of the user and by `role`.

    A token with a `purpose` may do only that, because it is stored in a pipeline that others can read.
    """

    __tablename__ = "api_token"
    __table_args__ = (allow_values("role", ROLES), allow_values("purpose", TOKEN_PURPOSES))

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
