"""Table of threshold overrides."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class ThresholdOverride(Base):
    """Another value for one threshold of one rule: for the fleet, for hosts with a label, or for one host.

    The most specific override applies: host before label before fleet; of two labels the one that sorts last.
    """

    __tablename__ = "threshold"
    __table_args__ = (
        Index(
            "uq_threshold_place",
            "name",
            text("coalesce(label_name, '')"),
            text("coalesce(label_value, '')"),
            text("coalesce(host_id, '00000000-0000-0000-0000-000000000000'::uuid)"),
            unique=True,
        ),
    )

    id: Mapped[Id]
    name: Mapped[str]
    value: Mapped[float]
    label_name: Mapped[str | None]
    label_value: Mapped[str | None]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"), index=True)
    why: Mapped[str] = mapped_column(default="")
    set_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
