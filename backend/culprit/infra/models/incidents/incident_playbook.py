"""The table of playbooks of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Json


class IncidentPlaybook(Base):
    """A playbook as it was when it was attached: an investigation is not rewritten by an edit of the catalogue.

    `content` is the playbook in JSON, `digest` the SHA-256 of that in its canonical form. `aside_reason` is why
    somebody set it aside with all that it still asks, None where nobody did.
    """

    __tablename__ = "incident_playbook"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    playbook_id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    content: Mapped[Json]
    position: Mapped[int] = mapped_column(default=0)
    aside_reason: Mapped[str | None]
    aside_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    aside_at: Mapped[datetime | None]
