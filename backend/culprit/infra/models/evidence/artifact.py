"""Table of artifacts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values

ENCODINGS = ("identity", "gzip", "zstd")


class Artifact(Base):
    """One part of the output of one collector; the bytes are in the artifact store under `sha256`.

    `size` counts the bytes as read, `stored_size` as stored in `encoding`; `sha256` is of the latter. With
    `removed_at`, retention has deleted the bytes; the row stays as a record.
    """

    __tablename__ = "artifact"
    __table_args__ = (
        allow_values("encoding", ENCODINGS),
        Index(None, "sha256"),
        Index("ix_artifact_kept", "id", postgresql_where=text("removed_at IS NULL")),
    )

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    run_collector_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("run_collector.id", ondelete="CASCADE"), index=True
    )
    part: Mapped[str]
    sha256: Mapped[str]
    size: Mapped[int] = mapped_column(BigInteger)
    stored_size: Mapped[int] = mapped_column(BigInteger)
    encoding: Mapped[str] = mapped_column(default="identity")
    media_type: Mapped[str] = mapped_column(default="application/octet-stream")
    complete: Mapped[bool] = mapped_column(default=True)
    attempt: Mapped[int] = mapped_column(default=1)
    created_at: Mapped[CreatedAt]
    removed_at: Mapped[datetime | None]
