"""The table of looks at a host before anything is captured."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import ForeignKey
from sqlalchemy.orm import Mapped, mapped_column

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of

PREFLIGHT_STATES = ("queued", "running", "done", "failed")


class Preflight(Base):
    """What a host can do: facts, checks, and for each collector whether it works, degrades or does not work.

    `checks`: [{id, state ok|degraded|missing, value, reason, mend}].
    `collectors`: [{id, state works|degrades|does_not_work, way, reason, mend}].
    `timings`: {connect_ms, login_ms, fork_ms, rtt_ms}; `clock`: {offset_ms, uncertainty_ms}.
    `failure`, `reason` and `mend` are sentences.
    """

    __tablename__ = "preflight"
    __table_args__ = (one_of("state", PREFLIGHT_STATES),)

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
