"""The table of processed trigger requests, by digest, so that none counts twice."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base


class TriggerDelivery(Base):
    """One request: SHA-256 over its authentication and body. Deleted after `until`, when its time has expired too."""

    __tablename__ = "trigger_delivery"

    trigger_id: Mapped[UUID] = mapped_column(ForeignKey("trigger.id", ondelete="CASCADE"), primary_key=True)
    digest: Mapped[bytes] = mapped_column(primary_key=True)
    until: Mapped[datetime] = mapped_column(index=True)
