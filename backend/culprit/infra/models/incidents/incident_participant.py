"""The table of people in incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt


class IncidentParticipant(Base):
    """Somebody who did something there or looks on; `seen_at` is when they last had it open."""

    __tablename__ = "incident_participant"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    user_id: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"), primary_key=True)
    joined_at: Mapped[CreatedAt]
    seen_at: Mapped[datetime]
