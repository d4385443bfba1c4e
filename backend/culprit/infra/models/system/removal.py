"""The table of what retention has deleted, so that whoever looks for it is told."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, one_of
from culprit.models.retention_policy import KEPT_KINDS


class Removal(Base):
    """One kind of data of one run, deleted at `at` (the last time, where it took several batches)."""

    __tablename__ = "removal"
    __table_args__ = (one_of("kind", KEPT_KINDS),)

    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), primary_key=True)
    kind: Mapped[str] = mapped_column(primary_key=True)
    items: Mapped[int]
    bytes: Mapped[int] = mapped_column(BigInteger)
    at: Mapped[CreatedAt] = mapped_column(index=True)
