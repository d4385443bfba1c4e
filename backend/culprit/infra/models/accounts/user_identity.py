"""The table of who an account is at an identity provider."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList


class UserIdentity(Base):
    """Issuer and subject name a person for ever; name, e-mail and groups may change and are only noted.

    `withdrawn_at` equals the account's `disabled_at` where the provider's groups ended it, and nobody else did: then
    the next sign-in with a fitting group opens it again.
    """

    __tablename__ = "user_identity"
    __table_args__ = (UniqueConstraint("issuer", "subject"),)

    id: Mapped[Id]
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id", ondelete="CASCADE"), unique=True)
    issuer: Mapped[str]
    subject: Mapped[str]
    groups: Mapped[JsonList] = mapped_column(default=list)
    seen_at: Mapped[datetime]
    withdrawn_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
