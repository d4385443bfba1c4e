"""Table of origins of imported incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt
from culprit.json_types import Json


class IncidentOrigin(Base):
    """The bundle of an imported incident (`sha256`): who imported it, the exporting Culprit and its incident number.

    `expected` are the original verdicts of rules, steps and hypotheses with local IDs, as
    `culprit.incidents.transfer.verdicts.build_expected` builds them. `compared` is their comparison with the local
    verdicts, None until all runs are parsed and evaluated. `authors` has the names of original authors, who have no
    account here, by the ID of what they wrote (a waiver by its step).
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
    authors: Mapped[Json] = mapped_column(default=dict)
