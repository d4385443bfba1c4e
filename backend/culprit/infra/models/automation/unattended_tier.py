"""The table of labels on whose hosts more than the light tier may run without a person."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, one_of

ALLOWED_TIERS = ("standard",)


class TierAllowance(Base):
    """An administrator has allowed `tier` on hosts with this label. Deep and ptrace cannot be."""

    __tablename__ = "tier_allowance"
    __table_args__ = (one_of("tier", ALLOWED_TIERS), UniqueConstraint("label_name", "label_value"))

    id: Mapped[Id]
    label_name: Mapped[str]
    label_value: Mapped[str]
    tier: Mapped[str] = mapped_column(default="standard")
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
