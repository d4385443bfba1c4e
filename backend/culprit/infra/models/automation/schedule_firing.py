"""Table of results of the due times of schedules."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, allow_values
from culprit.json_types import Json

FIRING_STATES = ("started", "missed", "skipped", "refused")


class ScheduleFiring(Base):
    """One due time, or several that were `missed` together: `count` of them from `due_at` to `last_due_at`.

    `started` has a capture, while that is kept. `skipped`: not now (maintenance, the previous capture is
    unfinished, no host). `refused`: the owner lacks a permission, or the capture is not allowed. Two rows of
    a schedule never have the same `due_at`, so that several schedulers cannot start the same capture.
    """

    __tablename__ = "schedule_firing"
    __table_args__ = (
        allow_values("state", FIRING_STATES),
        CheckConstraint("count >= 1 AND last_due_at >= due_at", name="span"),
        UniqueConstraint("schedule_id", "due_at"),
    )

    id: Mapped[Id]
    schedule_id: Mapped[UUID] = mapped_column(ForeignKey("schedule.id", ondelete="CASCADE"))
    due_at: Mapped[datetime]
    last_due_at: Mapped[datetime]
    count: Mapped[int] = mapped_column(default=1)
    state: Mapped[str]
    reason: Mapped[Json | None]
    capture_id: Mapped[UUID | None] = mapped_column(ForeignKey("capture.id", ondelete="SET NULL"), index=True)
    at: Mapped[datetime]
    by: Mapped[str]
