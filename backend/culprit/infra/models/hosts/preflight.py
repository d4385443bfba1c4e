"""Table of preflight checks."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.json_types import Json

PREFLIGHT_STATES = ("queued", "running", "done", "failed")


class Preflight(Base):
    """Results of a preflight check: facts, checks, and for each collector whether it works, degrades or is
    unavailable.

    `checks`: [{id, state ok|degraded|missing, value, reason, remedy}].
    `collectors`: [{id, state works|degrades|unavailable, method, reason, remedy}].
    `timings`: {connect_ms, login_ms, fork_ms, rtt_ms}; `clock`: {offset_ms, uncertainty_ms}.
    `failure`, `reason` and `remedy` are messages.
    """

    __tablename__ = "preflight"
    __table_args__ = (allow_values("state", PREFLIGHT_STATES),)

    id: Mapped[Id]
    host_id: Mapped[UUID] = mapped_column(ForeignKey("host.id", ondelete="CASCADE"), index=True)
    state: Mapped[str] = mapped_column(default="queued")
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    facts: Mapped[Json | None]
    checks: Mapped[JsonList | None]
    collectors: Mapped[JsonList | None]
    clock: Mapped[Json | None]
    timings: Mapped[Json | None]
    failure: Mapped[Json | None]
