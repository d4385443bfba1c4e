"""Table of waived steps."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt


class StepWaiver(Base):
    """A step that stays unanswered, and the reason."""

    __tablename__ = "step_waiver"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    step: Mapped[str] = mapped_column(primary_key=True)
    reason: Mapped[str]
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
