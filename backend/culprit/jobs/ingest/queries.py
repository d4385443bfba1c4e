"""Select the runs, profiles and comparisons that wait to be read or built."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, Select, and_, exists, func, not_, or_, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.captures.locks import get_lease_duration
from culprit.evidence.symbols.queries import is_fetch_pending
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk
from culprit.infra.models.evidence.series_day import SeriesDay
from culprit.infra.models.system.removal import Removal
from culprit.jobs.ingest.locks import STALE_AFTER, Build

_now = func.clock_timestamp


def is_unread() -> ColumnElement[bool]:
    """Return the condition that no worker parses a run: none began, or the last one sent no heartbeat for a lease."""
    return or_(Run.ingest_attempts == 0, Run.heartbeat_at < _now() - get_lease_duration())


def pending_ingests() -> Select[UUID]:
    """Select the runs whose artifacts were not read yet."""
    return select(Run.id).where(Run.state == "ingesting", is_unread())


def pending_fetches(collector: str) -> Select[UUID]:
    """Select the runs for which a metric source was not queried yet."""
    return select(RunCollector.run_id).where(
        RunCollector.collector == collector, RunCollector.state == "queued"
    )


def pending_builds(table: Build) -> Select[UUID]:
    """Select the queued builds and those whose worker was lost, without profiles whose symbols are being fetched."""
    abandoned = and_(table.state == "running", table.started_at < _now() - STALE_AFTER)
    query = select(table.id).where(or_(table.state == "queued", abandoned))
    return query.where(not_(is_fetch_pending(Profile.run_id))) if table is Profile else query


def find_planned_collector(
    session: Session, run_id: UUID, collector: str, *, lock: bool = False
) -> RunCollector | None:
    """Return the collector of a run that was not fetched yet, or None."""
    query = select(RunCollector).where(
        RunCollector.run_id == run_id, RunCollector.collector == collector, RunCollector.state == "queued"
    )
    return session.scalar(query.with_for_update() if lock else query)


def find_run_collector(session: Session, run_id: UUID, collector: str) -> RunCollector | None:
    """Return a collector of a run by name, or None."""
    query = select(RunCollector).where(RunCollector.run_id == run_id, RunCollector.collector == collector)
    return session.scalar(query)


def list_collector_states(session: Session, run_id: UUID) -> Sequence[str]:
    """Return the states of the collectors of a run."""
    return session.scalars(select(RunCollector.state).where(RunCollector.run_id == run_id)).all()


def load_collector_ids(session: Session, run_id: UUID, collectors: Sequence[str]) -> dict[str, UUID]:
    """Return the IDs of these collectors of a run by name."""
    query = select(RunCollector.collector, RunCollector.id).where(
        RunCollector.run_id == run_id, RunCollector.collector.in_(collectors)
    )
    return {row.collector: row.id for row in session.execute(query)}


def has_removed_data(session: Session, run_id: UUID) -> bool:
    """Return whether retention has deleted data of a run."""
    return bool(session.scalar(select(exists().where(Removal.run_id == run_id))))


def has_unbuilt_profile(session: Session, profile_ids: Sequence[UUID]) -> bool:
    """Return whether one of these profiles is not built yet, or its run not parsed yet."""
    query = (
        select(Profile.id)
        .join(Run, Run.id == Profile.run_id)
        .where(
            Profile.id.in_(profile_ids),
            or_(Profile.state.in_(("queued", "running")), Run.state == "ingesting"),
        )
    )
    return session.scalar(query.limit(1)) is not None


def find_event_profile(session: Session, profile: Profile, kind: str, event: str) -> Profile | None:
    """Return the profile of another event of the same recording, or None."""
    query = select(Profile).where(
        Profile.run_id == profile.run_id,
        Profile.run_collector_id == profile.run_collector_id,
        Profile.kind == kind,
        Profile.event == event,
        Profile.id != profile.id,
    )
    return session.scalars(query).first()


def list_profiles(session: Session, run_id: UUID) -> Sequence[Profile]:
    """Return the profiles of a run, the newest first."""
    return session.scalars(select(Profile).where(Profile.run_id == run_id).order_by(Profile.id.desc())).all()


def list_summaries(
    session: Session, run_collector_id: UUID, metrics: Collection[str]
) -> Sequence[Row[str, dict[str, Any], bytes | None]]:
    """Return metric, labels and summary of the raw chunks of a collector."""
    query = select(SeriesChunk.metric, SeriesChunk.labels, SeriesChunk.summary).where(
        SeriesChunk.run_collector_id == run_collector_id,
        SeriesChunk.level == 0,
        SeriesChunk.metric.in_(metrics),
        SeriesChunk.summary.is_not(None),
    )
    return session.execute(query).all()


def list_hours(
    session: Session, conditions: Sequence[ColumnElement[bool]], hour_ns: int
) -> Sequence[Row[UUID | None, int]]:
    """Return the series and hours of the raw chunks that match the conditions."""
    query = (
        select(SeriesChunk.series_id, SeriesChunk.t0_ns // hour_ns)
        .where(*conditions, SeriesChunk.level == 0, SeriesChunk.series_id.is_not(None))
        .distinct()
    )
    return session.execute(query).all()


def list_series_days(session: Session, day: int, series_ids: Sequence[UUID]) -> Sequence[SeriesDay]:
    """Return the daily summaries of these series."""
    query = select(SeriesDay).where(SeriesDay.day == day, SeriesDay.series_id.in_(series_ids))
    return session.scalars(query).all()


def list_chunk_summaries(
    session: Session, series_ids: Sequence[UUID], from_ns: int, to_ns: int
) -> Sequence[Row[UUID | None, int, list[Any] | None, bytes | None]]:
    """Return series, start, columns and summary of the raw chunks of these series in a time range."""
    query = select(
        SeriesChunk.series_id, SeriesChunk.t0_ns, SeriesChunk.axis_values, SeriesChunk.summary
    ).where(
        SeriesChunk.series_id.in_(series_ids),
        SeriesChunk.t0_ns >= from_ns,
        SeriesChunk.t0_ns < to_ns,
        SeriesChunk.level == 0,
    )
    return session.execute(query).all()


def select_event_ids(run_id: UUID) -> Select[UUID]:
    """Select the events of a run."""
    return select(StoredEvent.id).where(StoredEvent.run_id == run_id)


def list_repetitions(
    session: Session, run_ids: Collection[UUID | None], event_ids: Sequence[UUID]
) -> Sequence[Row[UUID | None, UUID | None]]:
    """Return (displayed event ID, run ID) of each event of these runs that repeats one of these events."""
    query = select(StoredEvent.repeats_id, StoredEvent.run_id).where(
        StoredEvent.run_id.in_(run_ids), StoredEvent.repeats_id.in_(event_ids)
    )
    return session.execute(query).all()


def load_facts(
    session: Session, of_source: Iterable[object], when: object, *, newest: bool
) -> dict[str, HostFact]:
    """Return the newest or oldest matching row of each fact, by name."""
    order = HostFact.since_ns.desc() if newest else HostFact.since_ns
    query = select(HostFact).where(*of_source, when).ext(distinct_on(HostFact.name))  # type: ignore[arg-type]
    return {row.name: row for row in session.scalars(query.order_by(HostFact.name, order))}


def select_oldest_facts(host_id: UUID, keep: int) -> Select[UUID]:
    """Select all but the `keep` most recently read facts of a host."""
    return (
        select(HostFact.id)
        .where(HostFact.host_id == host_id)
        .order_by(HostFact.seen_ns.desc(), HostFact.id.desc())
        .offset(keep)
    )


def load_control_groups(session: Session, run_id: UUID, limit: int) -> dict[int, str]:
    """Return {pid: cgroup path} of the processes in the tables of a run, at most `limit`."""
    groups: dict[int, str] = {}
    for columns, rows in session.execute(
        select(ResultTable.columns, ResultTable.rows).where(
            ResultTable.run_id == run_id,
            ResultTable.columns.contains([{"id": "pid"}, {"id": "cgroup"}]),
        )
    ):
        names = [column["id"] for column in columns]
        pid, cgroup = names.index("pid"), names.index("cgroup")
        for row in rows:
            if isinstance(row[pid], int) and row[cgroup] and len(groups) < limit:
                groups.setdefault(row[pid], str(row[cgroup]))
    return groups
