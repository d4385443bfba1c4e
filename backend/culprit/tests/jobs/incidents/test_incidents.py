"""What enters journals by itself, and incidents that go on by themselves."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Finding, Incident, Run, RunCollector
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, evaluated, opened
from culprit.workflows.autopilot import advance_incident
from culprit.workflows.doorbells import doorbells
from culprit.workflows.tell_incidents import tell_incidents
from sqlalchemy import delete, select, update


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


def entries(desk, kind):
    return [one for one in desk.client.get(f"{desk.url}/journal").json() if one["kind"] == kind]


def test_what_the_rules_said_enters_the_journal_once(as_, db, host):
    desk = opened(as_("investigator"), host)
    run = evaluated(db, host, {"port-search": "fired", "ports-left": "quiet", "time-wait": "not_evaluated"})
    desk.post("runs", run_ids=[str(run.run_id)])
    assert (tell_incidents(run.run_id), tell_incidents(run.run_id)) == (1, 0)
    [entry] = entries(desk, "answered")
    assert entry["by"] is None and entry["version"] == 3 and entry["params"]["host"] == "web1"
    assert entry["params"]["answers"] == [
        {"step": f"{BOOK}/ports-left", "verdict": "refutes"},
        {"step": f"{BOOK}/port-search", "verdict": "supports"},
    ]
    with unit_of_work(db.sessions) as session:
        session.execute(delete(Finding).where(Finding.run_id == run.run_id))
    assert tell_incidents(run.run_id) == 0
    desk.post("notes", note="what a capture answered takes nobody's words away")


def test_a_run_of_no_incident_tells_nobody(db, host):
    assert tell_incidents(evaluated(db, host, {}).run_id) == 0


def finish(db, capture_id):
    """The runs of a capture end, with nothing."""
    with unit_of_work(db.sessions) as session:
        for run in session.scalars(select(Run).where(Run.capture_id == capture_id)).all():
            run.state = "failed"
            session.execute(update(RunCollector).where(RunCollector.run_id == run.id).values(state="skipped"))


def test_it_goes_on_by_itself_until_a_person_is_needed(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.post("hypotheses", says="the deploy")
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
    assert pilot["taken"] == len(taken) > 0
    assert len(entries(desk, "step")) == len(taken) and len(entries(desk, "autopilot_stopped")) == 1
    with db.sessions() as session:
        captures = session.scalars(select(Capture)).all()
        assert all(one.incident_id is not None and one.requested_by is not None for one in captures)


def test_it_stops_by_hand_whatever_version_one_saw(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.post("autopilot", tier="light")
    with db.sessions() as session:
        assert ("culprit.advance_incident", session.scalars(select(Incident.id)).one()) in doorbells(session)
    assert as_("viewer").delete(f"{desk.url}/autopilot").status_code == 403
    answer = as_("oncall").delete(f"{desk.url}/autopilot").json()
    assert answer["autopilot"]["reason"]["key"] == "autopilot.by_hand"
    assert advance_incident(UUID(desk.now["id"])) == "stopped" and desk.look()["runs"] == []
    assert as_("oncall").delete(f"{desk.url}/autopilot").json()["version"] == answer["version"]


def test_nobody_goes_further_by_itself_than_by_hand(as_, host):
    desk = opened(as_("investigator"), host)
    assert desk.refused("POST", "autopilot", tier="deep")[0] == 403
    assert desk.refused("POST", "autopilot", tier="ptrace")[0] == 422
    assert as_("investigator").get(f"{API}/incidents").json()["items"][0]["version"] == 1


def test_it_leaves_questions_for_the_end_and_stops_with_the_first(as_, db, host):
    """Where no peer is known the probe waits for a word, and all else is collected before."""
    desk = opened(as_("investigator"), host, playbooks=["intermittent-packet-loss"])
    desk.post("autopilot", tier="standard")
    for _ in range(40):
        if advance_incident(UUID(desk.now["id"])) == "stopped":
            break
        finish(db, desk.look()["autopilot"]["capture_id"])
    pilot = desk.look()["autopilot"]
    assert (pilot["reason"]["key"], pilot["reason"]["params"]["step"]) == (
        "incident.asks_peer",
        "intermittent-packet-loss/probe",
    )
    assert pilot["taken"] > 3
    assert "intermittent-packet-loss/probe" not in {one["params"]["step"] for one in entries(desk, "step")}


def test_what_the_evidence_knows_it_asks_nobody(as_, db, host):
    run = evaluated(db, host, {"F-DEP-SLOW-REPLY": "fired"})
    with unit_of_work(db.sessions) as session:
        told = session.scalars(select(Finding).where(Finding.run_id == run.run_id)).one()
        told.subject = {"dst": "10.0.0.2:6379", "pid": "9"}
    desk = opened(as_("investigator"), host, playbooks=["intermittent-packet-loss"])
    desk.post("runs", run_ids=[str(run.run_id)])
    desk.post("autopilot", tier="standard")
    for _ in range(40):
        if advance_incident(UUID(desk.now["id"])) == "stopped":
            break
        finish(db, desk.look()["autopilot"]["capture_id"])
    assert desk.look()["autopilot"]["reason"]["key"] != "incident.asks_peer"
    [address, port] = entries(desk, "filled_finding")
    assert (address["params"]["value"], port["params"]["value"]) == ("10.0.0.2", "6379")
    assert address["params"]["source"] == "F-DEP-SLOW-REPLY"
