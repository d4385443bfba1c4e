"""Fixes, and asking whether they helped; steps that are taken."""

from __future__ import annotations

from datetime import timedelta

import pytest
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, Fix, IncidentRun, Verification
from culprit.tests.support import runs
from culprit.tests.support.incidents import BOOK, evaluated, opened
from sqlalchemy import select

NOBODY = "00000000-0000-0000-0000-000000000000"


@pytest.fixture
def hosts(db):
    return [runs.make_host(db, f"web{n}", {"role": "feed"}) for n in (1, 2)]


@pytest.fixture
def desk(as_, hosts):
    return opened(as_("oncall"), *hosts)


def test_a_fix_is_written_down_with_its_way_back(desk, hosts):
    assert desk.refused("POST", "fixes", what=" ") == (422, "incident.fix_needs_what")
    assert desk.refused("POST", "fixes", what="x", command="sysctl -w a=1") == (
        422,
        "incident.fix_needs_way_back",
    )
    assert desk.refused("POST", "fixes", what="x", card=f"{BOOK}/nothing") == (422, "incident.no_card")
    assert desk.refused("POST", "fixes", what="x", host_ids=[NOBODY]) == (422, "incident.no_host")
    assert desk.refused("POST", "fixes", what="x", hypothesis_id=NOBODY) == (422, "incident.no_hypothesis")
    now = desk.post("fixes", card=f"{BOOK}/widen-port-range", host_ids=[str(hosts[0])])
    [fix] = now["fixes"]
    assert fix["id"] == now["made"] and fix["command"] and fix["risk"] and fix["way_back"]
    assert (fix["hosts"], fix["state"], fix["by"]["name"]) == ([str(hosts[0])], "planned", "oncall")


def test_a_fix_is_applied_told_better_and_taken_back(db, desk):
    fix = desk.post("fixes", what="more workers")["made"]
    assert desk.refused("PATCH", f"fixes/{fix}", state="reverted") == (409, "incident.fix_not_applied")
    late = (now() + timedelta(days=1)).isoformat()
    assert desk.refused("PATCH", f"fixes/{fix}", state="applied", applied_at=late) == (
        422,
        "incident.fix_in_future",
    )
    early = (now() - timedelta(hours=1)).isoformat()
    told = desk.patch(f"fixes/{fix}", state="applied", applied_at=early, what="8 workers")["fixes"][0]
    assert (told["state"], told["what"]) == ("applied", "8 workers") and told["applied_at"]
    assert desk.patch(f"fixes/{fix}", state="reverted")["fixes"][0]["state"] == "reverted"
    desk.patch(f"fixes/{fix}", state="applied")
    with unit_of_work(db.sessions) as session:
        session.scalars(select(Fix)).one().state = "verified"
    assert desk.refused("PATCH", f"fixes/{fix}", state="applied") == (409, "incident.fix_judged")
    assert desk.refused("PATCH", f"fixes/{NOBODY}", state="applied") == (404, "incident.no_fix")


def test_a_verification_is_stored_and_rung_for(db, desk, hosts, monkeypatch):
    rung = []
    monkeypatch.setattr("culprit.infra.broker.send", lambda name, *ids: rung.append((name, *ids)))
    before = evaluated(db, hosts[0], {"port-search": "fired"})
    desk.post("runs", run_ids=[str(before.run_id)])
    search = desk.hypothesis("search")
    fix = desk.post("fixes", hypothesis_id=search["id"], what="keep alive", host_ids=[str(hosts[0])])["made"]
    verify = f"fixes/{fix}/verify"
    desk.patch(f"fixes/{fix}", state="applied")
    desk.patch(f"fixes/{fix}", state="reverted")
    assert desk.refused("POST", verify) == (409, "incident.fix_not_applied")
    desk.patch(f"fixes/{fix}", state="applied")
    assert desk.refused("POST", verify, kind="control") == (422, "incident.control_needs_host")
    assert desk.refused("POST", verify, kind="control", control_host_id=str(hosts[0])) == (
        422, "incident.control_is_other",
    )  # fmt: skip
    made = desk.post(verify, kind="control", control_host_id=str(hosts[1]), bar=0.2)["made"]
    [told] = desk.now["fixes"][0]["verifications"]
    assert (told["id"], told["state"], told["bar"], told["primary"]) == (
        made,
        "collecting",
        0.2,
        search["primary"],
    )
    assert (told["before"], told["after"]) == ([str(before.run_id)], []) and told["result"] is None
    assert desk.refused("POST", verify) == (409, "incident.verification_runs")
    with db.sessions() as session:
        one = session.scalars(select(Verification)).one()
    assert ("culprit.advance_verification", one.id) in rung


def test_what_is_asked_while_a_fix_is_planned_goes_on_once_it_is_applied(db, desk, hosts, monkeypatch):
    rung = []
    monkeypatch.setattr("culprit.infra.broker.send", lambda name, *ids: rung.append((name, *ids)))
    search = desk.hypothesis("search")
    fix = desk.post("fixes", hypothesis_id=search["id"], what="keep alive", host_ids=[str(hosts[0])])["made"]
    made = desk.post(f"fixes/{fix}/verify")["made"]
    [told] = desk.now["fixes"][0]["verifications"]
    assert (told["id"], told["state"], told["before"], told["made_before"]) == (made, "before", [], [])
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
    assert [one["collector"] for one in proposed["commands"]] == proposed["collectors"]
    made = desk.post("step", step=proposed["step"], host_id=proposed["host_id"])["made"]
    [run] = desk.now["runs"]
    assert (run["capture_id"], run["role"], run["step"], run["state"]) == (
        made, "evidence", proposed["step"], "queued",
    )  # fmt: skip
    with db.sessions() as session:
        capture = session.scalars(select(Capture).where(Capture.incident_id.is_not(None))).one()
        assert [one["id"] for one in capture.collectors] == proposed["collectors"]
        assert session.scalars(select(IncidentRun)).one().step == proposed["step"]
    following = desk.look()["next"]
    assert following is None or following["step"] != proposed["step"]


def test_a_step_for_a_person_is_not_captured_and_a_tier_stays_a_tier(as_, hosts):
    desk = opened(as_("investigator"), hosts[0])
    desk.post("hypotheses", says="the deploy")
    assert desk.refused("POST", "step", step="own/1", host_id=str(hosts[0])) == (
        422,
        "incident.step_for_a_person",
    )
    assert desk.refused("POST", "step", step=f"{BOOK}/cpu-busy", host_id=NOBODY) == (422, "incident.no_host")
    desk.client = as_("viewer")
    assert desk.refused("POST", "step", step=f"{BOOK}/cpu-busy", host_id=str(hosts[0]))[0] == 403
