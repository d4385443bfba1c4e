"""The table of hypotheses."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

HYPOTHESIS_STATES = ("open", "refuted", "likely", "confirmed")


class Hypothesis(Base):
    """One explanation of one incident: of a playbook (`key` is `playbook/hypothesis`) or somebody's (`own/<n>`).

    `state` is what people decided; where the evidence stands is computed and never stored. `primary` is the number by
    which a fix is judged, {"read", "better"}.
    """

    __tablename__ = "hypothesis"
    __table_args__ = (UniqueConstraint("incident_id", "key"), one_of("state", HYPOTHESIS_STATES))

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    key: Mapped[str]
    says: Mapped[Json]
    cause: Mapped[str] = mapped_column(default="")
    primary: Mapped[Json | None]
    state: Mapped[str] = mapped_column(default="open")
    created_at: Mapped[CreatedAt]
