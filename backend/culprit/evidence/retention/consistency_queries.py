"""SELECTs of the digests that rows name, and of the checks of their bytes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from datetime import datetime
from typing import Any

from sqlalchemy import (
    ARRAY,
    BigInteger,
    ColumnElement,
    Select,
    Text,
    cast,
    exists,
    func,
    null,
    select,
    union_all,
)
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.system.blob_check import BlobCheck
from culprit.infra.models.system.blob_deletion import BlobDeletion


def _select_digests() -> tuple[Select[Any], ...]:
    """Return every digest that a row records as stored."""
    return (
        select(Artifact.sha256.label("sha256")).where(Artifact.removed_at.is_(None)),
        select(Profile.store_key).where(Profile.store_key.is_not(None), Profile.removed_at.is_(None)),
        select(Profile.tree_key).where(Profile.tree_key.is_not(None), Profile.removed_at.is_(None)),
        select(ProfileComparison.result_key).where(
            ProfileComparison.result_key.is_not(None), ProfileComparison.removed_at.is_(None)
        ),
    )


def list_named(session: Session, digests: Iterable[str]) -> set[str]:
    """Return the digests that a row references: stored, pending deletion, or the file of an import."""
    array = cast(list(digests), ARRAY(Text))
    spec = Run.spec["sha256"].astext
    queries = (
        select(Artifact.sha256).where(Artifact.sha256 == func.any(array), Artifact.removed_at.is_(None)),
        select(Profile.store_key).where(Profile.store_key == func.any(array), Profile.removed_at.is_(None)),
        select(Profile.tree_key).where(Profile.tree_key == func.any(array), Profile.removed_at.is_(None)),
        select(ProfileComparison.result_key).where(
            ProfileComparison.result_key == func.any(array), ProfileComparison.removed_at.is_(None)
        ),
        select(BlobDeletion.sha256).where(BlobDeletion.sha256 == func.any(array)),
        select(spec).where(spec == func.any(array)),
    )
    return {str(item) for query in queries for item in session.scalars(query)}


def iter_digests(session: Session, size: int) -> Iterator[list[str]]:
    """Yield every digest once, in batches, as of one moment."""
    every = union_all(*_select_digests()).subquery()
    query = select(every.c.sha256).distinct()
    for digests in session.scalars(query.execution_options(yield_per=size)).partitions(size):
        yield list(digests)


#: Columns with digests that are built from artifacts; their rows do not record the size of each.
_BUILT_KEYS: tuple[InstrumentedAttribute[Any], ...] = (
    Profile.store_key,
    Profile.tree_key,
    ProfileComparison.result_key,
)


def _build_naming_conditions(
    sha256: ColumnElement[str] | InstrumentedAttribute[str],
) -> list[ColumnElement[bool]]:
    """Return, for each column with digests, the condition that a row records these bytes as stored."""
    built = [exists().where(key == sha256, key.class_.removed_at.is_(None)) for key in _BUILT_KEYS]
    upload = exists().where(
        Run.spec["sha256"].astext == sha256, Artifact.run_id == Run.id, Artifact.removed_at.is_(None)
    )
    return [exists().where(Artifact.sha256 == sha256, Artifact.removed_at.is_(None)), *built, upload]


def is_recorded(session: Session, check: BlobCheck) -> bool:
    """Return whether a row still records the bytes of this check as stored."""
    conditions = _build_naming_conditions(BlobCheck.sha256)
    query = select(*conditions).select_from(BlobCheck).where(BlobCheck.sha256 == check.sha256)
    return any(session.execute(query).one())


def select_unchecked_blobs() -> Select[Any]:
    """Select digest, size and time of storing of bytes that have no row of checks yet, in the order of digests."""
    size = cast(null(), BigInteger).label("size")
    artifacts = select(Artifact.sha256, Artifact.stored_size.label("size"), Artifact.created_at)
    built = [
        select(key, size, key.class_.created_at).where(key.is_not(None), key.class_.removed_at.is_(None))
        for key in _BUILT_KEYS
    ]
    upload = Run.spec["sha256"].astext
    uploads = (
        select(upload, size, Capture.created_at)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Capture.source == "import", upload.is_not(None))
        .where(exists().where(Artifact.run_id == Run.id, Artifact.removed_at.is_(None)))
    )
    every = union_all(artifacts.where(Artifact.removed_at.is_(None)), *built, uploads).subquery()
    new = select(every.c.sha256, func.max(every.c.size), func.min(every.c.created_at))
    new = new.where(~exists().where(BlobCheck.sha256 == every.c.sha256))
    return new.group_by(every.c.sha256).order_by(every.c.sha256)


def select_unrecorded_checks() -> Select[str]:
    """Select the digests of checks whose bytes no row records any more, locked; rows in use are omitted."""
    unnamed = [~condition for condition in _build_naming_conditions(BlobCheck.sha256)]
    return select(BlobCheck.sha256).where(*unnamed).with_for_update(of=BlobCheck, skip_locked=True)


def count_checks(session: Session) -> tuple[int, int, datetime | None]:
    """Return the number of stored files, of altered files, and the time of the oldest check."""
    query = select(func.count(), func.count(BlobCheck.altered_at), func.min(BlobCheck.checked_at))
    files, altered, oldest = session.execute(query).one()
    return int(files), int(altered), oldest


def list_altered_checks(session: Session, limit: int) -> list[BlobCheck]:
    """Return the checks that failed, the oldest alteration first."""
    query = select(BlobCheck).where(BlobCheck.altered_at.is_not(None))
    return list(session.scalars(query.order_by(BlobCheck.altered_at, BlobCheck.sha256).limit(limit)))


def list_naming_captures(session: Session, digests: Iterable[str]) -> dict[str, list[Capture]]:
    """Return the captures whose artifacts, profiles or uploads are these bytes, by digest."""
    array = cast(list(digests), ARRAY(Text))
    columns: tuple[Any, ...] = (Artifact.sha256, Profile.store_key, Profile.tree_key)
    named = [select(key.label("sha256"), key.class_.run_id).where(key == func.any(array)) for key in columns]
    upload = Run.spec["sha256"].astext
    named.append(select(upload, Run.id).where(upload == func.any(array)))
    every = union_all(*named).subquery()
    query = select(every.c.sha256, Capture).join(Run, Run.id == every.c.run_id)
    query = query.join(Capture, Capture.id == Run.capture_id).order_by(every.c.sha256, Capture.id)
    captures: dict[str, list[Capture]] = {}
    for sha256, capture in session.execute(query.distinct()):
        captures.setdefault(sha256, []).append(capture)
    return captures
