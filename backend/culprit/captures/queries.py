"""Every SELECT about captures, and how rows become answers."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

from sqlalchemy import Select, func, select
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session, selectinload

from collectors.plans import tier_of
from collectors.registry import COLLECTORS
from culprit.auth.actor import Actor
from culprit.auth.policy import visible, visible_captures, visible_runs
from culprit.captures.schemas import (
    CaptureRead,
    CollectorProgress,
    CollectorSummary,
    HostRef,
    RunSummary,
    ScopeRead,
    UserRef,
)
from culprit.models import Capture, Host, Preflight, Run, Service, Standby, UserAccount


def captures(actor: Actor, host: UUID | None = None, state: str | None = None) -> Select[Capture]:
    """The captures that exist for this actor."""
    query = select(Capture).where(visible_captures(actor))
    if host is not None:
        query = query.where(Capture.id.in_(select(Run.capture_id).where(Run.host_id == host)))
    if state is not None:
        query = query.where(Capture.state == state)
    return query


def select_visible_ids(actor: Actor) -> Select[UUID]:
    """Select the ids of the captures that exist for this actor."""
    return select(Capture.id).where(visible_captures(actor))


def capture(session: Session, actor: Actor, capture_id: UUID) -> Capture | None:
    """One capture, if it exists for this actor."""
    return session.scalar(captures(actor).where(Capture.id == capture_id))


def runs(session: Session, actor: Actor, capture_ids: Iterable[UUID]) -> dict[UUID, list[Run]]:
    """The visible runs of captures, in their order."""
    query = (
        select(Run)
        .where(Run.capture_id.in_(list(capture_ids)), visible_runs(actor))
        .options(selectinload(Run.collectors))
        .order_by(Run.id)
        .execution_options(populate_existing=True)
    )
    found: dict[UUID, list[Run]] = {}
    for run in session.scalars(query):
        found.setdefault(run.capture_id, []).append(run)
    return found


def hosts(session: Session, actor: Actor, ids: Sequence[UUID]) -> list[Host]:
    """The active hosts among these that exist for this actor, in the order given."""
    query = select(Host).where(Host.id.in_(ids), Host.state == "active", visible(actor))
    found = {host.id: host for host in session.scalars(query)}
    return [found[one] for one in dict.fromkeys(ids) if one in found]


def measurable_services(session: Session) -> Sequence[Service]:
    """The declared services that something on their hosts can measure."""
    query = select(Service).where(Service.source_kind.in_(("access_log", "accepts")))
    return session.scalars(query.order_by(Service.name)).all()


def kept_on(session: Session, ids: Sequence[UUID]) -> set[UUID]:
    """Those of these hosts on which something keeps the last minutes now."""
    query = select(Standby.host_id).where(Standby.host_id.in_(ids), Standby.state == "watching")
    return set(session.scalars(query))


def latest_preflights(session: Session, ids: Sequence[UUID]) -> dict[UUID, Preflight]:
    """The newest finished check of each host."""
    newest = (
        select(Preflight.id)
        .where(Preflight.host_id.in_(ids), Preflight.state == "done")
        .ext(distinct_on(Preflight.host_id))
        .order_by(Preflight.host_id, Preflight.at.desc())
    )
    query = select(Preflight).where(Preflight.id.in_(newest))
    return {one.host_id: one for one in session.scalars(query)}


def open_runs(session: Session, capture_id: UUID) -> list[Run]:
    """The runs of a capture that have not ended, locked."""
    query = (
        select(Run)
        .where(Run.capture_id == capture_id, Run.ended_at.is_(None))
        .order_by(Run.id)
        .with_for_update(of=Run, key_share=True)
    )
    return list(session.scalars(query))


def read_captures(session: Session, actor: Actor, rows: Sequence[Capture]) -> list[CaptureRead]:
    """Captures as they are sent."""
    by_capture = runs(session, actor, [row.id for row in rows])
    people = {row.requested_by for row in rows if row.requested_by is not None}
    names: dict[Any, str] = {}
    if people:
        found = session.execute(select(UserAccount.id, UserAccount.name).where(UserAccount.id.in_(people)))
        names = {row.id: row.name for row in found}
    at = session.scalar(select(func.clock_timestamp())) or datetime.now(UTC)
    return [
        CaptureRead(
            id=row.id,
            number=row.number,
            plan=row.plan,
            seconds=row.seconds,
            tier=tier_of(one["id"] for one in row.collectors if one["id"] in COLLECTORS),
            scope=ScopeRead(kind=row.scope.get("kind", "host"), value=row.scope.get("value", "")),
            options={one["id"]: one["options"] for one in row.collectors if one.get("options")},
            state=row.state,
            reason=row.reason,
            source=row.source,
            requested_by=_person(row.requested_by, names),
            created_at=row.created_at,
            ended_at=row.ended_at,
            runs=[read_run(run, at) for run in by_capture.get(row.id, [])],
        )
        for row in rows
    ]


def _person(user_id: UUID | None, names: dict[Any, str]) -> UserRef | None:
    return UserRef(id=user_id, name=names[user_id]) if user_id in names and user_id else None


def read_run(run: Run, at: datetime) -> RunSummary:
    """A run as it is sent; `at` is now, for the age of what still runs."""
    end = run.ended_at or (at if run.state in ("running", "ingesting") else None)
    seconds = (end - run.started_at).total_seconds() if end and run.started_at else None
    progress = (run.progress or {}) if run.state == "running" else {}
    known = {one.collector: one for one in run.collectors}
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
        collectors=[_read_collector(known[name], progress.get(name)) for name in order],
    )


def _read_collector(one: Any, live: dict[str, Any] | None) -> CollectorSummary:
    heard = live or {}
    started_ns, ended_ns = (getattr(one, name) or heard.get(name) for name in ("started_ns", "ended_ns"))
    took = ended_ns - started_ns if ended_ns and started_ns else None
    state = live["state"] if live and one.state == "queued" else one.state
    return CollectorSummary(
        id=one.collector,
        state=state,
        reason=one.reason,
        bytes=max(one.bytes, int(live.get("bytes", 0)) if live else 0),
        seconds=round(took / 1e9, 3) if took is not None else None,
        started_ns=started_ns,
        progress=CollectorProgress(elapsed_ms=live["elapsed_ms"], planned_ms=live["planned_ms"])
        if live and state == "running"
        else None,
    )
