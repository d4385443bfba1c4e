"""The table of hosts of incidents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Json, one_of

INCIDENT_HOST_ROLES = ("suspect", "control", "dependency")


class IncidentHost(Base):
    """A host and what on it is looked at (`scope` as in a capture, {} for all of it).

    A `suspect` is what the steps are asked about, a `dependency` too; a `control` is like the suspects and well.
    """

    __tablename__ = "incident_host"
    __table_args__ = (one_of("role", INCIDENT_HOST_ROLES),)

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"), primary_key=True, index=True)
    scope: Mapped[Json] = mapped_column(default=dict)
    role: Mapped[str] = mapped_column(default="suspect")
