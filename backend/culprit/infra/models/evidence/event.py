"""Table of events on hosts."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, allow_values
from culprit.json_types import Json

SEVERITIES = ("info", "warn", "critical")


class StoredEvent(Base):
    """An event with the line of its artifact. `title` is a message.

    Every capture reads the host's log, so several runs may contain the same event. Each run keeps its own row
    with its own line; all but one refer to another by `repeats_id`, and timelines show the one without.
    `same_key` is equal for events of a host that are the same if they have the same time.
    """

    __tablename__ = "event"
    __table_args__ = (
        allow_values("severity", SEVERITIES),
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
