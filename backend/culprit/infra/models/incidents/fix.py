"""Table of fixes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values

FIX_STATES = ("planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted")


class Fix(Base):
    """A planned or applied change, with its risk and rollback. Culprit does not apply it.

    `remediation` is the remediation that it follows (`playbook/remediation`), or "". `hosts` are IDs.
    """

    __tablename__ = "fix"
    __table_args__ = (allow_values("state", FIX_STATES),)

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    hypothesis_id: Mapped[UUID | None] = mapped_column(ForeignKey("hypothesis.id"))
    remediation: Mapped[str] = mapped_column(default="")
    what: Mapped[str]
    hosts: Mapped[JsonList] = mapped_column(default=list)
    command: Mapped[str] = mapped_column(default="")
    risk: Mapped[str] = mapped_column(default="")
    rollback: Mapped[str] = mapped_column(default="")
    applied_at: Mapped[datetime | None]
    state: Mapped[str] = mapped_column(default="planned")
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
