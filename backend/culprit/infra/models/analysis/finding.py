"""The table of findings: what rules concluded about runs."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of
from culprit.models.event import SEVERITIES

FINDING_STATES = ("fired", "inconclusive")
GRADES = ("direct", "mechanism", "correlational", "context")


class Finding(Base):
    """One rule that fired on one run for one subject, or would have, had there not been `reason`.

    `subject` is what on the host it is about; `numbers` are as `culprit.core.rules.contract.Number`, each with the
    lines of artifacts that it was read from.
    """

    __tablename__ = "finding"
    __table_args__ = (
        one_of("state", FINDING_STATES),
        one_of("severity", SEVERITIES),
        one_of("grade", GRADES),
        Index(None, "host_id", "created_at"),
        Index(None, "rule", "created_at"),
    )

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    rule: Mapped[str]
    state: Mapped[str]
    severity: Mapped[str]
    grade: Mapped[str]
    subject: Mapped[Json] = mapped_column(default=dict)
    numbers: Mapped[JsonList] = mapped_column(default=list)
    reason: Mapped[Json | None]
    detail: Mapped[Json] = mapped_column(default=dict)
    created_at: Mapped[CreatedAt]
