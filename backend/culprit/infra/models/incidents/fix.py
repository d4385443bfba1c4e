"""The table of fixes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, JsonList, one_of

FIX_STATES = ("planned", "applied", "verified", "no_effect", "worse", "no_conclusion", "reverted")


class Fix(Base):
    """Something that is to be changed or was, its risk and its way back. Culprit does not apply it.

    `card` is the playbook's card that it follows (`playbook/card`), "" where it follows none. `hosts` are ids.
    """

    __tablename__ = "fix"
    __table_args__ = (one_of("state", FIX_STATES),)

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), index=True)
    hypothesis_id: Mapped[UUID | None] = mapped_column(ForeignKey("hypothesis.id"))
    card: Mapped[str] = mapped_column(default="")
    what: Mapped[str]
    hosts: Mapped[JsonList] = mapped_column(default=list)
    command: Mapped[str] = mapped_column(default="")
    risk: Mapped[str] = mapped_column(default="")
    way_back: Mapped[str] = mapped_column(default="")
    applied_at: Mapped[datetime | None]
    state: Mapped[str] = mapped_column(default="planned")
    created_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
