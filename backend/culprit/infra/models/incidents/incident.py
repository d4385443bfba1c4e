"""The table of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, SmallInteger, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

INCIDENT_STATES = ("open", "investigating", "identified", "mitigated", "resolved")


class Incident(Base):
    """An investigation. `window_to` is None while the problem continues.

    `owner_id` is the account that leads the investigation; None until someone takes it.
    `symptom` has the form of `culprit.incidents.records.requests.Symptom`. `version` grows with every change; a change
    based on an older version is refused. `autopilot` is None if it was never started, else its state (see
    `culprit.incidents.responses.schemas.AutopilotResponse`).
    """

    __tablename__ = "incident"
    __table_args__ = (
        allow_values("state", INCIDENT_STATES),
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
    owner_id: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    updated_at: Mapped[CreatedAt]
    resolved_at: Mapped[datetime | None]
    autopilot: Mapped[Json | None]
