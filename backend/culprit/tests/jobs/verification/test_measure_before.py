"""A fix that is measured before it is applied, where that is asked for while it is planned."""

from __future__ import annotations

import time
from datetime import UTC, datetime
from types import SimpleNamespace
from uuid import UUID

import pytest
from culprit.captures import service as captures
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Fix,
    IncidentRun,
    Verification,
)
from culprit.tests.support.fixed import LOG
from culprit.workflows import verify_before
from culprit.workflows.doorbells import doorbells
from culprit.workflows.verify_fix import advance_verification
from sqlalchemy import select

pytestmark = pytest.mark.long(10)


@pytest.fixture
def planned(case, monkeypatch):
    """A fix that is only planned, on a host whose plan and measurements are the ones that come home by hand."""
    only = SimpleNamespace(collectors=[SimpleNamespace(id="cpu_stat")])
    monkeypatch.setattr(verify_before, "PLANS", {verify_before.PLAN: only})
    monkeypatch.setattr(verify_before, "measuring", lambda session, host: LOG)
    monkeypatch.setattr(verify_before, "_profile", lambda actor: [])
    host = case.host("web1")
    fix = case.fix(host)
    with unit_of_work(case.db.sessions) as session:
        row = session.get_one(Fix, fix)
        row.state, row.applied_at = "planned", None
    return case, fix, case.ask(fix, state="before")


def measured(case, asked, busy=40.0, **how) -> str:
    """The side before to its end: each capture that it starts comes home."""
    for _ in range(8):
        state = advance_verification(asked)
        if state != "before":
            return state
        case.home(case.read(Verification, asked).made_before[-1], busy, **how)
    return state


def test_the_side_before_is_measured_while_the_fix_is_planned(planned):
    case, fix, asked = planned
    assert ("culprit.advance_verification", asked) in listed(case.db)
    assert measured(case, asked) == "waiting"
    row = case.read(Verification, asked)
    assert len(row.made_before) == len(row.before) == 3 and row.after == []
    assert ("culprit.advance_verification", asked) not in listed(case.db), "it waits for a person"
    with unit_of_work(case.db.sessions) as session:
        found = session.get_one(Fix, fix)
        found.state, found.applied_at = "applied", datetime.now(UTC)
        session.get_one(Verification, asked).state = "collecting"
    assert case.play(asked, 20.0, at=time.time() + 60)["outcome"] == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).where(IncidentRun.fix_id == fix)).all()
    assert sorted(roles) == ["after"] * 3 + ["before"] * 3


def test_captures_before_that_come_to_nothing_are_not_taken_for_ever(planned):
    case, _, asked = planned
    assert measured(case, asked, fails=True) == "failed"
    row = case.read(Verification, asked)
    assert row.failure["key"] == "verify.before_failed" and len(row.made_before) == 3


def test_calling_a_capture_before_off_calls_the_verification_off(planned, people):
    case, _, asked = planned
    assert advance_verification(asked) == "before"
    with unit_of_work(case.db.sessions) as session:
        made = UUID(case.read(Verification, asked).made_before[0])
        captures.cancel(session, people["oncall"].actor, publisher(), made)
    assert advance_verification(asked) == "cancelled"


def listed(db):
    with db.sessions() as session:
        return doorbells(session)
