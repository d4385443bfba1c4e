"""The table of journal entries of incidents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id
from culprit.json_types import Json


class JournalEntry(Base):
    """One entry: `kind` is the key of its message after `journal.`, `params` its parameters, `note` text of a user.

    `by` is None if Culprit made the change. `version` is that of the incident after the change.
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
