"""Table of participants of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt


class IncidentParticipant(Base):
    """A user who changed the incident or watches it; `seen_at` is when they last opened it."""

    __tablename__ = "incident_participant"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"), primary_key=True)
    joined_at: Mapped[CreatedAt]
    seen_at: Mapped[datetime]
