"""Schedules in the database, and moments to look at them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import UTC, datetime
from typing import Any
from uuid import UUID

import pytest
from culprit.infra.artifacts import ArtifactStore, make_store
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Schedule, ScheduleFiring
from culprit.tests.support.runs import make_host
from culprit.workflows.fire_schedules import fire_due
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
            given = {
                "kind": "cron", "cron": "*/10 * * * *", "zone": "UTC", "next_due": NOON,
                "wanted": {"plan": "custom", "collectors": ["vmstat"], "seconds": 5}, "selector": {"role": "feed"},
            }  # fmt: skip
            one = Schedule(name=name, owner_id=people[owner].id, **given | values)
            session.add(one)
            session.flush()
            return one.id

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
        return fire_due(db, store, "scheduler@test:1", at=moment)

    return at


@pytest.fixture
def became(db: Database) -> Callable[[UUID], list[tuple[str, datetime, int, str | None]]]:
    """What became of the due instants of a schedule: (state, due, count, key of the reason)."""

    def read(schedule_id: UUID) -> list[tuple[str, datetime, int, str | None]]:
        query = select(ScheduleFiring).where(ScheduleFiring.schedule_id == schedule_id)
        with db.sessions() as session:
            rows = session.scalars(query.order_by(ScheduleFiring.due_at)).all()
            return [
                (one.state, one.due_at, one.count, one.reason["key"] if one.reason else None) for one in rows
            ]

    return read
