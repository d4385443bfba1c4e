"""Table of runs: one capture on one host."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.infra.models.base import Base, CreatedAt, Id, allow_values
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json

RUN_STATES = ("queued", "running", "ingesting", "done", "partial", "failed", "canceled", "expired")
FAILURE_SIDES = ("worker", "host", "user")


class Run(Base):
    """One capture on one host, under a lease.

    `fence` grows with every claim; a writer with an older fence is refused. `failure` is a message and
    `failure_side` its cause, which decides whether the run is tried again. `worker_losses` and
    `host_failures` limit the attempts; waiting for a busy host does not count. `waiting` is the message why
    the run cannot start yet. `ingest_attempts` counts parse attempts.

    An import may have no host. `t0_ns` and `t1_ns` are the measured time range on the canonical clock;
    `look_back_ns` is the start of a look-back buffer that the run includes. `facts` are the host facts of
    this run.
    """

    __tablename__ = "run"
    __table_args__ = (
        allow_values("state", RUN_STATES),
        allow_values("failure_side", FAILURE_SIDES),
        Index("uq_run_active_host", "host_id", unique=True, postgresql_where=text("state = 'running'")),
        Index("ix_run_open", "state", "not_before", postgresql_where=text("ended_at IS NULL")),
        Index(None, "host_id", "started_at"),
        Index(None, "host_id", "t0_ns"),
    )

    id: Mapped[Id]
    capture_id: Mapped[UUID] = mapped_column(ForeignKey("capture.id", ondelete="CASCADE"), index=True)
    host_id: Mapped[UUID | None] = mapped_column(ForeignKey("host.id"))
    state: Mapped[str] = mapped_column(default="queued")
    attempt: Mapped[int] = mapped_column(default=0)
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    lease_until: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    worker: Mapped[str | None]
    not_before: Mapped[datetime | None]
    queued_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]
    failure: Mapped[Json | None]
    failure_side: Mapped[str | None]
    boot_id: Mapped[str | None]
    clock: Mapped[Json | None]
    timings: Mapped[Json | None]
    host_cpu_ms: Mapped[float | None]
    bytes: Mapped[int] = mapped_column(BigInteger, default=0)
    progress: Mapped[Json | None]
    spec: Mapped[Json | None]
    t0_ns: Mapped[int | None] = mapped_column(BigInteger)
    t1_ns: Mapped[int | None] = mapped_column(BigInteger)
    look_back_ns: Mapped[int | None] = mapped_column(BigInteger)
    ingest_attempts: Mapped[int] = mapped_column(default=0)
    facts: Mapped[Json | None]
    waiting: Mapped[Json | None]
    worker_losses: Mapped[int] = mapped_column(default=0)
    host_failures: Mapped[int] = mapped_column(default=0)

    host: Mapped[Host | None] = relationship(lazy="joined")
    collectors: Mapped[list[RunCollector]] = relationship(order_by=RunCollector.id)
