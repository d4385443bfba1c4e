"""Table of maintenance windows."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id
from culprit.json_types import Json


class MaintenanceWindow(Base):
    """Scheduled captures do not start from `starts_at` until `ends_at`, on one host, on hosts with the labels
    of `selector`, or on all.

    A recurring window applies, within that range, for `minutes` from each due time of `cron` in `zone`; the
    range may have no end. Manual captures are not affected.
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
