"""The table of runs of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, allow_values

INCIDENT_RUN_ROLES = ("evidence", "before", "after", "control")


class IncidentRun(Base):
    """A run of an incident and its role: evidence for steps, or one side of a comparison for a fix.

    `step` is the step that it was captured for. Only runs with the role `evidence` count for verdicts. `recorded_at`
    is when its findings were entered in the journal.
    """

    __tablename__ = "incident_run"
    __table_args__ = (allow_values("role", INCIDENT_RUN_ROLES),)

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    run_id: Mapped[UUID] = mapped_column(
        ForeignKey("run.id", ondelete="CASCADE"), primary_key=True, index=True
    )
    role: Mapped[str] = mapped_column(default="evidence")
    fix_id: Mapped[UUID | None] = mapped_column(ForeignKey("fix.id", ondelete="SET NULL"))
    step: Mapped[str | None]
    created_at: Mapped[CreatedAt]
    recorded_at: Mapped[datetime | None]
