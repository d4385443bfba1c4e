"""Table of outcomes of named causes."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList


class CauseOutcome(Base):
    """Whether a named cause was right. `right` follows from a resolved incident; wrong is recorded by a user.

    `true_cause` is the actual published cause, None if unknown; `pins` are IDs of the evidence.
    """

    __tablename__ = "cause_outcome"

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    cause: Mapped[str] = mapped_column(index=True)
    right: Mapped[bool]
    true_cause: Mapped[str | None]
    pins: Mapped[JsonList] = mapped_column(default=list)
    note: Mapped[str] = mapped_column(default="")
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    at: Mapped[CreatedAt]
