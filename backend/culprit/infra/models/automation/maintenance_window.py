"""The table of times in which no scheduled capture starts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json


class MaintenanceWindow(Base):
    """From `starts_at` until `ends_at`, on one host, on all with the labels of `selector`, or everywhere.

    One that recurs holds, within that span, only for `minutes` from each due instant of `cron` on the clock of `zone`;
    its span may have no end. Captures that a person starts are not held back.
    """

    __tablename__ = "maintenance_window"
    __table_args__ = (
        CheckConstraint("starts_at < ends_at", name="span"),
        CheckConstraint("host_id IS NULL OR selector IS NULL", name="where"),
        CheckConstraint("cron IS NOT NULL OR ends_at IS NOT NULL", name="ends"),
        CheckConstraint(
            "(cron IS NULL) = (zone IS NULL) AND (cron IS NULL) = (minutes IS NULL) AND minutes > 0",
            name="recurs",
        ),
    )

    id: Mapped[Id]
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime | None] = mapped_column(index=True)
    cron: Mapped[str | None]
    zone: Mapped[str | None]
    minutes: Mapped[int | None]
    reason: Mapped[str]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"))
    selector: Mapped[Json | None]
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
