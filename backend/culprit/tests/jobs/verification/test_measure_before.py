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
    """Complete the measurement before the fix: finish each capture that it starts, a minute apart."""
    start = how.pop("start", None) or time.time() - 140
    for _ in range(8):
        state = advance_verification(requested)
        if state != "before":
            return state
        captures_before = case.read(Verification, requested).captures_before
        case.home(captures_before[-1], busy, at=start + 60 * (len(captures_before) - 1), **how)
    return state


def test_the_side_before_is_measured_while_the_fix_is_planned(planned):
    case, fix, requested = planned
    assert ("culprit.advance_verification", requested) in listed(case.db)
    start = time.time() - 140
    assert measured(case, requested, start=start) == "waiting"
    row = case.read(Verification, requested)
    assert len(row.captures_before) == len(row.before) == 3 and row.after == []
    assert ("culprit.advance_verification", requested) in listed(case.db), "it measures while it waits"
    last = start + 2 * 60
    apply(case, fix, requested, at=last + 20)
    assert case.play(requested, 20.0, at=last + 30)["outcome"] == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).where(IncidentRun.fix_id == fix)).all()
    assert roles.count("before") == 3 and roles.count("after") >= 3


def apply(case, fix, requested, *, at: float) -> None:
    with unit_of_work(case.db.sessions) as session:
        row = session.get_one(Fix, fix)
        row.state, row.applied_at = "applied", datetime.fromtimestamp(at, UTC)
        session.get_one(Verification, requested).state = "collecting"


def test_the_side_before_is_repeated_while_the_fix_is_not_applied(planned):
    case, _, requested = planned
    assert measured(case, requested) == "waiting"
    assert advance_verification(requested) == "waiting"
    row = case.read(Verification, requested)
    assert len(row.captures_before) == 4 and len(row.before) == 3
    case.home(row.captures_before[-1], 40.0)
    advance_verification(requested)
    assert len(case.read(Verification, requested).before) == 4


def test_a_fix_is_applied_and_rolled_back_in_turns(planned):
    """Two captures per turn: before, after, before, after; then it is judged with three switches."""
    case, fix, requested = planned
    with unit_of_work(case.db.sessions) as session:
        session.get_one(Verification, requested).kind = "alternating"
    base = time.time() - 900
    assert measured(case, requested, start=base) == "waiting"
    assert len(case.read(Verification, requested).captures_before) == 2
    assert ("culprit.advance_verification", requested) not in listed(case.db), "it waits for a person"
    apply(case, fix, requested, at=base + 80)
    for turn, at in enumerate((base + 90, base + 270)):
        for number in range(2):
            assert advance_verification(requested) == "collecting"
            case.home(case.taken(requested)[2 * turn + number], 20.0, at=at + 25 * number)
        if turn:
            break
        assert advance_verification(requested) == "waiting"
        with unit_of_work(case.db.sessions) as session:
            session.get_one(Fix, fix).state = "reverted"
            session.get_one(Verification, requested).state = "before"
        assert measured(case, requested, start=base + 60) == "waiting"
        apply(case, fix, requested, at=base + 260)
    for _ in range(6):
        if advance_verification(requested) in {"judging", "done"}:
            break
        case.home(case.taken(requested)[-1], 20.0, at=base + 270 + 25 * (len(case.taken(requested)) - 2))
    advance_verification(requested)
    result = case.read(Verification, requested).result
    assert result["outcome"] == "verified", result["reasons"]
    sides = [window["side"] for window in result["windows"]]
    assert sides.count("before") == 4 and sides.count("after") >= 4


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
