"""Select captures and build responses from rows."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Select, and_, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, selectinload

from collectors.plans import highest_tier
from collectors.registry import COLLECTORS
from collectors.runner import symbols
from culprit.accounts.actor import Actor
from culprit.accounts.queries.visibility import (
    visible_captures_clause,
    visible_hosts_clause,
    visible_runs_clause,
)
from culprit.captures.schemas import (
    CaptureResponse,
    CollectorProgress,
    CollectorSummary,
    RunSummary,
    ScopeResponse,
)
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.infra.models.hosts.service import Service
from culprit.json_types import Json
from culprit.web.schemas import HostRef, UserRef


def select_captures(actor: Actor, host: UUID | None = None, state: str | None = None) -> Select[Capture]:
    """Select the captures that are visible for this actor."""
    query = select(Capture).where(visible_captures_clause(actor))
    if host is not None:
        query = query.where(Capture.id.in_(select(Run.capture_id).where(Run.host_id == host)))
    if state is not None:
        query = query.where(Capture.state == state)
    return query


def select_visible_ids(actor: Actor) -> Select[UUID]:
    """Select the IDs of the captures that are visible for this actor."""
    return select(Capture.id).where(visible_captures_clause(actor))


def find_capture(session: Session, actor: Actor, capture_id: UUID) -> Capture | None:
    """Return one capture if it is visible for this actor, else None."""
    return session.scalar(select_captures(actor).where(Capture.id == capture_id))


def list_runs(session: Session, actor: Actor, capture_ids: Iterable[UUID]) -> dict[UUID, list[Run]]:
    """Return the visible runs of captures, in their order."""
    query = (
        select(Run)
        .where(Run.capture_id.in_(list(capture_ids)), visible_runs_clause(actor))
        .options(selectinload(Run.collectors))
        .order_by(Run.id)
        .execution_options(populate_existing=True)
    )
    runs: dict[UUID, list[Run]] = {}
    for run in session.scalars(query):
        runs.setdefault(run.capture_id, []).append(run)
    return runs


def list_hosts(session: Session, actor: Actor, ids: Sequence[UUID]) -> list[Host]:
    """Return the active hosts among `ids` that are visible for this actor, in that order."""
    query = select(Host).where(Host.id.in_(ids), Host.state == "active", visible_hosts_clause(actor))
    results = {host.id: host for host in session.scalars(query)}
    return [results[item] for item in dict.fromkeys(ids) if item in results]


def list_measurable_services(session: Session) -> Sequence[Service]:
    """Return the services that a collector on their hosts can measure."""
    query = select(Service).where(Service.source_kind.in_(("access_log", "accepts")))
    return session.scalars(query.order_by(Service.name)).all()


def list_lookback_hosts(session: Session, ids: Sequence[UUID]) -> set[UUID]:
    """Return those of these hosts that have a look-back buffer now."""
    query = select(Watcher.host_id).where(Watcher.host_id.in_(ids), Watcher.state == "watching")
    return set(session.scalars(query))


def load_latest_preflights(session: Session, ids: Sequence[UUID]) -> dict[UUID, Preflight]:
    """Return the newest finished preflight check of each host."""
    newest = (
        select(Preflight.id)
        .where(Preflight.host_id.in_(ids), Preflight.state == "done")
        .ext(distinct_on(Preflight.host_id))
        .order_by(Preflight.host_id, Preflight.at.desc())
    )
    query = select(Preflight).where(Preflight.id.in_(newest))
    return {item.host_id: item for item in session.scalars(query)}


def list_run_costs(session: Session, host_id: UUID, limit: int) -> list[tuple[float, list[Json]]]:
    """Return milliseconds of CPU and the collectors of the newest runs of a host."""
    query = (
        select(Run.host_cpu_ms, Capture.collectors)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.host_id == host_id, Run.state == "done", Run.host_cpu_ms > 0)
        .order_by(Run.id.desc())
        .limit(limit)
    )
    return [(cpu_ms, collectors) for cpu_ms, collectors in session.execute(query) if cpu_ms]


def list_symbol_fetches(session: Session, host_id: UUID, limit: int) -> list[tuple[int, float]]:
    """Return (sent bytes, milliseconds of CPU) of the newest fetches of symbols from a host.

    Both are 0 where the server had all symbols. Symbols of earlier runs are parts of a run before its fetch starts.
    """
    is_sent = Artifact.created_at >= func.to_timestamp(RunCollector.started_ns / 1e9)
    query = (
        select(
            func.coalesce(func.sum(Artifact.stored_size).filter(is_sent), 0),
            func.coalesce(RunCollector.cpu_ms, 0.0),
        )
        .join(Run, Run.id == RunCollector.run_id)
        .outerjoin(Artifact, Artifact.run_collector_id == RunCollector.id)
        .where(Run.host_id == host_id, RunCollector.collector == symbols.ID, RunCollector.state == "done")
        .group_by(RunCollector.id)
        .order_by(RunCollector.id.desc())
        .limit(limit)
    )
    return [(int(size), cpu_ms) for size, cpu_ms in session.execute(query)]


def lock_open_runs(session: Session, capture_id: UUID) -> list[Run]:
    """Return the runs of a capture that have not ended, locked."""
    query = (
        select(Run)
        .where(Run.capture_id == capture_id, Run.ended_at.is_(None))
        .order_by(Run.id)
        .with_for_update(of=Run, key_share=True)
    )
    return list(session.scalars(query))


def build_captures(session: Session, actor: Actor, rows: Sequence[Capture]) -> list[CaptureResponse]:
    """Build the responses of captures."""
    by_capture = list_runs(session, actor, [row.id for row in rows])
    people = {row.requested_by for row in rows if row.requested_by is not None}
    names: dict[Any, str] = {}
    if people:
        row = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(people)))
        names = {row.id: row.name for row in row}
    at = session.scalar(select(func.clock_timestamp())) or datetime.now(UTC)
    return [
        CaptureResponse(
            id=row.id,
            number=row.number,
            plan=row.plan,
            seconds=row.seconds,
            tier=highest_tier(
                collector["id"] for collector in row.collectors if collector["id"] in COLLECTORS
            ),
            scope=ScopeResponse(kind=row.scope.get("kind", "host"), value=row.scope.get("value", "")),
            options={
                collector["id"]: collector["options"]
                for collector in row.collectors
                if collector.get("options")
            },
            state=row.state,
            reason=row.reason,
            source=row.source,
            requested_by=_user_name(row.requested_by, names),
            created_at=row.created_at,
            ended_at=row.ended_at,
            runs=[build_run(run, at) for run in by_capture.get(row.id, [])],
        )
        for row in rows
    ]


def _user_name(user_id: UUID | None, names: dict[Any, str]) -> UserRef | None:
    return UserRef(id=user_id, name=names[user_id]) if user_id in names and user_id else None


def build_run(run: Run, at: datetime) -> RunSummary:
    """Build the response of a run; `at` is the current time, for the age of a running run."""
    end = run.ended_at or (at if run.state in ("running", "ingesting") else None)
    seconds = (end - run.started_at).total_seconds() if end and run.started_at else None
    progress = (run.progress or {}) if run.state == "running" else {}
    known = {collector.collector: collector for collector in run.collectors}
    order = [name for name in COLLECTORS if name in known] + sorted(known.keys() - COLLECTORS.keys())
    return RunSummary(
        id=run.id,
        host=HostRef(id=run.host.id, name=run.host.name) if run.host else None,
        state=run.state,
        attempt=run.attempt,
        started_at=run.started_at,
        ended_at=run.ended_at,
        not_before=run.not_before if run.state == "queued" else None,
        seconds=round(seconds, 3) if seconds is not None else None,
        bytes=run.bytes,
        host_cpu_ms=run.host_cpu_ms,
        failure=run.failure,
        waiting=run.waiting,
        collectors=[_build_collector(known[name], progress.get(name)) for name in order],
    )


def _build_collector(item: Any, live: dict[str, Any] | None) -> CollectorSummary:
    received_live = live or {}
    started_ns, ended_ns = (
        getattr(item, name) or received_live.get(name) for name in ("started_ns", "ended_ns")
    )
    took = ended_ns - started_ns if ended_ns and started_ns else None
    state = live["state"] if live and item.state == "queued" else item.state
    return CollectorSummary(
        id=item.collector,
        state=state,
        reason=item.reason,
        bytes=max(item.bytes, int(live.get("bytes", 0)) if live else 0),
        seconds=round(took / 1e9, 3) if took is not None else None,
        started_ns=started_ns,
        progress=CollectorProgress(elapsed_ms=live["elapsed_ms"], planned_ms=live["planned_ms"])
        if live and state == "running"
        else None,
    )


def _open_runs_clause(hosts: ColumnElement[bool]) -> ColumnElement[bool]:
    on_hosts = Run.host_id.in_(select(Host.id).where(hosts))
    return and_(Run.ended_at.is_(None), Run.state != "ingesting", on_hosts)


def list_open_capture_ids(session: Session, hosts: ColumnElement[bool]) -> Sequence[UUID]:
    """Return the captures with an open run on hosts of a condition, in order."""
    query = select(Run.capture_id).where(_open_runs_clause(hosts)).distinct().order_by(Run.capture_id)
    return session.scalars(query).all()


def lock_open_runs_on_hosts(session: Session, capture_id: UUID, hosts: ColumnElement[bool]) -> Sequence[Run]:
    """Return the open runs of a capture on hosts of a condition, locked."""
    return session.scalars(
        select(Run)
        .where(Run.capture_id == capture_id, _open_runs_clause(hosts))
        .order_by(Run.id)
        .with_for_update(of=Run, key_share=True)
        .execution_options(populate_existing=True)
    ).all()
