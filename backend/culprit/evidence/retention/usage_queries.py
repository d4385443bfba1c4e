"""How much there is of what: by kind and day, by kind and host. Read from rows; no file is touched."""

from __future__ import annotations

from typing import Any
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, cast, func, select, text
from sqlalchemy.orm import Session

from culprit.infra.artifacts import ArtifactStore
from culprit.models import Host, ProfileDiff, Run
from culprit.storage.references import held
from culprit.storage.sources import SOURCES, Source

MAX_DAYS = 400
MAX_HOSTS = 100
#: Tables that retention leaves alone, and why; `pg_total_relation_size` of each is shown as kept.
KEPT = {
    "audit": ("audit_entry",),
    "reports": ("report", "report_version", "report_share", "report_visit"),
    "answers": ("finding", "evaluation", "diagnosis"),
    "incidents": (
        "incident",
        "incident_run",
        "journal_entry",
        "pin",
        "step_verdict",
        "verdict_pin",
        "hypothesis",
    ),
}
Json = dict[str, Any]


def measure(session: Session, store: ArtifactStore) -> Json:
    """What is stored, in bytes. Days are UTC days of the runs, as `2026-01-31`."""
    cited = list(held(session))
    kinds: Json = {}
    days: dict[str, dict[str, int]] = {}
    hosts: dict[str, dict[str, int]] = {}
    for kind, source in SOURCES.items():
        kinds[kind] = _total(session, source, cited)
        days[kind] = _by_day(session, source)
        for host_id, size in _by_host(session, source):
            hosts.setdefault(str(host_id) if host_id else "", {})[kind] = size
    space = store.space()
    database_bytes = session.scalar(select(func.pg_database_size(func.current_database())))
    return {
        "disk": {"total": space.total, "free": space.free, "low": space.low},
        "database_bytes": database_bytes or 0,
        "kinds": kinds,
        "kept": {name: _relations(session, tables) for name, tables in KEPT.items()},
        "days": days,
        "hosts": _largest(session, hosts),
        "removed": _removed(session),
    }


def _live(source: Source) -> tuple[ColumnElement[bool], ...]:
    return (*source.live, *(() if source.batch > 1000 else source.mine))


def _total(session: Session, source: Source, cited: list[UUID]) -> Json:
    row = session.execute(
        select(func.count(), func.coalesce(func.sum(source.size), 0))
        .select_from(source.model)
        .where(*_live(source))
    ).one()
    kept = 0
    if source.run_id is not None and cited:
        of_cited = source.run_id == func.any(cast(cited, ARRAY(Uuid)))
        kept = (
            session.scalar(select(func.coalesce(func.sum(source.size), 0)).where(of_cited, *_live(source)))
            or 0
        )
    return {"items": int(row[0]), "bytes": int(row[1]), "cited_bytes": int(kept)}


def _by_day(session: Session, source: Source) -> dict[str, int]:
    run_id = source.run_id
    at = func.timezone("UTC", Run.queued_at if run_id is not None else ProfileDiff.created_at)
    day = func.to_char(at, text("'YYYY-MM-DD'"))
    query = select(day.label("day"), func.sum(source.size)).select_from(source.model).where(*_live(source))
    if run_id is not None:
        query = query.join(Run, Run.id == run_id)
    rows = session.execute(query.group_by(text("day")).order_by(text("day DESC")).limit(MAX_DAYS)).all()
    return {row[0]: int(row[1] or 0) for row in rows}


def _by_host(session: Session, source: Source) -> list[tuple[UUID | None, int]]:
    if source.run_id is None:
        return []
    query = (
        select(Run.host_id, func.sum(source.size))
        .select_from(source.model)
        .join(Run, Run.id == source.run_id)
        .where(*_live(source))
        .group_by(Run.host_id)
    )
    return [(row[0], int(row[1] or 0)) for row in session.execute(query)]


def _largest(session: Session, hosts: dict[str, dict[str, int]]) -> list[Json]:
    """The hosts that take most, and the rest as one."""
    order = sorted(hosts, key=lambda one: -sum(hosts[one].values()))
    shown, others = order[:MAX_HOSTS], order[MAX_HOSTS:]
    ids = [UUID(one) for one in shown if one]
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(ids)))
    names = {str(row.id): row.name for row in rows}
    told: list[Json] = [
        {"host_id": one or None, "name": names.get(one, ""), "kinds": hosts[one]} for one in shown
    ]
    if others:
        rest: dict[str, int] = {}
        for one in others:
            for kind, size in hosts[one].items():
                rest[kind] = rest.get(kind, 0) + size
        told.append({"host_id": None, "name": "", "others": len(others), "kinds": rest})
    return told


def _relations(session: Session, tables: tuple[str, ...]) -> int:
    sizes = [session.scalar(select(func.pg_total_relation_size(table))) or 0 for table in tables]
    return sum(sizes)


def _removed(session: Session) -> dict[str, int]:
    """Bytes that retention has deleted, by day."""
    rows = session.execute(
        text(
            "SELECT to_char(timezone('UTC', at), 'YYYY-MM-DD') AS day, sum(bytes) FROM removal"
            " GROUP BY 1 ORDER BY 1 DESC LIMIT :most"
        ),
        {"most": MAX_DAYS},
    )
    return {row[0]: int(row[1]) for row in rows}
