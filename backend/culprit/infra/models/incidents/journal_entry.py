"""The table of what happened in incidents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json


class JournalEntry(Base):
    """One change: `kind` is the key of its sentence after `journal.`, `params` what that says, `note` words of people.

    `by` is None where Culprit itself did it. `version` is the incident's after the change.
    """

    __tablename__ = "journal_entry"
    __table_args__ = (Index(None, "incident_id", "version"),)

    id: Mapped[Id]
    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"))
    version: Mapped[int]
    kind: Mapped[str]
    params: Mapped[Json] = mapped_column(default=dict)
    note: Mapped[str] = mapped_column(default="")
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    at: Mapped[CreatedAt]
