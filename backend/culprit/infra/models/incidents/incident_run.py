"""The table of runs of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, one_of

INCIDENT_RUN_ROLES = ("evidence", "before", "after", "control")


class IncidentRun(Base):
    """A run that an incident looks at, and as what: evidence for steps, or one side of a comparison for a fix.

    `step` is the step that it was made for. Verdicts rest on `evidence` alone. `told_at` is when the journal was told
    what the rules said about it.
    """

    __tablename__ = "incident_run"
    __table_args__ = (one_of("role", INCIDENT_RUN_ROLES),)

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[UUID] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(default="evidence")
    fix_id: Mapped[UUID | None] = mapped_column(ForeignKey("fix.id", ondelete="SET NULL"))
    step: Mapped[str | None]
    created_at: Mapped[CreatedAt]
    told_at: Mapped[datetime | None]
