"""The table of what triggers have started."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList


class Firing(Base):
    """One capture with its diagnosis, for one host and what was alerted (`cause`), within one incident.

    `peers` are the healthy hosts that were captured along with it. `told_at` is when its answer was sent on its way.
    """

    __tablename__ = "firing"
    __table_args__ = (
        Index(None, "host_id", "cause", "created_at"),
        Index("ix_firing_untold", "created_at", postgresql_where=text("told_at IS NULL")),
    )

    id: Mapped[Id]
    trigger_id: Mapped[UUID | None] = mapped_column(ForeignKey("trigger.id", ondelete="SET NULL"))
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    cause: Mapped[str]
    service: Mapped[str] = mapped_column(default="")
    peers: Mapped[JsonList] = mapped_column(default=list)
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL"), index=True
    )
    diagnosis_id: Mapped[UUID] = mapped_column(ForeignKey("diagnosis.id", ondelete="CASCADE"), unique=True)
    created_at: Mapped[CreatedAt]
    told_at: Mapped[datetime | None]
