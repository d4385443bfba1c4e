"""Table of checks of stored bytes."""

from __future__ import annotations

from datetime import datetime

from sqlalchemy import BigInteger, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, allow_values

ALTERATIONS = ("altered", "truncated", "missing", "unreadable")


class BlobCheck(Base):
    """When stored bytes were last read and compared with their digest; at first, when they were stored.

    `altered_at` and `reason` are set from the first check that fails until a check succeeds. `size` is the expected
    size in bytes, None until a first check where no row records it.
    """

    __tablename__ = "blob_check"
    __table_args__ = (
        allow_values("reason", ALTERATIONS),
        Index("ix_blob_check_altered", "altered_at", postgresql_where=text("altered_at IS NOT NULL")),
    )

    sha256: Mapped[str] = mapped_column(primary_key=True)
    size: Mapped[int | None] = mapped_column(BigInteger)
    checked_at: Mapped[CreatedAt] = mapped_column(index=True)
    altered_at: Mapped[datetime | None]
    reason: Mapped[str | None]
