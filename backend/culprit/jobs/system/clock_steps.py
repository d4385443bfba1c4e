"""Keep leases and waiting times right when the clock of the database is set, or its machine was suspended.

Leases, heartbeats and waiting times are moments of the database's clock. If it is set forward, all leases would expire
at once, and what was queued would count as too old. If it is set back, a lost worker would be noticed only hours later.
The scheduler compares that clock with its own monotonic clock before each sweep, and moves these moments by the step.
Several schedulers may do the same: each moment is moved once.
"""

from __future__ import annotations

import time
from datetime import datetime, timedelta
from typing import Any

import structlog
from sqlalchemy import ColumnElement, case, func, update
from sqlalchemy.orm import InstrumentedAttribute, Session

from culprit.captures.locks import get_lease_duration
from culprit.domain.runs.retries import MAX_PAUSE_S
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.function_disassembly import FunctionDisassembly
from culprit.infra.models.evidence.profile import Profile
from culprit.infra.models.evidence.profile_comparison import ProfileComparison
from culprit.infra.models.hosts.preflight import Preflight
from culprit.jobs.system.queries import read_database_time

#: Smaller steps change no decision: the shortest lease has 5 s.
MIN_STEP = timedelta(seconds=5)
log = structlog.get_logger("culprit.sweep")
_now = func.clock_timestamp


class DatabaseClock:
    """The last reading of the database's clock, with the monotonic time before and after it, in seconds."""

    def __init__(self) -> None:
        self._last: tuple[datetime, float, float] | None = None

    def absorb_step(self, session: Session) -> tuple[timedelta, datetime]:
        """Compare the clocks and move the stored moments by a step.

        Returns:
            The step, zero without one, and the time of the database up to which no later step can have happened.
        """
        before = time.monotonic()
        at = read_database_time(session)
        after = time.monotonic()
        step = timedelta(0)
        if self._last is not None:
            last_at, last_before, last_after = self._last
            shortest, longest = (
                last_at + timedelta(seconds=elapsed_s)
                for elapsed_s in (before - last_after, after - last_before)
            )
            step = max(at - longest, timedelta(0)) + min(at - shortest, timedelta(0))
        self._last = at, before, after
        if abs(step) < MIN_STEP:
            return timedelta(0), at + MIN_STEP
        log.warning("clock_stepped", seconds=round(step.total_seconds(), 1))
        shift_moments(session, step)
        return step, at + MIN_STEP


def shift_moments(session: Session, step: timedelta) -> None:
    """Move the moments of unfinished work by `step`; none becomes later than one that is written now."""
    lease_end, latest_start = _now() + get_lease_duration(), _now() + timedelta(seconds=MAX_PAUSE_S)
    changes: list[tuple[type[Any], str, dict[InstrumentedAttribute[Any], ColumnElement[Any]]]]
    changes = [
        (Run, "running", {Run.lease_until: lease_end, Run.heartbeat_at: _now(), Run.queued_at: _now()}),
        (Run, "ingesting", {Run.heartbeat_at: _now()}),
        (Run, "queued", {Run.queued_at: _now(), Run.not_before: latest_start}),
        (Watcher, "watching", {Watcher.lease_until: lease_end, Watcher.heartbeat_at: _now()}),
        (Preflight, "queued", {Preflight.at: _now()}),
        (Preflight, "running", {Preflight.at: _now()}),
        (Profile, "running", {Profile.started_at: _now()}),
        (ProfileComparison, "running", {ProfileComparison.started_at: _now()}),
        (FunctionDisassembly, "running", {FunctionDisassembly.started_at: _now()}),
    ]
    for table, state, limits in changes:
        values = {column: _shift(column, step, limit) for column, limit in limits.items()}
        session.execute(
            update(table)
            .where(table.state == state)
            .values(values)
            .execution_options(synchronize_session=False)
        )


def _shift(
    column: InstrumentedAttribute[Any], step: timedelta, limit: ColumnElement[Any]
) -> ColumnElement[Any]:
    """Return a moment of the clock before the step as one of the clock after it; no moment is later than `limit`.

    A moment belongs to the clock to which it is nearer, so that it is moved once, and none that was written since.
    """
    halfway = _now() - step / 2
    is_earlier_clock = column < halfway if step > timedelta(0) else column > halfway
    return func.least(case((is_earlier_clock, column + step), else_=column), limit)
