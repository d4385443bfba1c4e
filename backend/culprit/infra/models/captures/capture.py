"""Table of captures: one plan on one or more hosts, for a reason."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import BigInteger, ForeignKey, Identity
from sqlalchemy.orm import Mapped, mapped_column, relationship

from culprit.infra.models.base import Base, CreatedAt, Id, JsonList, allow_values
from culprit.infra.models.captures.run import Run
from culprit.json_types import Json

CAPTURE_SOURCES = ("manual", "import", "api", "schedule", "trigger", "watcher")
CAPTURE_STATES = ("queued", "running", "done", "partial", "failed", "canceled", "expired")


class Capture(Base):
    """A capture. Its state follows from the states of its runs. `scope` is the capture scope on each host.

    A capture names the diagnosis that it is a stage of, the incident that it is for, and the watcher that
    started it.
    """

    __tablename__ = "capture"
    __table_args__ = (allow_values("source", CAPTURE_SOURCES), allow_values("state", CAPTURE_STATES))

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
    watcher_id: Mapped[UUID | None] = mapped_column(ForeignKey("watcher.id", ondelete="SET NULL"), index=True)
    requested_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    ended_at: Mapped[datetime | None]
    cancel_requested_at: Mapped[datetime | None]

    runs: Mapped[list[Run]] = relationship(order_by=Run.id)
