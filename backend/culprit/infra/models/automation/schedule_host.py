"""Table of hosts that a schedule lists."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base


class ScheduleHost(Base):
    """A host of a schedule."""

    __tablename__ = "schedule_host"

    schedule_id: Mapped[UUID] = mapped_column(ForeignKey("schedule.id", ondelete="CASCADE"), primary_key=True)
    host_id: Mapped[UUID] = mapped_column(
        ForeignKey("host.id", ondelete="CASCADE"), primary_key=True, index=True
    )
