"""The table of what waits on hosts: rings that keep the last minutes, and armed captures."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, CheckConstraint, ForeignKey, Identity, Index, text
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of
from culprit.models.host import Host

STANDBY_KINDS = ("ring", "armed")
STANDBY_STATES = ("waiting", "watching", "fired", "expired", "cancelled", "failed")


class Standby(Base):
    """One process that waits on one host until `until`, under a lease like a run's; one of each kind a host.

    A `ring` keeps the last `ring_s` seconds for captures of its host, and `stacks` of all CPUs where that is allowed.
    An `armed` one keeps some, too, and starts the capture that is `wanted` whenever one of its `conditions` begins to
    hold: at most `fires_max` times, `cooldown_s` apart, as evidence of `incident_id` where it was armed for one.
    `waiting` and `failure` are sentences, `refused` is one with the time at which something did not start; `readings`
    holds the last minutes of what was read, `cost` what it takes of the host.
    """

    __tablename__ = "standby"
    __table_args__ = (
        one_of("kind", STANDBY_KINDS),
        one_of("state", STANDBY_STATES),
        CheckConstraint("(kind = 'armed') = (wanted IS NOT NULL)", name="wanted"),
        CheckConstraint("(state IN ('waiting', 'watching')) = (ended_at IS NULL)", name="ended"),
        Index("uq_standby_open", "host_id", "kind", unique=True, postgresql_where=text("ended_at IS NULL")),
        Index("ix_standby_due", "not_before", postgresql_where=text("state = 'waiting'")),
        Index(None, "host_id"),
    )

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    kind: Mapped[str]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id"))
    state: Mapped[str] = mapped_column(default="waiting")
    reason: Mapped[str] = mapped_column(default="")
    ring_s: Mapped[int]
    ring_bytes: Mapped[int] = mapped_column(BigInteger)
    stacks: Mapped[bool] = mapped_column(default=False)
    conditions: Mapped[JsonList] = mapped_column(default=list)
    wanted: Mapped[Json | None]
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL"), index=True
    )
    fires_max: Mapped[int] = mapped_column(default=0)
    fires: Mapped[int] = mapped_column(default=0)
    cooldown_s: Mapped[int] = mapped_column(default=0)
    fired_at: Mapped[datetime | None]
    refused: Mapped[Json | None]
    until: Mapped[datetime]
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
    interrupted: Mapped[int] = mapped_column(default=0)
    failures: Mapped[int] = mapped_column(default=0)
    waiting: Mapped[Json | None]
    failure: Mapped[Json | None]
    spec: Mapped[Json | None]
    cost: Mapped[Json | None]
    readings: Mapped[Json | None]

    host: Mapped[Host] = relationship(lazy="joined")
