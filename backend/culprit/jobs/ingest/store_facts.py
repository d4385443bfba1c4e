"""Store the facts of a host: an unchanged value extends its time range, a changed one starts a new range."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import bindparam, delete, update
from sqlalchemy.orm import Session

from culprit.domain.hosts.fact_history import FactSpan, add_reading
from culprit.domain.hosts.fact_names import FactReading, is_listed_completely
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.evidence.host_fact import HostFact
from culprit.jobs.ingest.locks import lock_host_facts
from culprit.jobs.ingest.queries import load_facts, select_oldest_facts

PREFLIGHT = "preflight"
MAX_SPANS = 20_000
"""Maximum number of ranges per host; the oldest are deleted."""


@dataclass(frozen=True, slots=True)
class FactSource:
    """Source of a reading. A preflight check leaves no artifact."""

    run_id: UUID | None = None
    artifact_id: UUID | None = None
    line: int | None = None


@dataclass(frozen=True, slots=True)
class FactReader:
    """Reader (`preflight` or a collector), time and run; `parts` are its artifacts by name."""

    name: str
    at_ns: int
    run_id: UUID | None = None
    parts: Mapping[str, UUID] | None = None

    def build_source(self, fact: FactReading) -> FactSource:
        """Return the source of a fact."""
        return FactSource(self.run_id, (self.parts or {}).get(fact.part), fact.line)

    def build_listing_source(self) -> FactSource:
        """Return the source of a missing setting: the artifact that would list it."""
        return FactSource(self.run_id, next(iter((self.parts or {}).values()), None))


def store_facts(
    session: Session, host_id: UUID, source: FactReader, facts: Sequence[FactReading], *, whole: bool
) -> None:
    """Store one reading. `whole`: it is complete, so that items missing from a list do not exist."""
    if not facts:
        return
    lock_host_facts(session, host_id)
    of_source = (HostFact.host_id == host_id, HostFact.source == source.name)
    before = load_facts(session, of_source, HostFact.since_ns <= source.at_ns, newest=True)
    after = load_facts(session, of_source, HostFact.since_ns > source.at_ns, newest=False)
    reported = {fact.name: (fact.value, source.build_source(fact)) for fact in facts}
    values: dict[str, tuple[str | None, FactSource]] = dict(reported)
    if whole:
        gone = (name for name, row in before.items() if is_listed_completely(name) and row.value is not None)
        values |= {name: (None, source.build_listing_source()) for name in gone if name not in reported}
    last = max(before.values(), key=lambda row: row.seen_ns, default=None)
    book = _FactBatch(session, host_id, source.name)
    for name, (value, place) in values.items():
        earlier, later = before.get(name), after.get(name)
        spans = add_reading(_build_span(earlier), _build_span(later), value, source.at_ns, place)
        if (
            whole
            and earlier is None
            and last is not None
            and is_listed_completely(name)
            and last.seen_ns < source.at_ns
        ):
            # No earlier reading listed it: it did not exist.
            last_source = FactSource(last.last_run_id, last.last_artifact_id)
            spans = (FactSpan(None, last.seen_ns, last.seen_ns, last_source, last_source), *spans)
        book.write(name, {row.id: row for row in (earlier, later) if row is not None}, spans)
    book.close()


def _build_span(row: HostFact | None) -> FactSpan[FactSource] | None:
    if row is None:
        return None
    first = FactSource(row.first_run_id, row.first_artifact_id, row.first_line)
    last = FactSource(row.last_run_id, row.last_artifact_id, row.last_line)
    return FactSpan(row.value, row.since_ns, row.seen_ns, first, last, row.id)


class _FactBatch:
    """Batch the changes of facts: one statement updates hundreds of unchanged facts."""

    def __init__(self, session: Session, host_id: UUID, source: str) -> None:
        self.session, self.host_id, self.source = session, host_id, source
        self.seen: list[dict[str, object]] = []
        self.grew = False

    def write(self, name: str, rows: Mapping[UUID, HostFact], spans: Iterable[FactSpan[FactSource]]) -> None:
        """Convert rows to ranges: change, add, and delete rows that were merged."""
        left = dict(rows)
        for span in spans:
            row = left.pop(span.key, None) if isinstance(span.key, UUID) else None
            if row is None:
                row = HostFact(id=new_uuid7(), host_id=self.host_id, source=self.source, name=name)
                _fill_row(row, span)
                self.session.add(row)
                self.grew = True
            elif (row.value, row.since_ns) == (span.value, span.since_ns):
                if row.seen_ns != span.seen_ns:
                    self.seen.append(
                        {
                            "row": row.id,
                            "seen": span.seen_ns,
                            "run": span.last.run_id,
                            "artifact": span.last.artifact_id,
                            "line": span.last.line,
                        }
                    )
            else:
                _fill_row(row, span)
        for row in left.values():
            self.session.delete(row)

    def close(self) -> None:
        """Write the changes, and delete the oldest ranges beyond MAX_SPANS."""
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
            oldest = select_oldest_facts(self.host_id, MAX_SPANS)
            self.session.execute(
                delete(HostFact).where(HostFact.id.in_(oldest)),
                execution_options={"synchronize_session": False},
            )


def _fill_row(row: HostFact, fact_span: FactSpan[FactSource]) -> None:
    row.value, row.since_ns, row.seen_ns = fact_span.value, fact_span.since_ns, fact_span.seen_ns
    row.first_run_id, row.first_artifact_id, row.first_line = (
        fact_span.first.run_id,
        fact_span.first.artifact_id,
        fact_span.first.line,
    )
    row.last_run_id, row.last_artifact_id, row.last_line = (
        fact_span.last.run_id,
        fact_span.last.artifact_id,
        fact_span.last.line,
    )
