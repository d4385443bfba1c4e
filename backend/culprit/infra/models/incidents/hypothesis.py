"""The table of hypotheses."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

HYPOTHESIS_STATES = ("open", "refuted", "likely", "confirmed")


class Hypothesis(Base):
    """A hypothesis of an incident, from a playbook (`key` is `playbook/hypothesis`) or from a user (`own/<n>`).

    `state` is the decision of users; the status of the evidence is computed and never stored. `primary` is the number
    by which a fix is judged, {"read", "better"}.
    """

    __tablename__ = "hypothesis"
    __table_args__ = (UniqueConstraint("incident_id", "key"), allow_values("state", HYPOTHESIS_STATES))

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    key: Mapped[str]
    summary: Mapped[Json]
    cause: Mapped[str] = mapped_column(default="")
    primary: Mapped[Json | None]
    state: Mapped[str] = mapped_column(default="open")
    created_at: Mapped[CreatedAt]
