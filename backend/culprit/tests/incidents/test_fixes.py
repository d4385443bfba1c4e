"""Fixes, and asking whether they helped; steps that are taken."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.verification import Verification
from culprit.tests.support import runs
from culprit.tests.support.incidents import BOOK, evaluated, opened
from sqlalchemy import select

UNKNOWN_ID = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def hosts(db):
    return [runs.make_host(db, f"web{n}", {"role": "feed"}) for n in (1, 2)]


@pytest.fixture
def desk(as_, hosts):
    return opened(as_("oncall"), *hosts)


def test_a_fix_is_written_down_with_its_rollback(desk, hosts):
    assert desk.refused("POST", "fixes", what=" ") == (422, "incident.fix_needs_what")
    assert desk.refused("POST", "fixes", what="x", command="sysctl -w a=1") == (
        422,
        "incident.fix_needs_rollback",
    )
    assert desk.refused("POST", "fixes", what="x", remediation=f"{BOOK}/nothing") == (
        422,
        "incident.no_remediation",
    )
    assert desk.refused("POST", "fixes", what="x", host_ids=[UNKNOWN_ID]) == (422, "incident.no_host")
    assert desk.refused("POST", "fixes", what="x", hypothesis_id=UNKNOWN_ID) == (
        422,
        "incident.no_hypothesis",
    )
    now = desk.post("fixes", remediation=f"{BOOK}/widen-port-range", host_ids=[str(hosts[0])])
    [fix] = now["fixes"]
    assert fix["id"] == now["created_id"] and fix["command"] and fix["risk"] and fix["rollback"]
    assert (fix["hosts"], fix["state"], fix["by"]["name"]) == ([str(hosts[0])], "planned", "oncall")


def test_fix_can_be_applied_edited_and_reverted(db, desk):
    fix = desk.post("fixes", what="more workers")["created_id"]
    assert desk.refused("PATCH", f"fixes/{fix}", state="reverted") == (409, "incident.fix_not_applied")
    late = (utc_now() + timedelta(days=1)).isoformat()
    assert desk.refused("PATCH", f"fixes/{fix}", state="applied", applied_at=late) == (
        422,
        "incident.fix_in_future",
    )
    early = (utc_now() - timedelta(hours=1)).isoformat()
    reported_fix = desk.patch(f"fixes/{fix}", state="applied", applied_at=early, what="8 workers")["fixes"][0]
    assert (reported_fix["state"], reported_fix["what"]) == ("applied", "8 workers") and reported_fix[
        "applied_at"
    ]
    assert desk.patch(f"fixes/{fix}", state="reverted")["fixes"][0]["state"] == "reverted"
    desk.patch(f"fixes/{fix}", state="applied")
    with unit_of_work(db.sessions) as session:
        session.scalars(select(Fix)).one().state = "verified"
    assert desk.refused("PATCH", f"fixes/{fix}", state="applied") == (409, "incident.fix_judged")
    assert desk.refused("PATCH", f"fixes/{UNKNOWN_ID}", state="applied") == (404, "incident.no_fix")


def test_a_verification_is_stored_and_rung_for(db, desk, hosts, monkeypatch):
    rung = []
    monkeypatch.setattr("culprit.infra.task_queue.enqueue_job", lambda name, *ids: rung.append((name, *ids)))
    before = evaluated(db, hosts[0], {"port-search": "matched"})
    desk.post("runs", run_ids=[str(before.run_id)])
    search = desk.hypothesis("search")
    fix = desk.post("fixes", hypothesis_id=search["id"], what="keep alive", host_ids=[str(hosts[0])])[
        "created_id"
    ]
    verify = f"fixes/{fix}/verify"
    desk.patch(f"fixes/{fix}", state="applied")
    desk.patch(f"fixes/{fix}", state="reverted")
    assert desk.refused("POST", verify) == (409, "incident.fix_not_applied")
    desk.patch(f"fixes/{fix}", state="applied")
    assert desk.refused("POST", verify, kind="control") == (422, "incident.control_needs_host")
    assert desk.refused("POST", verify, kind="control", control_host_id=str(hosts[0])) == (
        422, "incident.control_is_other",
    )  # fmt: skip
    result = desk.post(verify, kind="control", control_host_id=str(hosts[1]), minimum_change=0.2)[
        "created_id"
    ]
    [reported] = desk.now["fixes"][0]["verifications"]
    assert (reported["id"], reported["state"], reported["minimum_change"], reported["primary"]) == (
        result,
        "collecting",
        0.2,
        search["primary"],
    )
    assert (reported["before"], reported["after"]) == ([str(before.run_id)], []) and reported[
        "result"
    ] is None
    assert desk.refused("POST", verify) == (409, "incident.verification_runs")
    with db.sessions() as session:
        verification = session.scalars(select(Verification)).one()
    assert ("culprit.advance_verification", verification.id) in rung


def test_verification_of_planned_fix_continues_once_applied(db, desk, hosts, monkeypatch):
    rung = []
    monkeypatch.setattr("culprit.infra.task_queue.enqueue_job", lambda name, *ids: rung.append((name, *ids)))
    search = desk.hypothesis("search")
    fix = desk.post("fixes", hypothesis_id=search["id"], what="keep alive", host_ids=[str(hosts[0])])[
        "created_id"
    ]
    result = desk.post(f"fixes/{fix}/verify")["created_id"]
    [reported] = desk.now["fixes"][0]["verifications"]
    assert (reported["id"], reported["state"], reported["before"], reported["captures_before"]) == (
        result,
        "before",
        [],
        [],
    )
    assert desk.refused("POST", f"fixes/{fix}/verify") == (409, "incident.verification_runs")
    rung.clear()
    desk.patch(f"fixes/{fix}", state="applied")
    assert desk.now["fixes"][0]["verifications"][0]["state"] == "collecting"
    assert [name for name, *_ in rung] == ["culprit.advance_verification"]


def test_a_step_is_taken_where_it_is_proposed(db, as_, hosts):
    desk = opened(as_("oncall"), hosts[0])
    proposed = desk.now["next"]
    assert (
        proposed["collectors"]
        and proposed["cost"]["seconds"] > 0
        and proposed["why"]["key"].startswith("next.")
    )
    assert [command["collector"] for command in proposed["commands"]] == proposed["collectors"]
    result = desk.post("step-runs", step=proposed["step"], host_id=proposed["host_id"])["created_id"]
    [run] = desk.now["runs"]
    assert (run["capture_id"], run["role"], run["step"], run["state"]) == (
        result, "evidence", proposed["step"], "queued",
    )  # fmt: skip
    with db.sessions() as session:
        capture = session.scalars(select(Capture).where(Capture.incident_id.is_not(None))).one()
        assert [collector["id"] for collector in capture.collectors] == proposed["collectors"]
        assert session.scalars(select(IncidentRun)).one().step == proposed["step"]
    following = desk.look()["next"]
    assert following is None or following["step"] != proposed["step"]


def test_a_step_for_a_person_is_not_captured_and_a_tier_stays_a_tier(as_, hosts):
    desk = opened(as_("investigator"), hosts[0])
    desk.post("hypotheses", summary="the deploy")
    assert desk.refused("POST", "step-runs", step="own/1", host_id=str(hosts[0])) == (
        422,
        "incident.step_for_a_person",
    )
    assert desk.refused("POST", "step-runs", step=f"{BOOK}/cpu-busy", host_id=UNKNOWN_ID) == (
        422,
        "incident.no_host",
    )
    desk.client = as_("viewer")
    assert desk.refused("POST", "step-runs", step=f"{BOOK}/cpu-busy", host_id=str(hosts[0]))[0] == 403
