"""The table of incidents: what is being investigated."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

INCIDENT_STATES = ("open", "investigating", "identified", "mitigated", "resolved")


class Incident(Base):
    """One investigation. `window_to` is None while the trouble goes on.

    `symptom` is as `culprit.incidents.schemas.Symptom`. `version` grows with every change: who changes something says
    which version they saw, and a change to an older one is refused. `autopilot` is None where none was ever started,
    else how far it is (see `culprit.incidents.schemas.AutopilotRead`).
    """

    __tablename__ = "incident"
    __table_args__ = (
        one_of("state", INCIDENT_STATES),
        CheckConstraint("severity BETWEEN 1 AND 4", name="severity"),
        CheckConstraint("window_to >= window_from", name="window"),
        Index(None, "state", "number"),
        Index("ix_incident_symptom_ids", text("mentioned_ids(symptom)"), postgresql_using="gin"),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    title: Mapped[str]
    symptom: Mapped[Json] = mapped_column(default=dict)
    severity: Mapped[int] = mapped_column(SmallInteger, default=3)
    state: Mapped[str] = mapped_column(default="open")
    window_from: Mapped[datetime]
    window_to: Mapped[datetime | None]
    version: Mapped[int] = mapped_column(default=1)
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[CreatedAt]
    resolved_at: Mapped[datetime | None]
    autopilot: Mapped[Json | None]
