"""Table of pins of verdicts."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base


class VerdictPin(Base):
    """A pin that a verdict cites."""

    __tablename__ = "verdict_pin"

    verdict_id: Mapped[UUID] = mapped_column(
        ForeignKey("step_verdict.id", ondelete="CASCADE"), primary_key=True
    )
    pin_id: Mapped[UUID] = mapped_column(ForeignKey("pin.id"), primary_key=True, index=True)
