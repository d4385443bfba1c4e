"""Table of login attempts, kept for an hour to limit guessing."""

from __future__ import annotations

from sqlalchemy import Index
from sqlalchemy.orm import Mapped

from culprit.infra.models.base import Base, CreatedAt, Id


class LoginAttempt(Base):
    """One attempt, counted by account and by address. `account` is a digest of the name."""

    __tablename__ = "login_attempt"
    __table_args__ = (
        Index(None, "account", "at"),
        Index(None, "address", "at"),
    )

    id: Mapped[Id]
    account: Mapped[str]
    address: Mapped[str]
    at: Mapped[CreatedAt]
