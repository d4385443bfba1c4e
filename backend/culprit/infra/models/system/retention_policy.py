"""Table of retention policies."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

KEPT_KINDS = ("recordings", "texts", "imports", "profiles", "comparisons", "series", "tables", "events")


class RetentionPolicy(Base):
    """Data older than `days`, or above `max_bytes` of its kind, is deleted; cited data is kept.

    A kind without a row is kept indefinitely. `cursor` is the last ID that the current pass has checked, None
    between passes; `due_at` is when the next batch is checked, None without a limit.
    """

    __tablename__ = "retention_policy"
    __table_args__ = (
        allow_values("kind", KEPT_KINDS),
        CheckConstraint("days >= 1 AND max_bytes >= 0", name="limits"),
        Index("ix_retention_policy_due", "due_at", postgresql_where=text("due_at IS NOT NULL")),
    )

    id: Mapped[Id]
    kind: Mapped[str] = mapped_column(unique=True)
    days: Mapped[int | None]
    max_bytes: Mapped[int | None] = mapped_column(BigInteger)
    cursor: Mapped[UUID | None]
    due_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    updated_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    updated_at: Mapped[CreatedAt]
