"""The table of things that happened on a host at a moment."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Id, Json, one_of

SEVERITIES = ("info", "warn", "critical")


class Event(Base):
    """Something that happened, with the line of the artifact that says so. `title` is a sentence.

    A host's log is read at every capture, so one event may come home many times. Each run keeps its own with
    its own line; all but one of them name in `repeats_id` another, and timelines show the one that names none.
    `same_key` is equal for events of a host that are the same if they happened at the same time.
    """

    __tablename__ = "event"
    __table_args__ = (
        one_of("severity", SEVERITIES),
        Index("ix_event_shown", "host_id", "t_ns", postgresql_where=text("repeats_id IS NULL")),
        Index(
            "ix_event_same",
            "same_key",
            "t_ns",
            postgresql_where=text("same_key IS NOT NULL AND repeats_id IS NULL"),
        ),
        Index(None, "repeats_id", postgresql_where=text("repeats_id IS NOT NULL")),
    )

    id: Mapped[Id]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    run_id: Mapped[UUID | None] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    t_ns: Mapped[int] = mapped_column(BigInteger)
    end_ns: Mapped[int | None] = mapped_column(BigInteger)
    uncertainty_ns: Mapped[int] = mapped_column(BigInteger, default=0)
    kind: Mapped[str]
    severity: Mapped[str] = mapped_column(default="info")
    title: Mapped[Json]
    detail: Mapped[str] = mapped_column(default="")
    artifact_id: Mapped[UUID | None] = mapped_column(ForeignKey("artifact.id", ondelete="SET NULL"))
    line: Mapped[int | None]
    same_key: Mapped[bytes | None]
    repeats_id: Mapped[UUID | None] = mapped_column(ForeignKey("event.id", ondelete="SET NULL"))
