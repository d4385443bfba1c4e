"""The table of living processes of the platform."""

from __future__ import annotations

from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Json


class WorkerState(Base):
    """When a worker or the scheduler was last seen; `name` is `<kind>@<machine>:<pid>`."""

    __tablename__ = "worker_state"

    name: Mapped[str] = mapped_column(primary_key=True)
    seen_at: Mapped[CreatedAt]
    detail: Mapped[Json] = mapped_column(default=dict)
