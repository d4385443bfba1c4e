"""Start the captures that are due, once each, and record the result of every other due time.

Several schedules share a transaction: their rows are locked with SKIP LOCKED; the rows of their due times,
the captures and the next due times are committed together, or none of them. Concurrent schedulers take
different schedules; one that dies changes nothing. If a transaction fails unexpectedly, its schedules are
processed one at a time, so that only the failing one is delayed. All times are those of the database, so that
clocks of schedulers do not matter.
"""

from __future__ import annotations

from collections.abc import Sequence
from datetime import datetime, timedelta
from uuid import UUID

import structlog
from sqlalchemy.orm import Session

from culprit.accounts import audit
from culprit.automation.schedules import due_times, permissions, queries
from culprit.automation.schedules.maintenance import describe_maintenance, find_window, load_windows
from culprit.captures import service as captures
from culprit.captures.schemas import MAX_HOSTS, CaptureCreate
from culprit.domain.scheduling.due import DueDecision, DueRange
from culprit.infra.artifacts.store import ArtifactStore
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.hosts.host import Host
from culprit.jobs.system.queries import read_database_time
from culprit.json_types import Json
from culprit.web.errors import CulpritError, UnavailableError

#: Schedules per transaction: common data is read and committed once, and a user who changes one of them waits
#: for a fraction of a second.
BATCH = 50
#: Maximum number of schedules per round; the others are due in the next round, two seconds later.
BATCH_SIZE = 200
log = structlog.get_logger("culprit.automation.schedules")


class ScheduleBlockedError(Exception):
    """Nothing starts: maintenance or no host (`skipped`), or no permission (`refused`)."""

    def __init__(self, state: str, sentence: Json) -> None:
        super().__init__(sentence["key"])
        self.state = state
        self.sentence = sentence


def start_all_due(db: Database, store: ArtifactStore, by: str, *, at: datetime | None = None) -> int:
    """Process due schedules once; return how many were processed. `at` is for tests and benchmarks."""
    moved, most = 0, BATCH
    failed: set[UUID] = set()
    while moved + len(failed) < BATCH_SIZE:
        taken: list[UUID] = []
        try:
            with unit_of_work(db.sessions) as session:
                moment = at or read_database_time(session)
                rows = queries.lock_due_schedules(session, moment, most, but=failed)
                taken = [row.id for row in rows]
                decide_schedules(session, store, rows, moment, by)
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


def decide_schedules(
    session: Session, store: ArtifactStore, schedules: Sequence[Schedule], at: datetime, by: str
) -> None:
    """Decide about schedules that are due at `at` and whose rows are locked."""
    if not schedules:
        return
    # One flush for all their captures; no later query depends on unwritten rows.
    with audit.batch_entries(session), session.no_autoflush:
        firing = DueSchedules(session, store, schedules, at, by)
        for schedule in schedules:
            firing.decide(schedule)
        session.flush()
        due_times.insert_firings(session, firing.rows)


