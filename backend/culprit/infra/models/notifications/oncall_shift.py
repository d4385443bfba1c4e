"""The table of shifts that were read from a calendar or from PagerDuty."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey, Index
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id


class OncallShift(Base):
    """`who` is the external name; `address` an email address, if known. Each fetch replaces all rows.

    Level 1 is called first. A shift without an end has an `ends_at` far in the future.
    """

    __tablename__ = "oncall_shift"
    __table_args__ = (Index(None, "rotation_id", "ends_at"),)

    id: Mapped[Id]
    rotation_id: Mapped[UUID] = mapped_column(ForeignKey("rotation.id", ondelete="CASCADE"))
    starts_at: Mapped[datetime]
    ends_at: Mapped[datetime]
    who: Mapped[str]
    address: Mapped[str | None]
    level: Mapped[int] = mapped_column(default=1)
