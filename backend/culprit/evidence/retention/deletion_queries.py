"""SELECTs of data that retention deletes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from datetime import datetime
from typing import Any
from uuid import UUID

from sqlalchemy import ColumnElement, Row, exists, func, or_, select
from sqlalchemy.orm import Session

from culprit.evidence.retention.citation_queries import CitationScope, find_cited_runs
from culprit.evidence.retention.sources import StorageKind
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.system.blob_deletion import BlobDeletion
from culprit.infra.models.system.storage_check import StorageCheck
from culprit.json_types import Json

COMPARISON_COLUMNS = ("profile_comparison.a", "profile_comparison.b")


def find_last_measurement(session: Session) -> Json:
    """Return the last measurement of the storage, or an empty object."""
    query = select(StorageCheck.result).where(StorageCheck.kind == "measure", StorageCheck.state == "done")
    return session.scalar(query.order_by(StorageCheck.id.desc()).limit(1)) or {}


def list_ids(session: Session, source: StorageKind, cursor: UUID | None, before: UUID) -> Sequence[UUID]:
    """Return one batch of IDs of stored rows after `cursor` and before the ID `before`."""
    after = source.id > cursor if cursor is not None else source.id >= UUID(int=0)
    query = select(source.id).where(*source.stored_condition, after, source.id < before)
    return session.scalars(query.order_by(source.id).limit(source.batch)).all()


def lock_rows(session: Session, source: StorageKind, ids: Iterable[UUID]) -> list[Row[*tuple[Any, ...]]]:
    """Return id, run, size and digests of those rows that no other transaction holds, locked."""
    run_id = source.run_id if source.run_id is not None else func.null()
    query = select(source.id.label("id"), run_id.label("run_id"), source.size.label("size"), *source.keys)
    result = query.where(source.id.in_(ids), *source.kind_condition, *source.stored_condition).order_by(
        source.id
    )
    return list(session.execute(result.with_for_update(of=source.model, skip_locked=True)).all())


def list_uncited_rows(
    session: Session, source: StorageKind, rows: list[Row[*tuple[Any, ...]]]
) -> list[Row[*tuple[Any, ...]]]:
    """Return the rows that are not cited. Their runs are locked first, so that new citations wait.

    Rows of runs that another transaction has locked are omitted.
    """
    if source.model is ProfileComparison:
        return _list_uncited_comparisons(session, rows)
    run_ids = {row.run_id for row in rows}
    locked = select(Run.id).where(Run.id.in_(run_ids)).order_by(Run.id)
    locked_ids = set(session.scalars(locked.with_for_update(of=Run, skip_locked=True)))
    cited = find_cited_runs(session, locked_ids)
    return [row for row in rows if row.run_id in locked_ids and row.run_id not in cited]


def _list_uncited_comparisons(
    session: Session, rows: list[Row[*tuple[Any, ...]]]
) -> list[Row[*tuple[Any, ...]]]:
    """Return the comparisons whose runs are not cited; citations by comparisons do not count."""
    free = []
    all_citations = CitationScope(session, None)
    for row in rows:
        sides = session.execute(
            select(func.mentioned_ids(ProfileComparison.a), func.mentioned_ids(ProfileComparison.b)).where(
                ProfileComparison.id == row.id
            )
        ).one()
        runs = set(all_citations.find_runs([*sides[0], *sides[1]]))
        if not find_cited_runs(session, runs, skip=COMPARISON_COLUMNS):
            free.append(row)
    return free


def list_upload_digests(session: Session, kind: str, rows: Iterable[Row[*tuple[Any, ...]]]) -> set[str]:
    """Return the digests of the files of imports, which are deleted together with the import."""
    if kind != "imports":
        return set()
    digest = Run.spec["sha256"].astext
    digests = session.scalars(
        select(digest).where(Run.id.in_({row.run_id for row in rows}), digest.is_not(None))
    )
    return {str(item) for item in digests}


def lock_pending_blobs(session: Session, before: datetime, limit: int) -> Sequence[BlobDeletion]:
    """Return the oldest blobs that were marked before this time, locked."""
    query = select(BlobDeletion).where(BlobDeletion.at < before).order_by(BlobDeletion.at).limit(limit)
    return session.scalars(query.with_for_update(skip_locked=True)).all()


def is_needed(session: Session, sha256: str) -> bool:
    """Return whether a row that is not marked names these bytes."""
    rows = (
        exists().where(Artifact.sha256 == sha256, Artifact.removed_at.is_(None)),
        exists().where(
            or_(Profile.store_key == sha256, Profile.tree_key == sha256), Profile.removed_at.is_(None)
        ),
        exists().where(ProfileComparison.result_key == sha256, ProfileComparison.removed_at.is_(None)),
    )
    return bool(session.scalar(select(or_(*rows))))


def list_runs(session: Session, artifacts: ColumnElement[bool], profiles: ColumnElement[bool]) -> set[UUID]:
    """Return the runs of the artifacts and profiles that match the conditions."""
    return {
        *session.scalars(select(Artifact.run_id).where(artifacts)),
        *session.scalars(select(Profile.run_id).where(profiles)),
    }
