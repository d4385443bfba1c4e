"""The table of what became of each instant that a schedule was due at."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Id, Json, one_of

FIRING_STATES = ("fired", "missed", "skipped", "refused")


class ScheduleFiring(Base):
    """One due instant, or several that were `missed` together: `count` of them from `due_at` to `last_due_at`.

    `fired` has a capture, as long as that is kept. `skipped`: it was not the time for it (maintenance, the one before
    still runs, no host). `refused`: its owner may not, or what it asks for is not allowed. No two rows of a schedule
    begin at one instant: that is what keeps three schedulers from starting the same capture.
    """

    __tablename__ = "schedule_firing"
    __table_args__ = (
        one_of("state", FIRING_STATES),
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
