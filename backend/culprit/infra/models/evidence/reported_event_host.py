"""The table of hosts of reported events."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base


class ReportedEventHost(Base):
    """One host of a reported event: named, or selected by label or service at the time of the report."""

    __tablename__ = "reported_event_host"

    reported_event_id: Mapped[UUID] = mapped_column(
        ForeignKey("reported_event.id", ondelete="CASCADE"), primary_key=True
    )
    host_id: Mapped[UUID] = mapped_column(
        ForeignKey("host.id", ondelete="CASCADE"), primary_key=True, index=True
    )
