"""The table of things that happened on a host at a moment."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Id, Json, one_of

SEVERITIES = ("info", "warn", "critical")


class Event(Base):
    """Something that happened, with the line of the artifact that says so. `title` is a sentence."""

    __tablename__ = "event"
    __table_args__ = (one_of("severity", SEVERITIES), Index(None, "host_id", "t_ns"))

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
