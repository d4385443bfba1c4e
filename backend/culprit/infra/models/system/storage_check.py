"""The table of looks at the storage: how much there is of what, and whether rows and bytes fit together."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, one_of

LOOK_KINDS = ("measure", "check")
LOOK_STATES = ("queued", "running", "done", "failed")


class StorageLook(Base):
    """One look; `result` is as `culprit.storage.schemas` sends it."""

    __tablename__ = "storage_look"
    __table_args__ = (one_of("kind", LOOK_KINDS), one_of("state", LOOK_STATES), Index(None, "kind", "id"))

    id: Mapped[Id]
    kind: Mapped[str]
    state: Mapped[str] = mapped_column(default="queued")
    result: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
