"""Table of on-call overrides."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class OncallOverride(Base):
    """`user_id` is on call from `starts_at` until `ends_at` instead of all others of the rotation."""

    __tablename__ = "oncall_override"
    __table_args__ = (CheckConstraint("starts_at < ends_at", name="span"),)

    id: Mapped[Id]
    rotation_id: Mapped[UUID] = mapped_column(ForeignKey("rotation.id", ondelete="CASCADE"), index=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"))
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    reason: Mapped[str] = mapped_column(default="")
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
