"""What of each kind there is: which rows, how large they are, which run they belong to, and how they go."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sqlalchemy import ColumnElement, and_, exists, func, or_, select
from sqlalchemy.orm import InstrumentedAttribute, aliased

from culprit.models import (
    Artifact,
    Base,
    Capture,
    Event,
    Profile,
    ProfileDiff,
    ResultTable,
    Run,
    SeriesChunk,
)

#: Rows that a batch looks at. Of series more, because a run has hundreds of them.
FEW, MANY = 500, 5000


@dataclass(frozen=True, slots=True)
class Source:
    """One kind of data. `keys` are columns with digests of the artifact store; where there are some, the row stays and
    is marked. `mine` tells its rows from others of the table.
    """

    model: type[Base]
    size: ColumnElement[int] | InstrumentedAttribute[int]
    mine: tuple[ColumnElement[bool], ...] = ()
    keys: tuple[InstrumentedAttribute[Any], ...] = ()
    batch: int = FEW

    @property
    def live(self) -> tuple[ColumnElement[bool], ...]:
        """What tells rows whose bytes are there from those of which only the row is left."""
        return (self.model.removed_at.is_(None),) if self.keys else ()  # type: ignore[attr-defined]

    @property
    def id(self) -> InstrumentedAttribute[Any]:
        """Ids sort by the time at which the row was written, which is the age that counts."""
        column: InstrumentedAttribute[Any] = self.model.id  # type: ignore[attr-defined]
        return column

    @property
    def run_id(self) -> InstrumentedAttribute[Any] | None:
        """The run that a row belongs to; a comparison has several, and none of its own."""
        return getattr(self.model, "run_id", None)


def _imported() -> ColumnElement[bool]:
    return exists(
        select(Run.id)
        .join(Capture, Capture.id == Run.capture_id)
        .where(Run.id == Artifact.run_id, Capture.source == "import")
    )


def _is_text() -> ColumnElement[bool]:
    return or_(Artifact.media_type.like("text/%"), Artifact.media_type == "application/json")


def _repeated() -> ColumnElement[bool]:
    """A line of a log that later captures have read again: they show this one, and it stays for them."""
    other = aliased(Event)
    return exists(select(other.id).where(other.repeats_id == Event.id))


def _octets(*columns: InstrumentedAttribute[Any]) -> ColumnElement[int]:
    """Bytes as they are stored. For values that lie apart, PostgreSQL knows that without reading them."""
    sizes: Sequence[ColumnElement[int]] = [
        func.coalesce(func.pg_column_size(column), 0) for column in columns
    ]
    total = sizes[0]
    for one in sizes[1:]:
        total = total + one
    return total


_BUILT = Profile.state.in_(("ready", "failed"))
SOURCES: Mapping[str, Source] = {
    "recordings": Source(
        Artifact, Artifact.stored_size, (and_(~_is_text(), ~_imported()),), (Artifact.sha256,)
    ),
    "texts": Source(Artifact, Artifact.stored_size, (and_(_is_text(), ~_imported()),), (Artifact.sha256,)),
    "imports": Source(Artifact, Artifact.stored_size, (_imported(),), (Artifact.sha256,)),
    "profiles": Source(Profile, Profile.stored_size, (_BUILT,), (Profile.store_key, Profile.tree_key)),
    "comparisons": Source(
        ProfileDiff,
        ProfileDiff.stored_size,
        (ProfileDiff.state.in_(("ready", "failed")),),
        (ProfileDiff.result_key,),
    ),
    "series": Source(SeriesChunk, _octets(SeriesChunk.data, SeriesChunk.lines), batch=MANY),
    "tables": Source(ResultTable, _octets(ResultTable.rows, ResultTable.lines)),
    "events": Source(Event, _octets(Event.title, Event.detail), (~_repeated(),), batch=MANY),
}
"""In the order in which the storage page shows them."""
