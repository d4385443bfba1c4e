"""Starts the captures that are due, once each, and writes down what became of every other due instant.

One schedule is one transaction: its row is taken with SKIP LOCKED, the row of the due instant, the capture and the
next due instant are committed together, or none of them. Several schedulers at once take different schedules; one
that dies in the middle has changed nothing. What time it is says the database, so that their clocks do not matter.
"""

from __future__ import annotations

from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, select, update
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.captures import service as captures
from culprit.captures.schemas import MAX_HOSTS, CaptureCreate
from culprit.core.due import Settled, Span
from culprit.infra.artifacts import ArtifactStore
from culprit.infra.db import Database
from culprit.kit.errors import CulpritError, Unavailable
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Host, Schedule, ScheduleFiring
from culprit.schedules import ledger, queries, standing
from culprit.schedules.windows import covering, in_maintenance

#: So many schedules in one round at most; what is left is due again in the next, two seconds later.
BATCH = 200
Json = dict[str, Any]
log = structlog.get_logger("culprit.schedules")


class Held(Exception):
    """Nothing starts: it was not the time for it (`skipped`), or it is not allowed (`refused`)."""

    def __init__(self, state: str, sentence: Json) -> None:
        super().__init__(sentence["key"])
        self.state = state
        self.sentence = sentence


def fire_due(db: Database, store: ArtifactStore, by: str, *, at: datetime | None = None) -> int:
    """One round over what is due; returns how many schedules were moved on. `at` is for tests and benches."""
    moved = 0
    while moved < BATCH:
        with unit_of_work(db.sessions) as session:
            if not fire_next(session, store, by, at):
                break
        moved += 1
    return moved


def fire_next(session: Session, store: ArtifactStore, by: str, at: datetime | None = None) -> bool:
    """Decide about the schedule that has been due longest; False where none is due."""
    moment = at or session.scalars(select(func.clock_timestamp())).one()
    one = queries.next_due(session, moment)
    if one is None:
        return False
    try:
        found = ledger.settled(one, moment)
    except ValueError as error:
        _pause(session, one, moment, by, str(error))
        return True
    if found.missed is not None:
        late: Json = {"key": "schedule.missed", "params": {"count": found.missed.count}}
        ledger.record(session, one, found.missed, "missed", late, moment, by)
        log.warning("schedule_missed", schedule=one.name, count=found.missed.count)
    if found.fires is not None:
        _start(session, store, one, found, moment, by)
    ledger.move_on(one, found.next_due)
    return True


def _start(  # noqa: PLR0917
    session: Session, store: ArtifactStore, one: Schedule, found: Settled, at: datetime, by: str
) -> None:
    """Record one due instant, and start its capture where nothing speaks against it."""
    assert found.fires is not None
    span = Span(found.fires, found.fires, 1)
    firing = ledger.record(session, one, span, "fired", _why_late(found, at), at, by)
    if firing is None:
        return
    try:
        capture_id, left_out = _capture(session, store, one, at)
    except Held as held:
        _write(session, firing, state=held.state, reason=held.sentence)
        if held.state == "refused":
            audit.record(
                session, None, "schedule.refused", "schedule", one.id, name=one.name, why=held.sentence
            )
        log.info("schedule_held", schedule=one.name, state=held.state, why=held.sentence["key"])
        return
    values: Json = {"capture_id": capture_id}
    if left_out:
        values["reason"] = {"key": "schedule.hosts_left_out", "params": {"count": left_out}}
    _write(session, firing, **values)


def _why_late(found: Settled, at: datetime) -> Json | None:
    if not found.caught_up or found.fires is None:
        return None
    minutes = round((at - found.fires) / timedelta(minutes=1))
    missed = found.missed.count if found.missed else 0
    return {"key": "schedule.caught_up", "params": {"minutes": minutes, "missed": missed}}


def _write(session: Session, firing_id: UUID, **values: Any) -> None:
    session.execute(
        update(ScheduleFiring)
        .where(ScheduleFiring.id == firing_id)
        .values(**values)
        .execution_options(synchronize_session=False)
    )


def _capture(session: Session, store: ArtifactStore, one: Schedule, at: datetime) -> tuple[UUID, int]:
    """The capture, through the same door as everybody's; and how many hosts maintenance held back. Raises Held."""
    number = queries.still_open(session, one.id)
    if number is not None:
        raise Held("skipped", {"key": "schedule.still_running", "params": {"number": number}})
    try:
        owner = standing.owner_of(session, one)
        hosts = queries.targets(session, owner, one)
        standing.permit(session, one, owner, hosts)
        free = _free(session, hosts, at)
        wanted = CaptureCreate(
            host_ids=[host.id for host in free], reason=f"{one.name}: {one.reason}".rstrip(": "), **one.wanted
        )
        capture = captures.create(session, owner, store, wanted, source=standing.SOURCE)
    except Unavailable as error:
        raise Held("skipped", error.sentence) from error
    except CulpritError as error:
        raise Held("refused", error.sentence) from error
    except ValueError as error:
        sentence = {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
        raise Held("refused", sentence) from error
    return capture.id, len(hosts) - len(free)


def _free(session: Session, hosts: list[Host], at: datetime) -> list[Host]:
    """Those that no maintenance covers. Raises Held where none is left, or where they are too many for a capture."""
    windows = queries.windows_between(session, at, at)
    held = {host.id: covering(windows, host, at) for host in hosts}
    free = [host for host in hosts if held[host.id] is None]
    if not free:
        window = next((one for one in held.values() if one is not None), None)
        sentence = in_maintenance(window) if window else {"key": "schedule.no_hosts", "params": {}}
        raise Held("skipped", sentence)
    if len(free) > MAX_HOSTS:
        params = {"count": len(free), "most": MAX_HOSTS}
        raise Held("refused", {"key": "schedule.too_many_hosts", "params": params})
    return free


def _pause(session: Session, one: Schedule, at: datetime, by: str, why: str) -> None:
    """Its fields or its zone are not known any more: it stands still, and says so, until somebody looks at it."""
    assert one.next_due is not None
    span = Span(one.next_due, one.next_due, 1)
    ledger.record(
        session, one, span, "refused", {"key": "schedule.unreadable", "params": {"what": why}}, at, by
    )
    one.state, one.next_due = "paused", None
    session.flush()
    audit.record(session, None, "schedule.paused", "schedule", one.id, name=one.name, why=why)
