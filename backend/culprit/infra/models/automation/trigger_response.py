"""The table of trigger responses: diagnoses that an alert started."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList


class TriggerResponseRecord(Base):
    """One diagnosis of one host for one alert name (`cause`), within one incident.

    `peers` are IDs of the healthy peers that were captured with it. `notified_at` is when its messages were queued.
    """

    __tablename__ = "trigger_response"
    __table_args__ = (
        Index(None, "host_id", "cause", "created_at"),
        Index("ix_trigger_response_pending", "created_at", postgresql_where=text("notified_at IS NULL")),
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
    notified_at: Mapped[datetime | None]
