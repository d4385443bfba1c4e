"""The table of where imported incidents are from."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Json


class IncidentOrigin(Base):
    """An incident that came in a bundle (`sha256`): who brought it, and from which Culprit and number there.

    `expected` is what the bundle said that rules, steps and hypotheses showed there, as
    `culprit.carried.verdicts.Expected`, with ids of here; `compared` what became of that when the rules were asked
    here, None until all of its runs have been read. `said_by` has the names of people who are no accounts here, by
    the id of what they said (a waiver by the key of its step).
    """

    __tablename__ = "incident_origin"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    sha256: Mapped[str] = mapped_column(index=True)
    culprit: Mapped[str]
    number: Mapped[int]
    redacted: Mapped[bool]
    written_at: Mapped[datetime]
    imported_at: Mapped[CreatedAt]
    imported_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    expected: Mapped[Json] = mapped_column(default=dict)
    compared: Mapped[Json | None]
    said_by: Mapped[Json] = mapped_column(default=dict)
