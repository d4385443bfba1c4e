"""Table of heartbeats of processes."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt
from culprit.json_types import Json


class ProcessHeartbeat(Base):
    """When a worker or the scheduler last reported; `name` is `<kind>@<machine>:<pid>`."""

    __tablename__ = "process_heartbeat"

    name: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[CreatedAt]
    detail: Mapped[Json] = mapped_column(default=dict)
