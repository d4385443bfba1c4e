"""The table of times in which no scheduled capture starts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json


class MaintenanceWindow(Base):
    """From `starts_at` until `ends_at`, on one host, on all with the labels of `selector`, or everywhere.

    Captures that a person starts are not held back.
    """

    __tablename__ = "maintenance_window"
    __table_args__ = (
        CheckConstraint("starts_at < ends_at", name="span"),
        CheckConstraint("host_id IS NULL OR selector IS NULL", name="where"),
    )

    id: Mapped[Id]
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime] = mapped_column(index=True)
    reason: Mapped[str]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    selector: Mapped[Json | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
