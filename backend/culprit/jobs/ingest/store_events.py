"""Writes the events of one run, and recognises those that an earlier capture has brought home already.

A host's log is read anew at every capture. The same boot, kind and text at the same time, as far as both times
can be told, is one event. Every run keeps its own row; see `Event`.
"""

from __future__ import annotations

import hashlib
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any
from uuid import UUID

from sqlalchemy import delete, select, text, update
from sqlalchemy.dialects.postgresql import insert
from sqlalchemy.orm import Session

from culprit.models import Event, Run

BATCH = 500
#: How many shown events before and after a time are looked at: what bounds the work for each new one.
NEAREST = 8
Json = dict[str, Any]
RunsAt = dict[UUID, set[UUID | None]]

_NEAR = text(
    f"""
    SELECT near.id, near.run_id, near.same_key, near.t_ns, near.end_ns, near.uncertainty_ns
    FROM unnest(CAST(:keys AS bytea[]), CAST(:times AS bigint[])) AS wanted (same_key, t_ns)
    CROSS JOIN LATERAL (
        (SELECT * FROM event
            WHERE same_key = wanted.same_key AND repeats_id IS NULL
            AND t_ns <= wanted.t_ns ORDER BY t_ns DESC LIMIT {NEAREST})
        UNION ALL
        (SELECT * FROM event
            WHERE same_key = wanted.same_key AND repeats_id IS NULL
            AND t_ns > wanted.t_ns ORDER BY t_ns LIMIT {NEAREST})
    ) AS near
    """  # noqa: S608
)


@dataclass(frozen=True, slots=True)
class Seen:
    """One event as far as it matters for being the same as another."""

    id: UUID
    run_id: UUID | None
    same_key: bytes
    t_ns: int
    end_ns: int | None
    uncertainty_ns: int

    def may_be(self, other: Seen) -> bool:
        """Whether the two times may be one. Two lines of one log are two events, however near."""
        return self.run_id != other.run_id and self.away(other) <= self.uncertainty_ns + other.uncertainty_ns

    def away(self, other: Seen) -> int:
        """How far apart the two are."""
        return abs(self.t_ns - other.t_ns)

    def tells_more(self, shown: Seen) -> bool:
        """Whether this is the one to show: it saw more of what went on, or knows better when it began."""
        own, theirs = (self.end_ns or self.t_ns) - self.t_ns, (shown.end_ns or shown.t_ns) - shown.t_ns
        return own > theirs or (own == theirs and self.uncertainty_ns < shown.uncertainty_ns)


def same_key(host_id: UUID, boot_id: str, kind: str, detail: str) -> bytes:
    """Equal for events that are the same if they happened at the same time.

    The host is in it so that a look-up names nothing else: the planner then cannot walk along all events of
    a host in search of a key that it never had.
    """
    return hashlib.blake2b(f"{host_id}\0{boot_id}\0{kind}\0{detail}".encode(), digest_size=16).digest()


def replace_events(session: Session, run: Run, rows: list[Json]) -> None:
    """Put `rows` in the place of the events that were read of this run before.

    Expects that the caller is the only one who writes about this host (see `replace_series`).
    """
    freed = _free(session, run.id)
    session.execute(delete(Event).where(Event.run_id == run.id))
    for row in rows:
        row["same_key"] = row["repeats_id"] = None
        if run.boot_id is not None and run.host_id is not None and row["detail"]:
            row["same_key"] = same_key(run.host_id, run.boot_id, row["kind"], row["detail"])
    for at in range(0, len(rows), BATCH):
        session.execute(insert(Event), rows[at : at + BATCH])
    fresh = [Seen(**{name: row[name] for name in Seen.__slots__}) for row in rows if row["same_key"]]
    coming = sorted(fresh, key=lambda one: one.t_ns) + freed
    shown = _shown_near(session, coming)
    _repeat(session, recognise(coming, shown, _repeated_by(session, shown, freed)))


def _free(session: Session, run_id: UUID) -> list[Seen]:
    """The events of other runs that repeat one of this run, which are looked at anew."""
    of_run = select(Event.id).where(Event.run_id == run_id)
    names = [getattr(Event, name) for name in Seen.__slots__]
    freed = session.execute(
        update(Event)
        .where(Event.repeats_id.in_(of_run))
        .values(repeats_id=None)
        .returning(*names)
        .execution_options(synchronize_session=False)
    )
    return sorted((Seen(*row) for row in freed), key=lambda one: (one.t_ns, one.id))


def _shown_near(session: Session, coming: Sequence[Seen]) -> list[Seen]:
    """The shown events that may be the same as one of `coming`, those left out."""
    found: dict[UUID, Seen] = {}
    for at in range(0, len(coming), BATCH):
        part = coming[at : at + BATCH]
        asked = {"keys": [o.same_key for o in part], "times": [o.t_ns for o in part]}
        found |= {row.id: Seen(*row) for row in session.execute(_NEAR, asked)}
    for one in coming:
        found.pop(one.id, None)
    return list(found.values())


def _repeated_by(session: Session, shown: Iterable[Seen], freed: Iterable[Seen]) -> RunsAt:
    """Which of the runs of `freed` have another event that repeats one of `shown`."""
    runs = {one.run_id for one in freed}
    query = select(Event.repeats_id, Event.run_id).where(
        Event.run_id.in_(runs), Event.repeats_id.in_([one.id for one in shown])
    )
    found: RunsAt = defaultdict(set)
    for shown_id, run_id in session.execute(query) if runs else ():
        if shown_id is not None:
            found[shown_id].add(run_id)
    return found


def recognise(
    coming: Iterable[Seen], shown: Iterable[Seen], repeated_by: RunsAt | None = None
) -> dict[UUID, UUID]:
    """Which event repeats which. Of one run, no two repeat the same: each takes the nearest that is free.

    A shown event that is told better by a later one repeats that; what repeated it before goes on doing so,
    so that the work does not grow with how often an event came home.
    """
    by_key: Mapping[bytes, list[Seen]] = defaultdict(list)
    for one in shown:
        by_key[one.same_key].append(one)
    repeats: dict[UUID, UUID] = {}
    runs_at: RunsAt = defaultdict(set, repeated_by or {})
    for one in coming:
        leaders = by_key[one.same_key]
        free = [lead for lead in leaders if one.may_be(lead) and one.run_id not in runs_at[lead.id]]
        if not free:
            leaders.append(one)
            continue
        lead = min(free, key=one.away)
        if one.tells_more(lead):
            leaders[leaders.index(lead)] = one
            runs_at[one.id] = runs_at[lead.id] | {lead.run_id}
            repeats[lead.id] = one.id
        else:
            runs_at[lead.id].add(one.run_id)
            repeats[one.id] = lead.id
    return repeats


def _repeat(session: Session, repeats: Mapping[UUID, UUID]) -> None:
    rows = [{"id": one, "repeats_id": other} for one, other in repeats.items()]
    for at in range(0, len(rows), BATCH):
        session.execute(update(Event), rows[at : at + BATCH])
