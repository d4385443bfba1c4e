"""The table of turns that were read from a calendar or from PagerDuty."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, Id


class OncallTurn(Base):
    """`who` is the name as it stands there; `address` an e-mail address where one was told. Each fetch replaces all.

    `level` 1 is called first. A turn without an end goes on (`ends_at` is far away).
    """

    __tablename__ = "oncall_turn"
    __table_args__ = (Index(None, "rotation_id", "ends_at"),)

    id: Mapped[Id]
    rotation_id: Mapped[UUID] = mapped_column(ForeignKey("rotation.id", ondelete="CASCADE"))
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    who: Mapped[str]
    address: Mapped[str | None]
    level: Mapped[int] = mapped_column(default=1)
