"""The table of verdicts that people gave."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, one_of

PERSON_VERDICTS = ("supports", "refutes", "inconclusive")


class StepVerdict(Base):
    """What somebody says a step shows about a hypothesis (its key, or a gate), on one host or on all (None).

    Rules' verdicts are computed and not here. A verdict is withdrawn, never changed or deleted.
    """

    __tablename__ = "step_verdict"
    __table_args__ = (one_of("verdict", PERSON_VERDICTS), Index(None, "incident_id", "step"))

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
