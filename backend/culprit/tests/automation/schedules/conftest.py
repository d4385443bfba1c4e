"""Schedules in the database, and moments to look at them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from culprit.infra.artifacts.store import ArtifactStore, make_store
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.infra.models.captures.capture import Capture
from culprit.jobs.system.fire_schedules import start_all_due
from culprit.tests.support.runs import make_host
from sqlalchemy import select, update

NOON = datetime(2031, 3, 1, 12, 0, tzinfo=UTC)


@pytest.fixture
def store(config) -> ArtifactStore:
    return make_store(config)


@pytest.fixture
def make_schedule(db: Database, people) -> Callable[..., UUID]:
    """A schedule that is due at NOON for the first time, on hosts with role=feed."""

    def make(name: str = "night", owner: str = "oncall", **values: Any) -> UUID:
        with unit_of_work(db.sessions) as session:
            supplied = {
                "kind": "cron", "cron": "*/10 * * * *", "zone": "UTC", "next_due": NOON,
                "capture": {"plan": "custom", "collectors": ["vmstat"], "seconds": 5}, "selector": {"role": "feed"},
            }  # fmt: skip
            schedule = Schedule(name=name, owner_id=people[owner].id, **supplied | values)
            session.add(schedule)
            session.flush()
            return schedule.id

    return make


@pytest.fixture
def feed(db: Database) -> Any:
    return make_host(db, "feed-1", {"role": "feed"})


@pytest.fixture
def fire(db: Database, store: ArtifactStore) -> Callable[[datetime], int]:
    """One round of a scheduler at a moment; captures of rounds before have ended by then."""

    def at(moment: datetime, *, ended: bool = True) -> int:
        if ended:
            with unit_of_work(db.sessions) as session:
                session.execute(update(Capture).values(state="done"))
        return start_all_due(db, store, "scheduler@test:1", at=moment)

    return at


@pytest.fixture
def list_results(db: Database) -> Callable[[UUID], list[tuple[str, datetime, int, str | None]]]:
    """What list_results of the due instants of a schedule: (state, due, count, key of the reason)."""

    def read(schedule_id: UUID) -> list[tuple[str, datetime, int, str | None]]:
        query = select(ScheduleFiring).where(ScheduleFiring.schedule_id == schedule_id)
        with db.sessions() as session:
            rows = session.scalars(query.order_by(ScheduleFiring.due_at)).all()
            return [
                (row.state, row.due_at, row.count, row.reason["key"] if row.reason else None) for row in rows
            ]

    return read
