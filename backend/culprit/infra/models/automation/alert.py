"""The table of alerts from other systems."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

ALERT_STATES = ("started", "joined", "deferred", "refused", "unmatched")


class Alert(Base):
    """One alert, received `count` times between `created_at` and `last_at`.

    `fingerprint` identifies it at the sender, `cause` is its name, `group` its group at the sender. `state`:
    it started a diagnosis, joined one, was deferred, was refused, or matches no host. `reason` is the
    message for the last three.
    """

    __tablename__ = "alert"
    __table_args__ = (
        allow_values("state", ALERT_STATES),
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
    trigger_response_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("trigger_response.id", ondelete="SET NULL"), index=True
    )
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL"), index=True
    )
    created_at: Mapped[CreatedAt]
    last_at: Mapped[CreatedAt]
    resolved_at: Mapped[datetime | None]
