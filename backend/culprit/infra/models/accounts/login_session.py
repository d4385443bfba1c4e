"""Table of browser sessions."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class LoginSession(Base):
    """A session of a browser; only the SHA-256 of its token is stored.

    `proved_at` is when the user last entered a password, opened a login link, or signed in at the identity
    provider.
    """

    __tablename__ = "login_session"

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), index=True)
    token_hash: Mapped[bytes] = mapped_column(unique=True)
    csrf_token: Mapped[str]
    created_at: Mapped[CreatedAt]
    expires_at: Mapped[datetime]
    last_seen_at: Mapped[datetime]
    proved_at: Mapped[datetime | None]
