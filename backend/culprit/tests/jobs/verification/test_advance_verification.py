"""Verifications over a real database: captures, results, and entries in the incident."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import pytest
from culprit.captures import service as captures
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.event_stream import get_event_publisher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.jobs.verification import advance_verification as verify_fix
from culprit.jobs.verification import schedule
from culprit.jobs.verification.advance_verification import advance_verification
from culprit.tests.support.fixed import SECONDS
from sqlalchemy import select

pytestmark = pytest.mark.long(170)


def test_the_same_capture_is_taken_again_and_the_fix_is_verified(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    requested = case.ask(fix)
    result = case.play(requested, 20.0)
    assert (result["outcome"], result["per_work"]) == ("verified", False), result["reasons"]
    assert -0.55 < result["low"] < result["change"] < result["high"] < -0.45
    assert result["p"] < 0.05 and result["primary"]["unit"] == "pct"
    load = result["load"]
    assert (load["kind"], load["before"], load["after"]) == (
        "goodput",
        pytest.approx(100),
        pytest.approx(100),
    )
    sides = [window["side"] for window in result["windows"]]
    assert sides[:3] == ["before"] * 3 and set(sides[3:]) == {"after"}
    assert len(sides) > 6, "as long as the gap requires"
    assert all(len(window["values"]) == SECONDS == len(window["t_ns"]) for window in result["windows"])
    assert all(window["citations"][0]["artifact"] for window in result["windows"])
    assert case.read(Fix, fix).state == "verified"
    assert [item.kind for item in case.journal()] == ["fix_verified"] and case.journal()[0].by is None
    assert case.read(Incident, case.incident).version == case.journal()[-1].version > 1


def test_what_is_captured_is_what_was_captured_before(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host))
    assert advance_verification(requested) == "collecting"
    assert advance_verification(requested) == "collecting", "a bell too many"
    [result] = case.taken(requested)
    with case.db.sessions() as session:
        again = session.get_one(Capture, result)
        model = session.scalars(select(Capture).order_by(Capture.number)).first()
        same = ("plan", "seconds", "collectors", "scope")
        assert [getattr(again, item) for item in same] == [getattr(model, item) for item in same]
        assert again.incident_id == case.incident
        link = session.scalars(select(IncidentRun).where(IncidentRun.role == "after")).one()
        assert link.run_id == again.runs[0].id
        assert ("culprit.advance_verification", requested) in list_pending_jobs(session)


def test_captures_are_taken_with_a_pause_between(case, monkeypatch):
    host = case.host("web1")
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host))
    advance_verification(requested)
    monkeypatch.setattr(schedule, "WIDE_PAUSE", timedelta(hours=1))
    case.home(case.taken(requested)[0], 20.0)
    assert advance_verification(requested) == "collecting" and len(case.taken(requested)) == 1
    monkeypatch.setattr(schedule, "WIDE_PAUSE", timedelta(0))
    advance_verification(requested)
    assert len(case.taken(requested)) == 2


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


def test_different_load_is_compared_per_unit_of_work(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    per_work = case.play(case.ask(fix), 20.0, rate=50.0)
    assert (per_work["per_work"], per_work["outcome"]) == (True, "no_effect"), "half the work, half the CPU"
    latency = case.play(case.ask(fix, primary={"read": "app.p50_ms", "better": "lower"}), 20.0, rate=50.0)
    assert latency["outcome"] == "no_conclusion"
    assert latency["reasons"][0]["key"] == "verify.unlike_load"


def test_too_few_captures_before_fix_are_refused_without_capture(case):
    host = case.host("web1")
    case.before(host, busy=40.0, count=2)
    case.before(host, busy=40.0, count=2, seconds=25)
    fix = case.fix(host)
    result = case.play(case.ask(fix), 20.0)
    assert result["outcome"] == "no_conclusion" and case.read(Fix, fix).state == "no_conclusion"
    assert [reason["key"] for reason in result["reasons"]] == ["verify.few_windows", "verify.collect_before"]
    assert result["reasons"][1]["params"]["runs"] == 2, "captures of another length are another measurement"
    assert not case.taken(case.ask(fix))


def test_what_was_captured_after_the_fix_is_not_before_it(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    case.applied = datetime.now(UTC) - timedelta(hours=3)
    result = case.play(case.ask(case.fix(host)), 20.0)
    assert result["reasons"][1]["params"]["runs"] == 0


def test_captures_long_before_the_fix_are_refused_without_capture(case, monkeypatch):
    monkeypatch.setattr(schedule, "MAX_OBSERVED_S", 780.0)
    host = case.host("web1")
    case.applied = datetime.now(UTC) - timedelta(minutes=10)
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host))
    result = case.play(requested, 20.0)
    assert [reason["key"] for reason in result["reasons"]] == ["verify.gap_too_long"]
    assert not case.taken(requested)


def test_what_changed_on_the_control_host_too_is_not_the_fix(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, peer, busy={host: 40.0, peer: 41.0})
    fix = case.fix(host)
    both = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 20.5})
    assert both["outcome"] in {"no_effect", "no_conclusion"} and abs(both["change"]) < 0.05
    assert {window["side"] for window in both["windows"]} == {
        "before",
        "after",
        "control_before",
        "control_after",
    }
    alone = case.play(case.ask(fix, kind="control", control_host_id=peer), {host: 20.0, peer: 41.0})
    assert alone["outcome"] == "verified" and case.read(Fix, fix).state == "verified"
    with case.db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).join(Run).where(Run.host_id == peer)).all()
    assert roles.count("control") >= 6


def test_control_host_without_earlier_captures_is_ignored(case):
    host, peer = case.host("web1"), case.host("web2", "control")
    case.before(host, busy=40.0)
    result = case.play(case.ask(case.fix(host), kind="control", control_host_id=peer), 20.0)
    assert result["reasons"][-1]["key"] == "verify.collect_before_control"


def test_cohort_verdict_names_deviating_host(case):
    hosts = [case.host(f"web{at}") for at in range(6)]
    dark = case.host("dark")
    levels = {host: 30.0 + 5 * at for at, host in enumerate(hosts)}
    case.before(*hosts, busy=levels)
    fix = case.fix(*hosts, dark)
    after = {host: 0.7 * level for host, level in levels.items()} | {
        hosts[5]: levels[hosts[5]] * 1.05,
        dark: 1.0,
    }
    result = case.play(case.ask(fix, kind="cohort"), after)
    reported = {host["host"]: host for host in result["hosts"]}
    assert [name for name, item in reported.items() if item["outlier"]] == ["web5"]
    assert reported["dark"]["left_out"]["key"] == "verify.host_no_data"
    assert reported["web1"]["change"] == pytest.approx(-0.3, abs=0.03)
    assert result["outcome"] in {"verified", "no_conclusion"} and result["change"] < -0.2


def test_captures_that_come_to_nothing_are_taken_again_but_not_for_ever(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host))
    result = case.play(requested, 20.0, fails=True)
    assert len(case.taken(requested)) == verify_fix.MAX_FAILED_CAPTURES + 1
    assert result["reasons"][0]["key"] == "verify.few_windows"


def test_calling_a_capture_off_calls_the_verification_off(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    requested = case.ask(fix)
    advance_verification(requested)
    with unit_of_work(case.db.sessions) as session:
        after = session.get_one(Verification, requested).after
        captures.cancel_capture(session, case.actor, get_event_publisher(), after[0])
    assert advance_verification(requested) == "canceled"
    assert case.read(Fix, fix).state == "applied"
    assert case.journal()[-1].kind == "verification_canceled"


def test_taking_the_fix_back_ends_the_capture_that_runs(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    fix = case.fix(host)
    requested = case.ask(fix)
    advance_verification(requested)
    with unit_of_work(case.db.sessions) as session:
        session.get_one(Fix, fix).state = "reverted"
    assert advance_verification(requested) == "canceled"
    assert case.read(Capture, case.taken(requested)[0]).state == "canceled"
    assert case.read(Fix, fix).state == "reverted"


def test_without_a_number_fixed_beforehand_nothing_is_judged(case):
    host = case.host("web1")
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host), primary=None)
    assert advance_verification(requested) == "failed"
    assert case.read(Verification, requested).failure["key"] == "verify.no_primary"
    assert advance_verification(requested) == "failed", "and nothing more happens"


def test_who_may_no_longer_capture_does_not(case, people):
    host = case.host("web1")
    case.before(host, busy=40.0)
    requested = case.ask(case.fix(host), requested_by=people["viewer"].id)
    assert advance_verification(requested) == "failed"
    assert not case.taken(requested)