class DueSchedules:
    """Decisions about some schedules at one time, with the rows of their due times."""

    def __init__(
        self, session: Session, store: ArtifactStore, schedules: Sequence[Schedule], at: datetime, by: str
    ) -> None:
        self.session = session
        self.store = store
        self.at = at
        self.by = by
        self.rows: list[Json] = []
        ids = [schedule.id for schedule in schedules]
        self._open = queries.load_unfinished_captures(session, ids)
        self._written = queries.list_recorded_due_times(session, ids)
        self._windows = load_windows(session, at, at)
        # Preload the owners: the identity map keeps them while they are referenced, so that lookups need no query.
        self._people = queries.load_accounts(session, schedules)

    def decide(self, schedule: Schedule) -> None:
        """Decide about all due times of a schedule."""
        try:
            result = due_times.resolve_due_times(schedule, self.at)
        except ValueError as error:
            self._pause_schedule(schedule, str(error))
            return
        if result.missed is not None:
            late: Json = {"key": "schedule.missed", "params": {"count": result.missed.count}}
            self._record_firing(schedule, result.missed, "missed", late)
            log.warning("schedule_missed", schedule=schedule.name, count=result.missed.count)
        if result.start is not None and (schedule.id, result.start) not in self._written:
            self._start_due(schedule, result, DueRange(result.start, result.start, 1))
        due_times.set_next_due(schedule, result.next_due)

    def _start_due(self, schedule: Schedule, settled: DueDecision, span: DueRange) -> None:
        """Start the capture of one due time if it is permitted."""
        try:
            capture_id, left_out = self._start_capture(schedule)
        except ScheduleBlockedError as error:
            self._record_firing(schedule, span, error.state, error.sentence)
            if error.state == "refused":
                audit.record_action(
                    self.session, None, "schedule.refused", "schedule", schedule.id, name=schedule.name,
                    why=error.sentence
                )  # fmt: skip
            log.info("schedule_blocked", schedule=schedule.name, state=error.state, why=error.sentence["key"])
            return
        reason = _explain_delay(settled, self.at)
        if left_out:
            reason = {"key": "schedule.hosts_left_out", "params": {"count": left_out}}
        self._record_firing(schedule, span, "started", reason, capture_id)

    def _start_capture(self, schedule: Schedule) -> tuple[UUID, int]:
        """Create the capture as a request of the owner.

        Return its ID and the number of hosts that maintenance excluded. Raises ScheduleBlockedError.
        """
        number = self._open.get(schedule.id)
        if number is not None:
            raise ScheduleBlockedError(
                "skipped", {"key": "schedule.still_running", "params": {"number": number}}
            )
        try:
            owner = permissions.get_owner(self.session, schedule)
            hosts = queries.list_target_hosts(self.session, owner, schedule)
            permissions.require_permitted(self.session, schedule, owner, hosts)
            free = self._list_available_hosts(hosts)
            reason = f"{schedule.name}: {schedule.reason}".rstrip(": ")
            capture_create = CaptureCreate(
                host_ids=[host.id for host in free], reason=reason, **schedule.capture
            )
            capture = captures.create_capture(
                self.session, owner, self.store, capture_create, source=permissions.SOURCE
            )
        except UnavailableError as error:
            raise ScheduleBlockedError("skipped", error.sentence) from error
        except CulpritError as error:
            raise ScheduleBlockedError("refused", error.sentence) from error
        except ValueError as error:
            sentence = {"key": "capture.no_longer_valid", "params": {"what": str(error)[:200]}}
            raise ScheduleBlockedError("refused", sentence) from error
        return capture.id, len(hosts) - len(free)

    def _list_available_hosts(self, hosts: list[Host]) -> list[Host]:
        """Return the hosts without maintenance.

        Raises ScheduleBlockedError if there is none, or more than a capture allows.
        """
        hits = {host.id: find_window(self._windows, host, self.at) for host in hosts}
        free = [host for host in hosts if hits[host.id] is None]
        if not free:
            window = next((item for item in hits.values() if item is not None), None)
            sentence = describe_maintenance(window) if window else {"key": "schedule.no_hosts", "params": {}}
            raise ScheduleBlockedError("skipped", sentence)
        if len(free) > MAX_HOSTS:
            params = {"count": len(free), "most": MAX_HOSTS}
            raise ScheduleBlockedError("refused", {"key": "schedule.too_many_hosts", "params": params})
        return free

    def _pause_schedule(self, schedule: Schedule, why: str) -> None:
        """Pause a schedule whose cron fields or time zone are unknown, with the reason."""
        assert schedule.next_due is not None
        span = DueRange(schedule.next_due, schedule.next_due, 1)
        self._record_firing(
            schedule, span, "refused", {"key": "schedule.unreadable", "params": {"what": why}}
        )
        schedule.state, schedule.next_due = "paused", None
        audit.record_action(
            self.session, None, "schedule.paused", "schedule", schedule.id, name=schedule.name, why=why
        )

    def _record_firing(
        self,
        schedule: Schedule,
        span: DueRange,
        state: str,
        reason: Json | None,
        capture_id: UUID | None = None,
    ) -> None:
        self.rows.append(due_times.build_firing(schedule, span, state, reason, self.at, self.by, capture_id))


def _explain_delay(settled: DueDecision, at: datetime) -> Json | None:
    if not settled.caught_up or settled.start is None:
        return None
    minutes = round((at - settled.start) / timedelta(minutes=1))
    missed = settled.missed.count if settled.missed else 0
    return {"key": "schedule.caught_up", "params": {"minutes": minutes, "missed": missed}}
