"""SELECTs of the differences between two selections."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.engine import Row
from sqlalchemy.orm import Session, aliased

from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.evidence.series import StoredSeries
from culprit.json_types import Json

OWN_FACTS = ("boot_id", "uptime_s", "machine_id", "hostname", "target", "perf_reference", "addresses")
"""Facts that identify a host or a capture: they always differ."""


def list_series(session: Session, host_id: UUID, from_ns: int, to_ns: int) -> Sequence[StoredSeries]:
    """Return the series of a host with data in the range, by metric and labels."""
    query = (
        select(StoredSeries)
        .where(
            StoredSeries.host_id == host_id, StoredSeries.first_ns < to_ns, StoredSeries.last_ns >= from_ns
        )
        .order_by(StoredSeries.metric, StoredSeries.labels_key)
    )
    return session.scalars(query).all()


def count_events(
    session: Session, host_id: UUID, from_ns: int, to_ns: int
) -> list[tuple[str, str, int, int, Json]]:
    """Return (kind, severity, number, time of the newest, its title) of the events in a range."""
    within = (
        StoredEvent.host_id == host_id,
        StoredEvent.t_ns >= from_ns,
        StoredEvent.t_ns < to_ns,
        StoredEvent.repeats_id.is_(None),
    )
    group = (StoredEvent.kind, StoredEvent.severity)
    newest = (
        select(*group, StoredEvent.t_ns, StoredEvent.title)
        .where(*within)
        .ext(distinct_on(*group))
        .order_by(*group, StoredEvent.t_ns.desc())
        .subquery()
    )
    counts = select(*group, func.count().label("n")).where(*within).group_by(*group).subquery()
    query = select(counts.c.kind, counts.c.severity, counts.c.n, newest.c.t_ns, newest.c.title).join(
        newest, (newest.c.kind == counts.c.kind) & (newest.c.severity == counts.c.severity)
    )
    return [(row[0], row[1], row[2], row[3], row[4]) for row in session.execute(query)]


def list_setting_differences(
    session: Session, before: tuple[UUID, int], after: tuple[UUID, int], limit: int
) -> tuple[Sequence[Row[Any]], int]:
    """Return the facts that two hosts have with different values: (source, name, first, second), and their number.

    Each side is a host and a time; its value is the last one read until then.
    """
    first, second = (_select_facts(host_id, at_ns) for host_id, at_ns in (before, after))
    joined = (
        select(first.c.source, first.c.name, first.c.value.label("before"), second.c.value.label("after"))
        .join(second, (first.c.source == second.c.source) & (first.c.name == second.c.name))
        .where(first.c.value.is_distinct_from(second.c.value))
    )
    total = session.scalar(select(func.count()).select_from(joined.subquery())) or 0
    query = joined.order_by(first.c.source, first.c.name).limit(limit)
    return session.execute(query).all(), total


def _select_facts(host_id: UUID, at_ns: int) -> Any:
    fact = aliased(HostFact)
    return (
        select(fact.source, fact.name, fact.value)
        .where(fact.host_id == host_id, fact.since_ns <= at_ns, fact.name.not_in(OWN_FACTS))
        .ext(distinct_on(fact.source, fact.name))
        .order_by(fact.source, fact.name, fact.since_ns.desc())
        .subquery()
    )
