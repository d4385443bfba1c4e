"""The table of watchers: look-back buffers and conditional captures on hosts."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json

WATCHER_KINDS = ("lookback", "conditional")
WATCHER_STATES = ("waiting", "watching", "completed", "expired", "canceled", "failed")


class Watcher(Base):
    """One process on one host until `expires_at`, under a lease like a run's. A host has at most one of each kind.

    A `lookback` watcher keeps the last `lookback_s` seconds for captures of its host, and with `stacks` the
    stacks of all CPUs. A `conditional` one also keeps a few minutes. It starts the capture `capture_spec`
    each time one of its `conditions` begins to hold: at most `max_captures` times, `cooldown_s` apart, as
    evidence of `incident_id` if set. `wait_reason` and `failure` are messages. `rejection` is a message with
    the time at which a capture was not started. `readings` holds the last minutes of condition values, `cost`
    what the watcher uses on the host.
    """

    __tablename__ = "watcher"
    __table_args__ = (
        allow_values("kind", WATCHER_KINDS),
        allow_values("state", WATCHER_STATES),
        CheckConstraint("(kind = 'conditional') = (capture_spec IS NOT NULL)", name="capture_spec"),
        CheckConstraint("(state IN ('waiting', 'watching')) = (ended_at IS NULL)", name="ended"),
        Index("uq_watcher_open", "host_id", "kind", unique=True, postgresql_where=text("ended_at IS NULL")),
        Index("ix_watcher_due", "not_before", postgresql_where=text("state = 'waiting'")),
        Index(None, "host_id"),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    kind: Mapped[str]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    state: Mapped[str] = mapped_column(default="waiting")
    reason: Mapped[str] = mapped_column(default="")
    lookback_s: Mapped[int]
    lookback_bytes: Mapped[int] = mapped_column(BigInteger)
    stacks: Mapped[bool] = mapped_column(default=False)
    conditions: Mapped[JsonList] = mapped_column(default=list)
    capture_spec: Mapped[Json | None]
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL"), index=True
    )
    max_captures: Mapped[int] = mapped_column(default=0)
    capture_count: Mapped[int] = mapped_column(default=0)
    cooldown_s: Mapped[int] = mapped_column(default=0)
    last_capture_at: Mapped[datetime | None]
    rejection: Mapped[Json | None]
    expires_at: Mapped[datetime]
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    started_at: Mapped[datetime | None]
    ended_at: Mapped[datetime | None]
    ended_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    cancel_requested_at: Mapped[datetime | None]
    fence: Mapped[int] = mapped_column(BigInteger, default=0)
    lease_until: Mapped[datetime | None]
    heartbeat_at: Mapped[datetime | None]
    worker: Mapped[str | None]
    not_before: Mapped[datetime | None]
    interruption_count: Mapped[int] = mapped_column(default=0)
    failure_count: Mapped[int] = mapped_column(default=0)
    wait_reason: Mapped[Json | None]
    failure: Mapped[Json | None]
    session_spec: Mapped[Json | None]
    cost: Mapped[Json | None]
    readings: Mapped[Json | None]

    host: Mapped[Host] = relationship(lazy="joined")
