"""Events that were told, as they are sent."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime, timedelta

from sqlalchemy.orm import Session

from culprit.annotations import queries
from culprit.annotations.schemas import EventWhere, ToldEventRead, UserRef
from culprit.auth.actor import Actor
from culprit.auth.policy import allowed
from culprit.models import Annotation

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def events(session: Session, actor: Actor, rows: Sequence[Annotation]) -> list[ToldEventRead]:
    """Several, with the hosts that this actor sees."""
    hosts, counts = queries.hosts_of(session, actor, [row.id for row in rows])
    people = queries.people(session, (row.told_by for row in rows))
    return [
        ToldEventRead(
            id=row.id,
            kind=row.kind,
            what=row.what,
            who=row.who,
            detail=row.detail,
            link=row.link,
            at=moment(row.t_ns),
            until=moment(row.end_ns) if row.end_ns is not None else None,
            where=EventWhere(
                kind=row.place["kind"],
                labels=row.place.get("labels"),
                service=row.place.get("service"),
                hosts=hosts.get(row.id, []),
                hosts_total=counts.get(row.id, 0),
            ),
            external_id=row.external_id,
            told_by=UserRef(id=row.told_by, name=people[row.told_by]),
            created_at=row.created_at,
            changed_at=row.changed_at,
            withdrawn_at=row.withdrawn_at,
            may_change=row.withdrawn_at is None and may_change(actor, row),
        )
        for row in rows
    ]


def event(session: Session, actor: Actor, row: Annotation) -> ToldEventRead:
    """One."""
    return events(session, actor, [row])[0]


def may_change(actor: Actor, row: Annotation) -> bool:
    """Whether the role suffices to correct and withdraw it."""
    own = row.told_by == actor.id and allowed(actor, "event.tell")
    return own or allowed(actor, "event.manage")


def moment(at_ns: int) -> datetime:
    """Nanoseconds as a time in UTC, to the microsecond."""
    return EPOCH + timedelta(microseconds=at_ns // 1000)
