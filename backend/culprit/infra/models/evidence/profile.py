"""Table of profiles."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.json_types import Json

JOB_STATES = ("queued", "running", "ready", "failed")
UNITS = ("samples", "ns", "bytes", "count")


class Profile(Base):
    """Samples with stacks: the columns (`store_key`) and the default tree (`tree_key`) are stored as files.

    `source` names the part of an artifact and its reader. `naming` lists modules without function names, and why.
    `attempts` and `started_at` are of the build: a worker with an older attempt is refused, and a build that takes too
    long is repeated. With `removed_at`, retention has deleted the files.
    """

    __tablename__ = "profile"
    __table_args__ = (
        allow_values("state", JOB_STATES),
        allow_values("unit", UNITS),
        Index("ix_profile_kept", "id", postgresql_where=text("removed_at IS NULL")),
        Index(None, "store_key"),
        Index(None, "tree_key"),
    )

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"), index=True)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"), index=True)
    run_collector_id: Mapped[UUID | None] = mapped_column(ForeignKey("run_collector.id", ondelete="CASCADE"))
    kind: Mapped[str]
    event: Mapped[str] = mapped_column(default="")
    unit: Mapped[str] = mapped_column(default="samples")
    state: Mapped[str] = mapped_column(default="queued")
    failure: Mapped[Json | None]
    source: Mapped[Json | None]
    naming: Mapped[Json | None]
    samples: Mapped[int | None] = mapped_column(BigInteger)
    weight: Mapped[float | None]
    lost: Mapped[int | None] = mapped_column(BigInteger)
    unknown_share: Mapped[float | None]
    truncated_share: Mapped[float | None]
    t0_ns: Mapped[int | None] = mapped_column(BigInteger)
    t1_ns: Mapped[int | None] = mapped_column(BigInteger)
    store_key: Mapped[str | None]
    tree_key: Mapped[str | None]
    method: Mapped[str | None]
    parser_version: Mapped[int | None]
    attempts: Mapped[int] = mapped_column(default=0)
    started_at: Mapped[datetime | None]
    created_at: Mapped[CreatedAt]
    stored_size: Mapped[int] = mapped_column(BigInteger, default=0, server_default="0")
    removed_at: Mapped[datetime | None]
