"""SELECTs of how much is stored."""

from __future__ import annotations

from collections.abc import Collection
from uuid import UUID

from sqlalchemy import ARRAY, ColumnElement, Uuid, cast, func, select, text
from sqlalchemy.orm import Session

from culprit.evidence.retention.sources import StorageKind
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.hosts.host import Host
from culprit.json_types import Json

MAX_DAYS = 400


def _live_conditions(source: StorageKind) -> tuple[ColumnElement[bool], ...]:
    return (*source.stored_condition, *(() if source.batch > 1000 else source.kind_condition))


def sum_total(session: Session, source: StorageKind, cited: list[UUID]) -> Json:
    """Return the number and the size of a kind's rows, and the size of those whose run is cited."""
    row = session.execute(
        select(func.count(), func.coalesce(func.sum(source.size), 0))
        .select_from(source.model)
        .where(*_live_conditions(source))
    ).one()
    cited_bytes = 0
    if source.run_id is not None and cited:
        of_cited = source.run_id == func.any(cast(cited, ARRAY(Uuid)))
        cited_bytes = (
            session.scalar(
                select(func.coalesce(func.sum(source.size), 0)).where(of_cited, *_live_conditions(source))
            )
            or 0
        )
    return {"items": int(row[0]), "bytes": int(row[1]), "cited_bytes": int(cited_bytes)}


def sum_by_day(session: Session, source: StorageKind) -> dict[str, int]:
    """Return the size of a kind by UTC day of the run, newest first."""
    run_id = source.run_id
    at = func.timezone("UTC", Run.queued_at if run_id is not None else ProfileComparison.created_at)
    day = func.to_char(at, text("'YYYY-MM-DD'"))
    query = (
        select(day.label("day"), func.sum(source.size))
        .select_from(source.model)
        .where(*_live_conditions(source))
    )
    if run_id is not None:
        query = query.join(Run, Run.id == run_id)
    rows = session.execute(query.group_by(text("day")).order_by(text("day DESC")).limit(MAX_DAYS)).all()
    return {row[0]: int(row[1] or 0) for row in rows}


def sum_by_host(session: Session, source: StorageKind) -> list[tuple[UUID | None, int]]:
    """Return the size of a kind by host; a comparison belongs to none."""
    if source.run_id is None:
        return []
    query = (
        select(Run.host_id, func.sum(source.size))
        .select_from(source.model)
        .join(Run, Run.id == source.run_id)
        .where(*_live_conditions(source))
        .group_by(Run.host_id)
    )
    return [(row[0], int(row[1] or 0)) for row in session.execute(query)]


def sum_relations(session: Session, tables: tuple[str, ...]) -> int:
    """Return the size of tables with their indexes, in bytes."""
    sizes = [session.scalar(select(func.pg_total_relation_size(table))) or 0 for table in tables]
    return sum(sizes)


def sum_removed(session: Session) -> dict[str, int]:
    """Return the bytes that retention has deleted, by day."""
    rows = session.execute(
        text(
            "SELECT to_char(timezone('UTC', at), 'YYYY-MM-DD') AS day, sum(bytes) FROM removal"
            " GROUP BY 1 ORDER BY 1 DESC LIMIT :most"
        ),
        {"most": MAX_DAYS},
    )
    return {row[0]: int(row[1]) for row in rows}


def get_database_size(session: Session) -> int:
    """Return the size of the database, in bytes."""
    size: int | None = session.scalar(select(func.pg_database_size(func.current_database())))
    return size or 0


def load_host_names(session: Session, ids: Collection[UUID]) -> dict[str, str]:
    """Return names of hosts by ID."""
    rows = session.execute(select(Host.id, Host.name).where(Host.id.in_(ids)))
    return {str(row.id): row.name for row in rows}
