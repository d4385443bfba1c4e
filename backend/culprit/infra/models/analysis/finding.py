"""Table of findings: conclusions of rules about runs."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.infra.models.evidence.event import SEVERITIES
from culprit.json_types import Json

FINDING_STATES = ("matched", "inconclusive")
STRENGTHS = ("direct", "mechanism", "correlational", "context")


class StoredFinding(Base):
    """One rule that matched on one run for one subject, or was not evaluated for `reason`.

    `numbers` are `culprit.domain.rules.finding.Number`, each with the lines of artifacts that it was read
    from.
    """

    __tablename__ = "finding"
    __table_args__ = (
        allow_values("state", FINDING_STATES),
        allow_values("severity", SEVERITIES),
        allow_values("strength", STRENGTHS),
        Index(None, "host_id", "created_at"),
        Index(None, "rule", "created_at"),
    )

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    rule: Mapped[str]
    state: Mapped[str]
    severity: Mapped[str]
    strength: Mapped[str]
    subject: Mapped[Json] = mapped_column(default=dict)
    numbers: Mapped[JsonList] = mapped_column(default=list)
    reason: Mapped[Json | None]
    detail: Mapped[Json] = mapped_column(default=dict)
    created_at: Mapped[CreatedAt]
