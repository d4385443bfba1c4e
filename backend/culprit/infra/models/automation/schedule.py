"""The table of schedules: what is captured again and again, or once, while nobody watches."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import CheckConstraint, DateTime, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

SCHEDULE_KINDS = ("once", "cron")
SCHEDULE_STATES = ("active", "paused", "done")
CATCH_UP = ("one", "none")


class Schedule(Base):
    """`cron` fields, or one `wall` clock time, in `zone`. What it captures is `wanted`: plan, seconds, collectors,
    scope and options as a capture takes them.

    It captures the hosts of `schedule_host`, or all that have the labels of `selector` when it is due. `next_due` is
    set exactly while it is active: whoever takes the row with SKIP LOCKED decides about every due instant up to now,
    and moves it on in the same transaction. Captures belong to `owner_id`, whose rights are looked at again each time.
    """

    __tablename__ = "schedule"
    __table_args__ = (
        one_of("kind", SCHEDULE_KINDS),
        one_of("state", SCHEDULE_STATES),
        one_of("catch_up", CATCH_UP),
        CheckConstraint(
            "(kind = 'cron') = (cron IS NOT NULL) AND (kind = 'once') = (wall IS NOT NULL)", name="when"
        ),
        CheckConstraint("(state = 'active') = (next_due IS NOT NULL)", name="due"),
        Index("ix_schedule_due", "next_due", postgresql_where=text("state = 'active'")),
    )

    id: Mapped[Id]
    name: Mapped[str] = mapped_column(unique=True)
    kind: Mapped[str]
    cron: Mapped[str | None]
    wall: Mapped[datetime | None] = mapped_column(DateTime(timezone=False))
    zone: Mapped[str]
    wanted: Mapped[Json]
    selector: Mapped[Json | None]
    reason: Mapped[str] = mapped_column(default="")
    catch_up: Mapped[str] = mapped_column(default="none")
    grace_s: Mapped[int] = mapped_column(default=300)
    state: Mapped[str] = mapped_column(default="active")
    next_due: Mapped[datetime | None]
    owner_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"), index=True)
    deep_allowed_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    version: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[CreatedAt]
