"""The table of how long each kind of data is kept."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, one_of

KEPT_KINDS = ("recordings", "texts", "imports", "profiles", "comparisons", "series", "tables", "events")


class RetentionPolicy(Base):
    """What is older than `days`, or makes its kind larger than `max_bytes`, goes; what is cited stays.

    A kind without a row is kept for ever. `cursor` is the last id that the pass has looked at, None between two passes;
    `due_at` is when the next batch is looked at, None while neither limit is set.
    """

    __tablename__ = "retention_policy"
    __table_args__ = (
        one_of("kind", KEPT_KINDS),
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
