"""Remembers what was found of a host: what is as it was before costs no row, what is otherwise is a new span."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, delete, func, select, update
from sqlalchemy.dialects.postgresql import distinct_on
from sqlalchemy.orm import Session

from culprit.core.fact_history import Span, noted
from culprit.core.fact_names import Fact, listed
from culprit.kit.uuid7 import uuid7
from culprit.models import HostFact

PREFLIGHT = "preflight"
MAX_SPANS = 20_000
"""Of one host; the oldest go first."""

LOCK = 0x46414354  # two runs of one host may be read at once


@dataclass(frozen=True, slots=True)
class Place:
    """Where a reading stands. A look at a host leaves no artifact."""

    run_id: UUID | None = None
    artifact_id: UUID | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class Source:
    """Who read it (`preflight` or a collector), when, and in which run; `parts` are its artifacts by name."""

    name: str
    at_ns: int
    run_id: UUID | None = None
    parts: Mapping[str, UUID] | None = None

    def place(self, fact: Fact) -> Place:
        """Where a fact stands."""
        return Place(self.run_id, (self.parts or {}).get(fact.part), fact.line)

    def place_of_none(self) -> Place:
        """Where something does not stand: the artifact that would list it."""
        return Place(self.run_id, next(iter((self.parts or {}).values()), None))


def keep(session: Session, host_id: UUID, source: Source, facts: Sequence[Fact], *, whole: bool) -> None:
    """Note one reading. `whole`: everything was read, so that what is missing of a list is gone."""
    if not facts:
        return
    session.execute(select(func.pg_advisory_xact_lock(LOCK, func.hashtext(str(host_id)))))
    of_source = (HostFact.host_id == host_id, HostFact.source == source.name)
    before = _by_name(session, of_source, HostFact.since_ns <= source.at_ns, newest=True)
    after = _by_name(session, of_source, HostFact.since_ns > source.at_ns, newest=False)
    told = {fact.name: (fact.value, source.place(fact)) for fact in facts}
    values: dict[str, tuple[str | None, Place]] = dict(told)
    if whole:
        gone = (name for name, row in before.items() if listed(name) and row.value is not None)
        values |= {name: (None, source.place_of_none()) for name in gone if name not in told}
    last = max(before.values(), key=lambda row: row.seen_ns, default=None)
    book = _Book(session, host_id, source.name)
    for name, (value, place) in values.items():
        earlier, later = before.get(name), after.get(name)
        spans = noted(_span(earlier), _span(later), value, source.at_ns, place)
        if whole and earlier is None and last is not None and listed(name) and last.seen_ns < source.at_ns:
            # It was listed at no reading before: it was not there.
            there = Place(last.last_run_id, last.last_artifact_id)
            spans = (Span(None, last.seen_ns, last.seen_ns, there, there), *spans)
        book.write(name, {row.id: row for row in (earlier, later) if row is not None}, spans)
    book.close()


def _by_name(
    session: Session, of_source: Iterable[object], when: object, *, newest: bool
) -> dict[str, HostFact]:
    order = HostFact.since_ns.desc() if newest else HostFact.since_ns
    query = select(HostFact).where(*of_source, when).ext(distinct_on(HostFact.name))  # type: ignore[arg-type]
    return {row.name: row for row in session.scalars(query.order_by(HostFact.name, order))}


def _span(row: HostFact | None) -> Span[Place] | None:
    if row is None:
        return None
    first = Place(row.first_run_id, row.first_artifact_id, row.first_line)
    last = Place(row.last_run_id, row.last_artifact_id, row.last_line)
    return Span(row.value, row.since_ns, row.seen_ns, first, last, row.id)


class _Book:
    """Collects what is to be written, so that some hundred facts that were seen again are one statement."""

    def __init__(self, session: Session, host_id: UUID, source: str) -> None:
        self.session, self.host_id, self.source = session, host_id, source
        self.seen: list[dict[str, object]] = []
        self.grew = False

    def write(self, name: str, rows: Mapping[UUID, HostFact], spans: Iterable[Span[Place]]) -> None:
        """Rows become spans: they are changed, added, and removed where two have become one."""
        left = dict(rows)
        for one in spans:
            row = left.pop(one.key, None) if isinstance(one.key, UUID) else None
            if row is None:
                row = HostFact(id=uuid7(), host_id=self.host_id, source=self.source, name=name)
                _fill(row, one)
                self.session.add(row)
                self.grew = True
            elif (row.value, row.since_ns) == (one.value, one.since_ns):
                if row.seen_ns != one.seen_ns:
                    self.seen.append(
                        {
                            "row": row.id,
                            "seen": one.seen_ns,
                            "run": one.last.run_id,
                            "artifact": one.last.artifact_id,
                            "line": one.last.line,
                        }
                    )
            else:
                _fill(row, one)
        for row in left.values():
            self.session.delete(row)

    def close(self) -> None:
        """Write it, and forget the oldest of too many."""
        self.session.flush()
        if self.seen:
            self.session.connection().execute(
                update(HostFact.__table__)  # type: ignore[arg-type]
                .where(HostFact.__table__.c.id == bindparam("row"))
                .values(
                    seen_ns=bindparam("seen"),
                    last_run_id=bindparam("run"),
                    last_artifact_id=bindparam("artifact"),
                    last_line=bindparam("line"),
                ),
                self.seen,
            )
        if self.grew:
            oldest = (
                select(HostFact.id)
                .where(HostFact.host_id == self.host_id)
                .order_by(HostFact.seen_ns.desc(), HostFact.id.desc())
                .offset(MAX_SPANS)
            )
            self.session.execute(
                delete(HostFact).where(HostFact.id.in_(oldest)),
                execution_options={"synchronize_session": False},
            )


def _fill(row: HostFact, one: Span[Place]) -> None:
    row.value, row.since_ns, row.seen_ns = one.value, one.since_ns, one.seen_ns
    row.first_run_id, row.first_artifact_id, row.first_line = (
        one.first.run_id,
        one.first.artifact_id,
        one.first.line,
    )
    row.last_run_id, row.last_artifact_id, row.last_line = (
        one.last.run_id,
        one.last.artifact_id,
        one.last.line,
    )
