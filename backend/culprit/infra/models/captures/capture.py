"""The table of captures: one plan on one or more hosts, for a reason."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.models.base import Base, CreatedAt, Id, Json, JsonList, one_of
from culprit.models.run import Run

CAPTURE_SOURCES = ("manual", "import", "api", "schedule", "trigger", "armed")
CAPTURE_STATES = ("queued", "running", "done", "partial", "failed", "cancelled", "expired")


class Capture(Base):
    """A request. Its state follows from the states of its runs. `scope` is what on the host is looked at.

    A capture that is a stage of a diagnosis names it, and so does one that was made for an incident, and one that
    something armed has started.
    """

    __tablename__ = "capture"
    __table_args__ = (one_of("source", CAPTURE_SOURCES), one_of("state", CAPTURE_STATES))

    id: Mapped[Id]
    number: Mapped[int] = mapped_column(BigInteger, Identity(always=False), unique=True)
    plan: Mapped[str]
    collectors: Mapped[JsonList] = mapped_column(default=list)
    seconds: Mapped[float | None]
    scope: Mapped[Json] = mapped_column(default=dict)
    reason: Mapped[str] = mapped_column(default="")
    source: Mapped[str] = mapped_column(default="manual")
    state: Mapped[str] = mapped_column(default="queued", index=True)
    diagnosis_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("diagnosis.id", ondelete="SET NULL", use_alter=True), index=True
    )
    incident_id: Mapped[UUID | None] = mapped_column(
        ForeignKey("incident.id", ondelete="SET NULL", use_alter=True), index=True
    )
    standby_id: Mapped[UUID | None] = mapped_column(ForeignKey("standby.id", ondelete="SET NULL"), index=True)
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]

    runs: Mapped[list[Run]] = relationship(order_by=Run.id)
