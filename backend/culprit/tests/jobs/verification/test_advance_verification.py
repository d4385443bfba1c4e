"""Verifications over a real database: what is captured, what is concluded, and what the incident is told."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from culprit.captures import service as captures
from culprit.infra.progress import publisher
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Capture,
    Fix,
    Incident,
    IncidentRun,
    Run,
    Verification,
)
from culprit.tests.support.fixed import SECONDS
from culprit.workflows import verify_fix, verify_state
from culprit.workflows.doorbells import doorbells
from culprit.workflows.verify_fix import advance_verification
from sqlalchemy import select

pytestmark = pytest.mark.long(60)


def test_the_same_capture_is_taken_again_and_the_fix_is_verified(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    result = case.play(asked, 20.0)
    assert (result["outcome"], result["per_work"]) == ("verified", False)
    assert -0.55 < result["low"] < result["change"] < result["high"] < -0.45
    assert result["p"] < 0.05 and result["primary"]["unit"] == "pct"
    load = result["load"]
    assert (load["kind"], load["before"], load["after"]) == (
        "goodput",
        pytest.approx(100),
        pytest.approx(100),
    )
    sides = [one["side"] for one in result["windows"]]
    assert sides == ["before"] * 3 + ["after"] * 3
    assert all(len(one["values"]) == SECONDS == len(one["t_ns"]) for one in result["windows"])
    assert all(one["citations"][0]["artifact"] for one in result["windows"])
    assert case.read(Fix, fix).state == "verified"
    assert [one.kind for one in case.journal()] == ["fix_verified"] and case.journal()[0].by is None
    assert case.read(Incident, case.incident).version == case.journal()[-1].version > 1


def test_what_is_captured_is_what_was_captured_before(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    assert advance_verification(asked) == "collecting"
    assert advance_verification(asked) == "collecting", "a bell too many"
    [made] = case.taken(asked)
    with case.db.sessions() as session:
        again = session.get_one(Capture, made)
        model = session.scalars(select(Capture).order_by(Capture.number)).first()
        same = ("plan", "seconds", "collectors", "scope")
        assert [getattr(again, one) for one in same] == [getattr(model, one) for one in same]
        assert again.incident_id == case.incident
        link = session.scalars(select(IncidentRun).where(IncidentRun.role == "after")).one()
        assert link.run_id == again.runs[0].id
        assert ("culprit.advance_verification", asked) in doorbells(session)


def test_captures_are_taken_with_a_pause_between(case, monkeypatch):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    advance_verification(asked)
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(hours=1))
    case.home(case.taken(asked)[0], 20.0)
    assert advance_verification(asked) == "collecting" and len(case.taken(asked)) == 1
    monkeypatch.setattr(verify_state, "PAUSE", timedelta(0))
    advance_verification(asked)
    assert len(case.taken(asked)) == 2


@pytest.mark.parametrize(
    ("after", "outcome"), [(40.2, "no_effect"), (60.0, "worse")], ids=["nothing changed", "it got worse"]
)
def test_other_outcomes_stay_in_the_chain(case, after, outcome):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    assert case.play(case.ask(fix), after)["outcome"] == outcome
    assert case.read(Fix, fix).state == outcome
    assert case.journal()[-1].kind == f"fix_{outcome}"


def test_unlike_load_is_told_per_unit_of_work_or_not_at_all(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    per_work = case.play(case.ask(fix), 20.0, rate=50.0)
    assert (per_work["per_work"], per_work["outcome"]) == (True, "no_effect"), "half the work, half the CPU"
    latency = case.play(case.ask(fix, primary={"read": "app.p50_ms", "better": "lower"}), 20.0, rate=50.0)
    assert latency["outcome"] == "no_conclusion"
    assert latency["reasons"][0]["key"] == "verify.unlike_load"


def test_too_few_captures_from_before_are_said_before_anything_is_captured(case):
    host = case.host("web1")
    case.before(host, busy=40.0, count=2)
    case.before(host, busy=40.0, count=2, seconds=25)
    fix = case.fix(host)
    result = case.play(case.ask(fix), 20.0)
    assert result["outcome"] == "no_conclusion" and case.read(Fix, fix).state == "no_conclusion"
    assert [one["key"] for one in result["reasons"]] == ["verify.few_windows", "verify.collect_before"]
    assert result["reasons"][1]["params"]["runs"] == 2, "captures of another length are another measurement"
    assert not case.taken(case.ask(fix))


def test_what_was_captured_after_the_fix_is_not_before_it(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    case.applied = datetime.now(UTC) - timedelta(hours=3)
    result = case.play(case.ask(case.fix(host)), 20.0)
    assert result["reasons"][1]["params"]["runs"] == 0


def test_what_changed_on_the_control_host_too_is_not_the_fix(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, peer, busy={host: 40.0, peer: 41.0})
    fix = case.fix(host)
    both = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 20.5})
    assert both["outcome"] in {"no_effect", "no_conclusion"} and abs(both["change"]) < 0.05
    assert {one["side"] for one in both["windows"]} == {"before", "after", "control_before", "control_after"}
    alone = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 41.0})
    assert alone["outcome"] == "verified" and case.read(Fix, fix).state == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).join(Run).where(Run.host_id == peer)).all()
    assert roles.count("control") == 6


def test_a_control_that_nobody_watched_before_is_none(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, busy=40.0)
    result = case.play(case.ask(case.fix(host), kind="control", control_host_id=peer), 20.0)
    assert result["reasons"][-1]["key"] == "verify.collect_before_control"


def test_a_cohort_is_judged_by_hosts_and_names_the_odd_one(case):
    hosts = [case.host(f"web{at}") for at in range(6)]
    dark = case.host("dark")
    levels = {host: 30.0 + 5 * at for at, host in enumerate(hosts)}
    case.before(*hosts, busy=levels, count=1)
    fix = case.fix(*hosts, dark)
    after = {host: 0.7 * level for host, level in levels.items()} | {
        hosts[5]: levels[hosts[5]] * 1.05,
        dark: 1.0,
    }
    result = case.play(case.ask(fix, kind="cohort"), after)
    told = {one["host"]: one for one in result["hosts"]}
    assert [name for name, one in told.items() if one["outlier"]] == ["web5"]
    assert told["dark"]["left_out"]["key"] == "verify.host_no_data"
    assert told["web1"]["change"] == pytest.approx(-0.3, abs=0.03)
    assert result["outcome"] in {"verified", "no_conclusion"} and result["change"] < -0.2


def test_captures_that_come_to_nothing_are_taken_again_but_not_for_ever(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host))
    result = case.play(asked, 20.0, fails=True)
    assert len(case.taken(asked)) == 3 + verify_fix.SPARE
    assert result["reasons"][0]["key"] == "verify.few_windows"


def test_calling_a_capture_off_calls_the_verification_off(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    advance_verification(asked)
    with unit_of_work(case.db.sessions) as session:
        made = session.get_one(Verification, asked).after
        captures.cancel(session, case.actor, publisher(), made[0])
    assert advance_verification(asked) == "cancelled"
    assert case.read(Fix, fix).state == "applied"
    assert case.journal()[-1].kind == "verification_cancelled"


def test_taking_the_fix_back_ends_the_capture_that_runs(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    asked = case.ask(fix)
    advance_verification(asked)
    with unit_of_work(case.db.sessions) as session:
        session.get_one(Fix, fix).state = "reverted"
    assert advance_verification(asked) == "cancelled"
    assert case.read(Capture, case.taken(asked)[0]).state == "cancelled"
    assert case.read(Fix, fix).state == "reverted"


def test_without_a_number_fixed_beforehand_nothing_is_judged(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host), primary=None)
    assert advance_verification(asked) == "failed"
    assert case.read(Verification, asked).failure["key"] == "verify.no_primary"
    assert advance_verification(asked) == "failed", "and nothing more happens"


def test_who_may_no_longer_capture_does_not(case, people):
    host = case.host("web1")
    case.before(host, busy=40.0)
    asked = case.ask(case.fix(host), requested_by=people["viewer"].id)
    assert advance_verification(asked) == "failed"
    assert not case.taken(asked)
