"""Table of muted findings."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id


class FindingMute(Base):
    """A rule that matches on a host for a known reason. Until `expires_at` it counts for no verdict."""

    __tablename__ = "finding_mute"
    __table_args__ = (Index(None, "host_id", "rule"),)

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    rule: Mapped[str]
    reason: Mapped[str]
    expires_at: Mapped[datetime]
    by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
