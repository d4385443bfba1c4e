"""Table of data that retention has deleted, so that requests for it can be answered."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, allow_values
from culprit.infra.models.system.retention_policy import KEPT_KINDS


class Removal(Base):
    """One kind of data of one run, deleted at `at` (the last time, if it took several batches)."""

    __tablename__ = "removal"
    __table_args__ = (allow_values("kind", KEPT_KINDS),)

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    items: Mapped[int]
    bytes: Mapped[int] = mapped_column(BigInteger)
    at: Mapped[CreatedAt] = mapped_column(index=True)
