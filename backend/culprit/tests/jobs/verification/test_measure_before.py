"""Measurements before a planned fix."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

import pytest
from culprit.captures import service as captures
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.jobs.verification import measure_before
from culprit.jobs.verification.advance_verification import advance_verification
from culprit.tests.support.fixed import LOG
from sqlalchemy import select

pytestmark = pytest.mark.long(10)


@pytest.fixture
def planned(case, monkeypatch):
    """A planned fix, on a host whose captures the test completes."""
    only = SimpleNamespace(collectors=[SimpleNamespace(id="cpu_stat")])
    monkeypatch.setattr(measure_before, "PLANS", {measure_before.PLAN: only})
    monkeypatch.setattr(measure_before, "service_collector_options", lambda session, host: LOG)
    monkeypatch.setattr(measure_before, "_select_profiler", lambda actor: [])
    host = case.host("web1")
    fix = case.fix(host)
    with unit_of_work(case.db.sessions) as session:
        row = session.get_one(Fix, fix)
        row.state, row.applied_at = "planned", None
    return case, fix, case.ask(fix, state="before")


def measured(case, requested, busy=40.0, **how) -> str:
    """Complete the measurement before the fix: finish each capture that it starts."""
    for _ in range(8):
        state = advance_verification(requested)
        if state != "before":
            return state
        case.home(case.read(Verification, requested).captures_before[-1], busy, **how)
    return state


def test_the_side_before_is_measured_while_the_fix_is_planned(planned):
    case, fix, requested = planned
    assert ("culprit.advance_verification", requested) in listed(case.db)
    assert measured(case, requested) == "waiting"
    row = case.read(Verification, requested)
    assert len(row.captures_before) == len(row.before) == 3 and row.after == []
    assert ("culprit.advance_verification", requested) not in listed(case.db), "it waits for a person"
    with unit_of_work(case.db.sessions) as session:
        result = session.get_one(Fix, fix)
        result.state, result.applied_at = "applied", datetime.now(UTC)
        session.get_one(Verification, requested).state = "collecting"
    assert case.play(requested, 20.0, at=time.time() + 60)["outcome"] == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).where(IncidentRun.fix_id == fix)).all()
    assert sorted(roles) == ["after"] * 3 + ["before"] * 3


def test_captures_before_that_come_to_nothing_are_not_taken_for_ever(planned):
    case, _, requested = planned
    assert measured(case, requested, fails=True) == "failed"
    row = case.read(Verification, requested)
    assert row.failure["key"] == "verify.before_failed" and len(row.captures_before) == 3


def test_calling_a_capture_before_off_calls_the_verification_off(planned, people):
    case, _, requested = planned
    assert advance_verification(requested) == "before"
    with unit_of_work(case.db.sessions) as session:
        uuid = UUID(case.read(Verification, requested).captures_before[0])
        captures.cancel_capture(session, people["oncall"].actor, get_event_publisher(), uuid)
    assert advance_verification(requested) == "canceled"


def listed(db):
    with db.sessions() as session:
        return list_pending_jobs(session)
