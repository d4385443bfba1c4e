"""Starts the captures that are due, once each, and writes down what became of every other due instant.

Some schedules together are one transaction: their rows are taken with SKIP LOCKED; the rows of their due instants, the
captures and the next due instants are committed together, or none of them. Several schedulers at once take different
schedules; one that dies in the middle has changed nothing. Where a transaction fails for a reason that nobody thought
of, its schedules are done one at a time, so that one holds up only itself. What time it is says the database, so that
the clocks of schedulers do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from typing import Any
from uuid import UUID

import structlog
from sqlalchemy import func, select
from sqlalchemy.orm import Session

from culprit.auth import audit
from culprit.captures import service as captures
from culprit.captures.schemas import MAX_HOSTS, CaptureCreate
from culprit.core.due import Settled, Span
from culprit.infra.artifacts import ArtifactStore
from culprit.infra.db import Database
from culprit.kit.errors import CulpritError, Unavailable
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Host, Schedule
from culprit.schedules import ledger, queries, standing
from culprit.schedules.windows import between, covering, in_maintenance

#: So many schedules in one transaction: what they have in common is read and committed once, and whoever wants to
#: change one of them meanwhile waits for a fraction of a second.
BATCH = 50
#: So many schedules in one round at most; what is left is due again in the next, two seconds later.
ROUND = 200
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
    moved, most = 0, BATCH
    failed: set[UUID] = set()
    while moved + len(failed) < ROUND:
        taken: list[UUID] = []
        try:
            with unit_of_work(db.sessions) as session:
                moment = at or session.scalars(select(func.clock_timestamp())).one()
                rows = queries.due(session, moment, most, but=failed)
                taken = [one.id for one in rows]
                fire(session, store, rows, moment, by)
        except Exception:
            if not taken:
                raise
            if most == 1:
                failed.update(taken)
                log.exception("schedule_failed", schedule=str(taken[0]))
            most = 1
            continue
        if not taken:
            break
        moved += len(taken)
    return moved


def fire(
    session: Session, store: ArtifactStore, schedules: Sequence[Schedule], at: datetime, by: str
) -> None:
    """Decide about schedules that are due at `at` and whose rows are locked."""
    if not schedules:
        return
    # One flush for all their captures; nothing that is asked in between depends on what is not written yet.
    with audit.gathered(session), session.no_autoflush:
        firing = Firing(session, store, schedules, at, by)
        for one in schedules:
            firing.decide(one)
        session.flush()
        ledger.write(session, firing.rows)


class Firing:
    """Decisions about some schedules at one moment, and the rows that say what became of their due instants."""

    def __init__(
        self, session: Session, store: ArtifactStore, schedules: Sequence[Schedule], at: datetime, by: str
    ) -> None:
        self.session = session
        self.store = store
        self.at = at
        self.by = by
        self.rows: list[Json] = []
        ids = [one.id for one in schedules]
        self._open = queries.still_open(session, ids)
        self._written = ledger.written(session, ids)
        self._windows = between(session, at, at)
        # Looked up one by one later on: as long as they are held here, the session knows them.
        self._people = queries.accounts(session, schedules)

    def decide(self, one: Schedule) -> None:
        """What becomes of everything that a schedule was due at."""
        try:
            found = ledger.settled(one, self.at)
        except ValueError as error:
            self._pause(one, str(error))
            return
        if found.missed is not None:
            late: Json = {"key": "schedule.missed", "params": {"count": found.missed.count}}
            self._note(one, found.missed, "missed", late)
            log.warning("schedule_missed", schedule=one.name, count=found.missed.count)
        if found.fires is not None and (one.id, found.fires) not in self._written:
            self._start(one, found, Span(found.fires, found.fires, 1))
        ledger.move_on(one, found.next_due)

    def _start(self, one: Schedule, found: Settled, span: Span) -> None:
        """The capture of one due instant, where nothing speaks against it."""
        try:
            capture_id, left_out = self._capture(one)
        except Held as held:
            self._note(one, span, held.state, held.sentence)
            if held.state == "refused":
                audit.record(
                    self.session, None, "schedule.refused", "schedule", one.id, name=one.name, why=held.sentence
                )  # fmt: skip
            log.info("schedule_held", schedule=one.name, state=held.state, why=held.sentence["key"])
            return
        reason = _why_late(found, self.at)
        if left_out:
            reason = {"key": "schedule.hosts_left_out", "params": {"count": left_out}}
        self._note(one, span, "fired", reason, capture_id)

    def _capture(self, one: Schedule) -> tuple[UUID, int]:
        """The capture, through the same door as everybody's; and how many hosts maintenance held back. Raises Held."""
        number = self._open.get(one.id)
        if number is not None:
            raise Held("skipped", {"key": "schedule.still_running", "params": {"number": number}})
        try:
            owner = standing.owner_of(self.session, one)
            hosts = queries.targets(self.session, owner, one)
            standing.permit(self.session, one, owner, hosts)
            free = self._free(hosts)
            reason = f"{one.name}: {one.reason}".rstrip(": ")
            wanted = CaptureCreate(host_ids=[host.id for host in free], reason=reason, **one.wanted)
            capture = captures.create(self.session, owner, self.store, wanted, source=standing.SOURCE)
        except Unavailable as error:
            raise Held("skipped", error.sentence) from error
        except CulpritError as error:
            raise Held("refused", error.sentence) from error
        except ValueError as error:
            sentence = {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
            raise Held("refused", sentence) from error
        return capture.id, len(hosts) - len(free)

    def _free(self, hosts: list[Host]) -> list[Host]:
        """Those that no maintenance covers. Raises Held where none is left, or where a capture takes no more."""
        held = {host.id: covering(self._windows, host, self.at) for host in hosts}
        free = [host for host in hosts if held[host.id] is None]
        if not free:
            window = next((one for one in held.values() if one is not None), None)
            sentence = in_maintenance(window) if window else {"key": "schedule.no_hosts", "params": {}}
            raise Held("skipped", sentence)
        if len(free) > MAX_HOSTS:
            params = {"count": len(free), "most": MAX_HOSTS}
            raise Held("refused", {"key": "schedule.too_many_hosts", "params": params})
        return free

    def _pause(self, one: Schedule, why: str) -> None:
        """Its fields or its zone are not known any more: it stands still, and says so, until somebody looks at it."""
        assert one.next_due is not None
        span = Span(one.next_due, one.next_due, 1)
        self._note(one, span, "refused", {"key": "schedule.unreadable", "params": {"what": why}})
        one.state, one.next_due = "paused", None
        audit.record(self.session, None, "schedule.paused", "schedule", one.id, name=one.name, why=why)

    def _note(
        self, one: Schedule, span: Span, state: str, reason: Json | None, capture_id: UUID | None = None
    ) -> None:
        self.rows.append(ledger.row(one, span, state, reason, self.at, self.by, capture_id))


def _why_late(found: Settled, at: datetime) -> Json | None:
    if not found.caught_up or found.fires is None:
        return None
    minutes = round((at - found.fires) / timedelta(minutes=1))
    missed = found.missed.count if found.missed else 0
    return {"key": "schedule.caught_up", "params": {"minutes": minutes, "missed": missed}}
