"""Table of identities of accounts at the identity provider."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList


class UserIdentity(Base):
    """Issuer and subject identify a user permanently; name, e-mail and groups may change and are only
    recorded.

    `withdrawn_at` equals the account's `disabled_at` if the provider's groups disabled it: the next sign-in
    with a matching group enables it again.
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
