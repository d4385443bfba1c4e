"""Table of storage checks: size by kind, and whether rows and files match."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

CHECK_KINDS = ("measure", "check")
CHECK_STATES = ("queued", "running", "done", "failed")


class StorageCheck(Base):
    """One check; `result` is sent as in `culprit.evidence.retention.schemas`."""

    __tablename__ = "storage_check"
    __table_args__ = (
        allow_values("kind", CHECK_KINDS),
        allow_values("state", CHECK_STATES),
        Index(None, "kind", "id"),
    )

    id: Mapped[Id]
    kind: Mapped[str]
    state: Mapped[str] = mapped_column(default="queued")
    result: Mapped[Json | None]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
