"""The table of labels whose hosts allow more than the light tier for automatic captures."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

ALLOWED_TIERS = ("standard",)


class UnattendedTier(Base):
    """An admin allowed `tier` for automatic captures on hosts with this label. Deep and ptrace are never allowed."""

    __tablename__ = "unattended_tier"
    __table_args__ = (allow_values("tier", ALLOWED_TIERS), UniqueConstraint("label_name", "label_value"))

    id: Mapped[Id]
    label_name: Mapped[str]
    label_value: Mapped[str]
    tier: Mapped[str] = mapped_column(default="standard")
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
