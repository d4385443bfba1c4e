"""The table of playbooks of incidents."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base
from culprit.json_types import Json


class IncidentPlaybook(Base):
    """A playbook in the version that was attached: a change of the catalog does not change an investigation.

    `content` is the playbook in JSON, `digest` the SHA-256 of its canonical form. `dismissed_reason` is why a user
    dismissed it, None if it is not dismissed.
    """

    __tablename__ = "incident_playbook"

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    playbook_id: Mapped[str] = mapped_column(primary_key=True)
    digest: Mapped[str]
    content: Mapped[Json]
    position: Mapped[int] = mapped_column(default=0)
    dismissed_reason: Mapped[str | None]
    dismissed_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    dismissed_at: Mapped[datetime | None]
