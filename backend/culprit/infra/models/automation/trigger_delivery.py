"""The table of requests that triggers have taken, by digest: none counts twice."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base


class TriggerDelivery(Base):
    """One request: SHA-256 over what proved it and its body. Forgotten after `until`, when its time has passed too."""

    __tablename__ = "trigger_delivery"

    trigger_id: Mapped[UUID] = mapped_column(ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(primary_key=True)
    until: Mapped[datetime] = mapped_column(index=True)
