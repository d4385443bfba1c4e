"""The table of schedules."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

SCHEDULE_KINDS = ("once", "cron")
SCHEDULE_STATES = ("active", "paused", "done")
CATCH_UP = ("one", "none")


class Schedule(Base):
    """Due by `cron` fields or at one local time `local_time`, in `zone`. Each time it starts the capture `capture`.

    `capture` holds plan, seconds, collectors, scope and options. The hosts are those of `schedule_host`, or
    all with the labels of `selector` at the due time. `next_due` is set exactly while it is active: a
    scheduler locks the row with SKIP LOCKED, decides about every due time up to now, and sets the next one in
    the same transaction. Captures belong to `owner_id`, whose permissions are checked each time.
    """

    __tablename__ = "schedule"
    __table_args__ = (
        allow_values("kind", SCHEDULE_KINDS),
        allow_values("state", SCHEDULE_STATES),
        allow_values("catch_up", CATCH_UP),
        CheckConstraint(
            "(kind = 'cron') = (cron IS NOT NULL) AND (kind = 'once') = (local_time IS NOT NULL)", name="when"
        ),
        CheckConstraint("(state = 'active') = (next_due IS NOT NULL)", name="due"),
        Index("ix_schedule_due", "next_due", postgresql_where=text("state = 'active'")),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    cron: Mapped[str | None]
    local_time: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    zone: Mapped[str]
    capture: Mapped[Json]
    selector: Mapped[Json | None]
    reason: Mapped[str] = mapped_column(default="")
    catch_up: Mapped[str] = mapped_column(default="none")
    tolerance_s: Mapped[int] = mapped_column(default=300)
    state: Mapped[str] = mapped_column(default="active")
    next_due: Mapped[datetime | None]
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"), index=True)
    deep_allowed_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    version: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[CreatedAt]
