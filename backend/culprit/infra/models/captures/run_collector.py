"""Table of results of each collector of a run."""

from __future__ import annotations

from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, UniqueConstraint
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, Id, JsonList, allow_values
from culprit.json_types import Json

RUN_COLLECTOR_STATES = (
    "queued",
    "running",
    "done",
    "skipped",
    "failed",
    "timed_out",
    "unreadable",
    "canceled",
)


class RunCollector(Base):
    """One collector in one run: its method, the exact argv, how it ended and what it cost the host."""

    __tablename__ = "run_collector"
    __table_args__ = (UniqueConstraint("run_id", "collector"), allow_values("state", RUN_COLLECTOR_STATES))

    id: Mapped[Id]
    run_id: Mapped[UUID] = mapped_column(ForeignKey("run.id", ondelete="CASCADE"))
    collector: Mapped[str]
    state: Mapped[str] = mapped_column(default="queued")
    reason: Mapped[Json | None]
    method: Mapped[str | None]
    argv: Mapped[str | None]
    exit_code: Mapped[int | None]
    signal: Mapped[int | None]
    tool_version: Mapped[str | None]
    started_ns: Mapped[int | None] = mapped_column(BigInteger)
    ended_ns: Mapped[int | None] = mapped_column(BigInteger)
    cpu_ms: Mapped[float | None]
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    stderr_tail: Mapped[str | None]
    parser_version: Mapped[int | None]
    warnings: Mapped[JsonList] = mapped_column(default=list)
