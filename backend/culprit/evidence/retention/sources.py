"""Kinds of stored data: their rows, sizes and runs, and how retention deletes them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, func, or_
from sqlalchemy.orm import InstrumentedAttribute

from culprit.evidence.retention.kind_queries import is_imported, is_repeated
from culprit.infra.models.base import Base
from culprit.infra.models.evidence.artifact import Artifact
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.evidence.result_table import ResultTable
from culprit.infra.models.evidence.series_chunk import SeriesChunk

#: Rows that a batch checks; `LARGE_BATCH` for series and events, because a run has hundreds of them.
SMALL_BATCH, LARGE_BATCH = 500, 5000


@dataclass(frozen=True, slots=True)
class StorageKind:
    """One kind of data.

    `keys` are columns with digests of the artifact store. A row of a kind with keys is marked, otherwise deleted.
    `kind_condition` is the condition that selects the rows of this kind in the table.
    """

    model: type[Base]
    size: ColumnElement[int] | InstrumentedAttribute[int]
    kind_condition: tuple[ColumnElement[bool], ...] = ()
    keys: tuple[InstrumentedAttribute[Any], ...] = ()
    batch: int = SMALL_BATCH

    @property
    def stored_condition(self) -> tuple[ColumnElement[bool], ...]:
        """Return the condition for rows whose bytes are still stored."""
        return (self.model.removed_at.is_(None),) if self.keys else ()  # type: ignore[attr-defined]

    @property
    def id(self) -> InstrumentedAttribute[Any]:
        """Return the ID column. IDs sort by the time at which the row was written, which defines its age."""
        column: InstrumentedAttribute[Any] = self.model.id  # type: ignore[attr-defined]
        return column

    @property
    def run_id(self) -> InstrumentedAttribute[Any] | None:
        """Return the column of the run that a row belongs to; None for comparisons, which have several runs."""
        return getattr(self.model, "run_id", None)


def _is_text() -> ColumnElement[bool]:
    return or_(Artifact.media_type.like("text/%"), Artifact.media_type == "application/json")


def _sum_stored_bytes(*columns: InstrumentedAttribute[Any]) -> ColumnElement[int]:
    """Return the stored size of columns in bytes. PostgreSQL knows the size of TOASTed values without reading them."""
    sizes: Sequence[ColumnElement[int]] = [
        func.coalesce(func.pg_column_size(column), 0) for column in columns
    ]
    total = sizes[0]
    for size in sizes[1:]:
        total = total + size
    return total


_IS_BUILT = Profile.state.in_(("ready", "failed"))
STORAGE_KINDS: Mapping[str, StorageKind] = {
    "recordings": StorageKind(
        Artifact, Artifact.stored_size, (and_(~_is_text(), ~is_imported()),), (Artifact.sha256,)
    ),
    "texts": StorageKind(
        Artifact, Artifact.stored_size, (and_(_is_text(), ~is_imported()),), (Artifact.sha256,)
    ),
    "imports": StorageKind(Artifact, Artifact.stored_size, (is_imported(),), (Artifact.sha256,)),
    "profiles": StorageKind(
        Profile, Profile.stored_size, (_IS_BUILT,), (Profile.store_key, Profile.tree_key)
    ),
    "comparisons": StorageKind(
        ProfileComparison,
        ProfileComparison.stored_size,
        (ProfileComparison.state.in_(("ready", "failed")),),
        (ProfileComparison.result_key,),
    ),
    "series": StorageKind(
        SeriesChunk, _sum_stored_bytes(SeriesChunk.data, SeriesChunk.lines), batch=LARGE_BATCH
    ),
    "tables": StorageKind(ResultTable, _sum_stored_bytes(ResultTable.rows, ResultTable.lines)),
    "events": StorageKind(
        StoredEvent,
        _sum_stored_bytes(StoredEvent.title, StoredEvent.detail),
        (~is_repeated(),),
        batch=LARGE_BATCH,
    ),
}
"""Kinds by name, in the order of the storage page."""
