"""Table of hosts of incidents."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, allow_values
from culprit.json_types import Json

INCIDENT_HOST_ROLES = ("suspect", "control", "dependency")


class IncidentHost(Base):
    """A host of an incident with its scope (as in a capture, {} for the whole host).

    Steps apply to hosts with the role `suspect` or `dependency`; a `control` host is healthy.
    """

    __tablename__ = "incident_host"
    __table_args__ = (allow_values("role", INCIDENT_HOST_ROLES),)

    incident_id: Mapped[UUID] = mapped_column(ForeignKey("incident.id", ondelete="CASCADE"), primary_key=True)
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"), primary_key=True, index=True)
    scope: Mapped[Json] = mapped_column(default=dict)
    role: Mapped[str] = mapped_column(default="suspect")
