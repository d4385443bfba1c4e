"""Automatic journal entries and the autopilot."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.incidents.chain.step_options import needs_input
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.finding import StoredFinding
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.incidents.incident import Incident
from culprit.jobs.incidents.advance_autopilot import advance_incident
from culprit.jobs.incidents.record_findings import record_findings
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, evaluated, opened
from sqlalchemy import delete, select, update

from collectors.contract import Tier
from collectors.registry import COLLECTORS


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


def entries(desk, kind):
    return [item for item in desk.client.get(f"{desk.url}/journal").json() if item["kind"] == kind]


def test_findings_enter_journal_once(as_, db, host):
    desk = opened(as_("investigator"), host)
    run = evaluated(
        db, host, {"port-search": "matched", "ports-left": "not_matched", "time-wait": "not_evaluated"}
    )
    desk.post("runs", run_ids=[str(run.run_id)])
    assert (record_findings(run.run_id), record_findings(run.run_id)) == (1, 0)
    [entry] = entries(desk, "steps_answered")
    assert entry["by"] is None and entry["version"] == 3 and entry["params"]["host"] == "web1"
    assert entry["params"]["answers"] == [
        {"step": f"{BOOK}/ports-left", "verdict": "refutes"},
        {"step": f"{BOOK}/port-search", "verdict": "supports"},
    ]
    with unit_of_work(db.sessions) as session:
        session.execute(delete(StoredFinding).where(StoredFinding.run_id == run.run_id))
    assert record_findings(run.run_id) == 0
    desk.post("notes", note="an answer of a capture replaces no note")


def test_run_without_incident_changes_no_journal(db, host):
    assert record_findings(evaluated(db, host, {}).run_id) == 0


def finish(db, capture_id):
    """End the runs of a capture without results."""
    with unit_of_work(db.sessions) as session:
        for run in session.scalars(select(Run).where(Run.capture_id == capture_id)).all():
            run.state = "failed"
            session.execute(update(RunCollector).where(RunCollector.run_id == run.id).values(state="skipped"))


def test_it_goes_on_by_itself_until_a_person_is_needed(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.post("hypotheses", summary="the deploy")
    desk.post("autopilot", tier="standard")
    assert desk.now["autopilot"]["state"] == "running"
    assert desk.refused("POST", "autopilot", tier="light") == (409, "autopilot.runs")
    taken = []
    for _ in range(30):
        state = advance_incident(UUID(desk.now["id"]))
        pilot = desk.look()["autopilot"]
        if state == "stopped":
            break
        assert pilot["capture_id"] not in taken, "one capture at a time"
        taken.append(pilot["capture_id"])
        assert advance_incident(UUID(desk.now["id"])) == "running" and len(desk.look()["runs"]) == len(taken)
        finish(db, pilot["capture_id"])
    assert pilot["reason"]["key"] in {"autopilot.person", "autopilot.tier"}
    assert pilot["capture_count"] == len(taken) > 0
    assert len(entries(desk, "step_started")) == len(taken) and len(entries(desk, "autopilot_stopped")) == 1
    with db.sessions() as session:
        captures = session.scalars(select(Capture)).all()
        assert all(
            capture.incident_id is not None and capture.requested_by is not None for capture in captures
        )


def test_autopilot_is_stopped_regardless_of_version(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.post("autopilot", tier="light")
    with db.sessions() as session:
        assert ("culprit.advance_autopilot", session.scalars(select(Incident.id)).one()) in list_pending_jobs(
            session
        )
    assert as_("viewer").delete(f"{desk.url}/autopilot").status_code == 403
    answer = as_("oncall").delete(f"{desk.url}/autopilot").json()
    assert answer["autopilot"]["reason"]["key"] == "autopilot.by_hand"
    assert advance_incident(UUID(desk.now["id"])) == "stopped" and desk.look()["runs"] == []
    assert as_("oncall").delete(f"{desk.url}/autopilot").json()["version"] == answer["version"]


def test_autopilot_has_no_more_permissions_than_its_user(as_, host):
    desk = opened(as_("investigator"), host)
    assert desk.refused("POST", "autopilot", tier="deep")[0] == 403
    assert desk.refused("POST", "autopilot", tier="ptrace")[0] == 422
    assert as_("investigator").get(f"{API}/incidents").json()["items"][0]["version"] == 1


def test_it_leaves_questions_for_the_end_and_stops_with_the_first(as_, db, host):
    """Without a known peer, the probe waits for input; everything else is collected before."""
    desk = opened(as_("investigator"), host, playbooks=["intermittent-packet-loss"])
    desk.post("autopilot", tier="standard")
    for _ in range(40):
        if advance_incident(UUID(desk.now["id"])) == "stopped":
            break
        finish(db, desk.look()["autopilot"]["capture_id"])
    pilot = desk.look()["autopilot"]
    assert (pilot["reason"]["key"], pilot["reason"]["params"]["step"]) == (
        "incident.option_missing_peer",
        "intermittent-packet-loss/probe",
    )
    assert pilot["capture_count"] > 0
    assert "intermittent-packet-loss/probe" not in {
        item["params"]["step"] for item in entries(desk, "step_started")
    }


def test_autopilot_answers_steps_from_evidence(as_, db, host):
    run = evaluated(db, host, {"F-DEP-SLOW-REPLY": "matched"})
    with unit_of_work(db.sessions) as session:
        stored_finding = session.scalars(
            select(StoredFinding).where(StoredFinding.run_id == run.run_id)
        ).one()
        stored_finding.subject = {"dst": "10.0.0.2:6379", "pid": "9"}
    desk = opened(as_("investigator"), host, playbooks=["intermittent-packet-loss"])
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("autopilot", tier="standard")
    for _ in range(40):
        if advance_incident(UUID(desk.now["id"])) == "stopped":
            break
        finish(db, desk.look()["autopilot"]["capture_id"])
    assert desk.look()["autopilot"]["reason"]["key"] != "incident.option_missing_peer"
    [address, port] = entries(desk, "option_from_finding")
    assert (address["params"]["value"], port["params"]["value"]) == ("10.0.0.2", "6379")
    assert address["params"]["source"] == "F-DEP-SLOW-REPLY"


def test_a_capture_collects_what_several_open_steps_need(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.post("autopilot", tier="light")
    advance_incident(UUID(desk.now["id"]))
    with db.sessions() as session:
        capture = session.scalars(select(Capture)).one()
    names = {item["id"] for item in capture.collectors}
    step = desk.look()["autopilot"]["step"]
    alone = set(desk.look()["next"]["collectors"]) if desk.now["next"] else set()
    assert len(names) > 1 and names - alone, step
    assert {COLLECTORS[name].tier for name in names} == {Tier.LIGHT}
    assert not any(needs_input(name) for name in names)


def test_a_step_that_a_user_runs_collects_for_itself_only(as_, db, host):
    desk = opened(as_("investigator"), host)
    requested = desk.now["next"]["collectors"]
    desk.post("step-runs", step=desk.now["next"]["step"], host_id=str(host))
    with db.sessions() as session:
        capture = session.scalars(select(Capture)).one()
    assert {item["id"] for item in capture.collectors} >= set(requested)
    desk.post("autopilot", tier="light")
    finish(db, capture.id)
    advance_incident(UUID(desk.now["id"]))
    with db.sessions() as session:
        bundled = session.scalars(select(Capture).order_by(Capture.number.desc())).first()
    assert len(bundled.collectors) > len(capture.collectors)
