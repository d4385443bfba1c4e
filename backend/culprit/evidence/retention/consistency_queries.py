"""SELECTs of the digests that rows name."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from sqlalchemy import ARRAY, Select, Text, cast, func, select, union_all
from sqlalchemy.orm import Session

from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
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
