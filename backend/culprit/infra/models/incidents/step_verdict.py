"""The table of verdicts of users."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

PERSON_VERDICTS = ("supports", "refutes", "inconclusive")


class StepVerdict(Base):
    """A verdict of a user about a hypothesis (its key, or a gate), for one host or for all hosts (None).

    Verdicts of rules are computed and not stored here. A verdict is withdrawn, never changed or deleted.
    """

    __tablename__ = "step_verdict"
    __table_args__ = (allow_values("verdict", PERSON_VERDICTS), Index(None, "incident_id", "step"))

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    step: Mapped[str]
    hypothesis: Mapped[str]
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    verdict: Mapped[str]
    note: Mapped[str] = mapped_column(default="")
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    withdrawn_at: Mapped[datetime | None]
