"""The table of alerts that other systems have sent."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

ALERT_STATES = ("fired", "joined", "held", "refused", "unmatched")


class Alert(Base):
    """One alert, however often it was sent (`count`) between `created_at` and `last_at`.

    `fingerprint` is what its sender knows it by, `cause` what is alerted, `group` what belongs together there. `state`:
    it started a capture; it joined one that had been started; it was held back, refused or could not be matched, for
    `reason` (a sentence).
    """

    __tablename__ = "alert"
    __table_args__ = (
        one_of("state", ALERT_STATES),
        Index(None, "trigger_id", "fingerprint", "last_at"),
        Index(None, "host_id", "last_at"),
        Index(None, "state", "last_at"),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    trigger_id: Mapped[UUID] = mapped_column(ForeignKey("trigger.id", ondelete="CASCADE"))
    fingerprint: Mapped[str]
    cause: Mapped[str]
    group: Mapped[str] = mapped_column(default="")
    title: Mapped[str]
    summary: Mapped[str] = mapped_column(default="")
    labels: Mapped[Json] = mapped_column(default=dict)
    began_at: Mapped[datetime | None]
    state: Mapped[str]
    reason: Mapped[Json | None]
    count: Mapped[int] = mapped_column(default=1)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    service: Mapped[str] = mapped_column(default="")
    firing_id: Mapped[UUID | None] = mapped_column(ForeignKey("firing.id", ondelete="SET NULL"), index=True)
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL"), index=True
    )
    created_at: Mapped[CreatedAt]
    last_at: Mapped[CreatedAt]
    resolved_at: Mapped[datetime | None]
