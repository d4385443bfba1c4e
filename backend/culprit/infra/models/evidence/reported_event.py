"""The table of reported events: deploys, configuration changes, notes."""

from __future__ import annotations

from datetime import datetime
from uuid import UUID

from sqlalchemy import (
    BigInteger,
    CheckConstraint,
    ColumnElement,
    ForeignKey,
    Index,
    UniqueConstraint,
    func,
    or_,
    select,
    text,
)
from sqlalchemy.orm import Mapped, mapped_column

from culprit.infra.models.base import Base, CreatedAt, Id
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.json_types import Json


class ReportedEvent(Base):
    """An event that a person or a pipeline reported. It has no artifact, so it names the account.

    `target` is how the hosts were selected: {"kind": everywhere|hosts|labels|service, "labels"?, "service"?}. The
    hosts at that time are in reported_event_host. A withdrawn event stays, and only lists show it.
    """

    __tablename__ = "reported_event"
    __table_args__ = (
        CheckConstraint("end_ns > t_ns", name="span"),
        CheckConstraint("(withdrawn_at IS NULL) = (withdrawn_by IS NULL)", name="withdrawn"),
        UniqueConstraint("reported_by", "external_id"),
        Index("ix_reported_event_active", "t_ns", postgresql_where=text("withdrawn_at IS NULL")),
    )

    id: Mapped[Id]
    t_ns: Mapped[int] = mapped_column(BigInteger)
    end_ns: Mapped[int | None] = mapped_column(BigInteger)
    kind: Mapped[str]
    what: Mapped[str]
    who: Mapped[str] = mapped_column(default="")
    detail: Mapped[str] = mapped_column(default="")
    link: Mapped[str | None]
    everywhere: Mapped[bool] = mapped_column(default=False)
    target: Mapped[Json]
    external_id: Mapped[str | None]
    reported_by: Mapped[UUID] = mapped_column(ForeignKey("user_account.id"))
    created_at: Mapped[CreatedAt]
    changed_at: Mapped[datetime | None]
    withdrawn_at: Mapped[datetime | None]
    withdrawn_by: Mapped[UUID | None] = mapped_column(ForeignKey("user_account.id"))

    @staticmethod
    def build_host_condition(host_id: UUID) -> ColumnElement[bool]:
        """Return a condition for active events of a host."""
        named = select(ReportedEventHost.reported_event_id).where(ReportedEventHost.host_id == host_id)
        return ReportedEvent.withdrawn_at.is_(None) & or_(
            ReportedEvent.everywhere, ReportedEvent.id.in_(named)
        )

    @staticmethod
    def build_range_condition(from_ns: int, to_ns: int) -> ColumnElement[bool]:
        """Return a condition for events that overlap a time range."""
        return (ReportedEvent.t_ns < to_ns) & (
            func.coalesce(ReportedEvent.end_ns, ReportedEvent.t_ns) >= from_ns
        )
