"""Store the events of one run, and match events that an earlier run contains.

Every capture reads the host's log again. Events with the same boot, kind, text and (within uncertainty) time
are the same event. Every run keeps its own row; see `StoredEvent`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from uuid import UUID

from sqlalchemy import delete, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.event import StoredEvent
from culprit.jobs.ingest.queries import list_repetitions, select_event_ids
from culprit.json_types import Json

BATCH = 500
#: Number of displayed events before and after a time that are compared with each new event.
MAX_NEIGHBORS = 8
RunsAt = dict[UUID, set[UUID | None]]

_NEAREST_EVENTS = text(
    f"""
    SELECT near.id, near.run_id, near.same_key, near.t_ns, near.end_ns, near.uncertainty_ns
    FROM unnest(CAST(:keys AS bytea[]), CAST(:times AS bigint[])) AS wanted (same_key, t_ns)
    CROSS JOIN LATERAL (
        (SELECT * FROM event
            WHERE same_key = wanted.same_key AND repeats_id IS NULL
            AND t_ns <= wanted.t_ns ORDER BY t_ns DESC LIMIT {MAX_NEIGHBORS})
        UNION ALL
        (SELECT * FROM event
            WHERE same_key = wanted.same_key AND repeats_id IS NULL
            AND t_ns > wanted.t_ns ORDER BY t_ns LIMIT {MAX_NEIGHBORS})
    ) AS near
    """  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class ExistingEvent:
    """The fields of an event that decide whether it equals another."""

    id: UUID
    run_id: UUID | None
    same_key: bytes
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int

    def may_equal(self, other: ExistingEvent) -> bool:
        """Return whether the two times may be equal. Two lines of the same run are always two events."""
        distance_ns = self.compute_distance_ns(other)
        return self.run_id != other.run_id and distance_ns <= self.uncertainty_ns + other.uncertainty_ns

    def compute_distance_ns(self, other: ExistingEvent) -> int:
        """Return the distance of the two times in ns."""
        return abs(self.t_ns - other.t_ns)

    def has_more_details(self, seen: ExistingEvent) -> bool:
        """Return whether this event is longer than `seen`, or as long with a more exact time."""
        own_ns, seen_ns = (self.end_ns or self.t_ns) - self.t_ns, (seen.end_ns or seen.t_ns) - seen.t_ns
        return own_ns > seen_ns or (own_ns == seen_ns and self.uncertainty_ns < seen.uncertainty_ns)


def same_key(host_id: UUID, boot_id: str, kind: str, detail: str) -> bytes:
    """Return a hash of all fields of an event except its time. Events with equal hashes and times are the same.

    It includes the host so that a lookup needs no other column: otherwise the planner may scan all events of
    a host for a key that does not exist.
    """
    return hashlib.blake2b(f"{host_id}\0{boot_id}\0{kind}\0{detail}".encode(), digest_size=16).digest()


def replace_events(session: Session, run: Run, rows: list[Json]) -> None:
    """Replace the events of this run by `rows`.

    The caller must be the only writer for this host (see `replace_series`).
    """
    freed = _release_repetitions(session, run.id)
    session.execute(delete(StoredEvent).where(StoredEvent.run_id == run.id))
    for row in rows:
        row["same_key"] = row["repeats_id"] = None
        if run.boot_id is not None and run.host_id is not None and row["detail"]:
            row["same_key"] = same_key(run.host_id, run.boot_id, row["kind"], row["detail"])
    for at in range(0, len(rows), BATCH):
        session.execute(insert(StoredEvent), rows[at : at + BATCH])
    fresh = [
        ExistingEvent(**{name: row[name] for name in ExistingEvent.__slots__})
        for row in rows
        if row["same_key"]
    ]
    coming = sorted(fresh, key=lambda item: item.t_ns) + freed
    displayed = _list_displayed_near(session, coming)
    repeating_runs = _list_repeating_runs(session, displayed, freed)
    _store_repetitions(session, match_repeated_events(coming, displayed, repeating_runs))


def _release_repetitions(session: Session, run_id: UUID) -> list[ExistingEvent]:
    """Release the events of other runs that repeat one of this run, to match them again."""
    names = [getattr(StoredEvent, name) for name in ExistingEvent.__slots__]
    freed = session.execute(
        update(StoredEvent)
        .where(StoredEvent.repeats_id.in_(select_event_ids(run_id)))
        .values(repeats_id=None)
        .returning(*names)
        .execution_options(synchronize_session=False)
    )
    return sorted((ExistingEvent(*row) for row in freed), key=lambda seen: (seen.t_ns, seen.id))


def _list_displayed_near(session: Session, coming: Sequence[ExistingEvent]) -> list[ExistingEvent]:
    """Return the displayed events that may equal one of `coming`."""
    displayed: dict[UUID, ExistingEvent] = {}
    for at in range(0, len(coming), BATCH):
        part = coming[at : at + BATCH]
        params = {"keys": [event.same_key for event in part], "times": [event.t_ns for event in part]}
        displayed |= {row.id: ExistingEvent(*row) for row in session.execute(_NEAREST_EVENTS, params)}
    for item in coming:
        displayed.pop(item.id, None)
    return list(displayed.values())


def _list_repeating_runs(
    session: Session, seens: Iterable[ExistingEvent], freed: Iterable[ExistingEvent]
) -> RunsAt:
    """Return, by event of `seens`, the runs of `freed` that have another event that repeats it."""
    runs = {item.run_id for item in freed}
    event_ids = [seen.id for seen in seens]
    runs_at: RunsAt = defaultdict(set)
    for event_id, run_id in list_repetitions(session, runs, event_ids) if runs else ():
        if event_id is not None:
            runs_at[event_id].add(run_id)
    return runs_at


def match_repeated_events(
    coming: Iterable[ExistingEvent], seens: Iterable[ExistingEvent], repeated_by: RunsAt | None = None
) -> dict[UUID, UUID]:
    """Match the events `coming` with the displayed events `seens`. Return {repeating ID: repeated ID}.

    Two events of a run never repeat the same event: each is matched with the nearest displayed event that no
    other event of its run repeats. If a later event has more details, it becomes the displayed event.
    Earlier repetitions keep their reference, so that the work does not grow with the number of repetitions.
    """
    by_key: Mapping[bytes, list[ExistingEvent]] = defaultdict(list)
    for seen in seens:
        by_key[seen.same_key].append(seen)
    repeats: dict[UUID, UUID] = {}
    runs_at: RunsAt = defaultdict(set, repeated_by or {})
    for seen in coming:
        leaders = by_key[seen.same_key]
        free = [lead for lead in leaders if seen.may_equal(lead) and seen.run_id not in runs_at[lead.id]]
        if not free:
            leaders.append(seen)
            continue
        lead = min(free, key=seen.compute_distance_ns)
        if seen.has_more_details(lead):
            leaders[leaders.index(lead)] = seen
            runs_at[seen.id] = runs_at[lead.id] | {lead.run_id}
            repeats[lead.id] = seen.id
        else:
            runs_at[lead.id].add(seen.run_id)
            repeats[seen.id] = lead.id
    return repeats


def _store_repetitions(session: Session, repeats: Mapping[UUID, UUID]) -> None:
    rows = [{"id": item, "repeats_id": other} for item, other in repeats.items()]
    for at in range(0, len(rows), BATCH):
        session.execute(update(StoredEvent), rows[at : at + BATCH])
