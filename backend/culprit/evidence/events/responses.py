"""Build the responses of reported events."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from culprit.accounts.actor import Actor
from culprit.accounts.authorization import is_allowed
from culprit.evidence.events import queries
from culprit.evidence.events.schemas import ReportedEventResponse, ReportedEventTargetResponse
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.web.schemas import UserRef

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def build_events(
    session: Session, actor: Actor, rows: Sequence[ReportedEvent]
) -> list[ReportedEventResponse]:
    """Build the responses of several events, with the hosts visible to this actor."""
    hosts, counts = queries.load_event_hosts(session, actor, [row.id for row in rows])
    names = queries.load_user_names(session, (row.reported_by for row in rows))
    return [
        ReportedEventResponse(
            id=row.id,
            kind=row.kind,
            what=row.what,
            who=row.who,
            detail=row.detail,
            link=row.link,
            at=to_datetime(row.t_ns),
            until=to_datetime(row.end_ns) if row.end_ns is not None else None,
            target=ReportedEventTargetResponse(
                kind=row.target["kind"],
                labels=row.target.get("labels"),
                service=row.target.get("service"),
                hosts=hosts.get(row.id, []),
                host_count=counts.get(row.id, 0),
            ),
            external_id=row.external_id,
            reported_by=UserRef(id=row.reported_by, name=names[row.reported_by]),
            created_at=row.created_at,
            changed_at=row.changed_at,
            withdrawn_at=row.withdrawn_at,
            can_update=row.withdrawn_at is None and can_update(actor, row),
        )
        for row in rows
    ]


def build_event(session: Session, actor: Actor, row: ReportedEvent) -> ReportedEventResponse:
    """Build the response of one event."""
    return build_events(session, actor, [row])[0]


def can_update(actor: Actor, row: ReportedEvent) -> bool:
    """Return whether the role permits updating and withdrawing an event."""
    own = row.reported_by == actor.id and is_allowed(actor, "event.report")
    return own or is_allowed(actor, "event.manage")


def to_datetime(at_ns: int) -> datetime:
    """Convert nanoseconds to a UTC datetime with microseconds."""
    return EPOCH + timedelta(microseconds=at_ns // 1000)
