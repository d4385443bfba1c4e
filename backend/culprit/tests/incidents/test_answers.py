"""A diagnosis that an incident starts, its answer in the incident, and the cause that a user accepts."""

from __future__ import annotations

from typing import Any
from uuid import UUID

import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.incidents.incident import Incident
from culprit.jobs.incidents.advance_autopilot import advance_incident
from culprit.jobs.incidents.record_diagnosis import record_diagnosis
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, Desk, Evaluated, evaluated, opened
from sqlalchemy import update

#: A cause without a playbook, and the first cause of BOOK.
ALONE, IN_BOOK = "disk-full", "timewait-port-search"


@pytest.fixture
def host(db):
    return runs.make_host(db)


def started(desk: Desk, host: object) -> UUID:
    """Start a diagnosis for the incident; it names nothing yet."""
    answer = desk.client.post(f"{desk.url}/diagnoses", json={"host_id": str(host)})
    assert answer.status_code == 201, answer.text
    desk.now = answer.json()
    return UUID(desk.now["created_id"])


def ended(db, diagnosis_id: UUID, run: Evaluated, *causes: dict[str, Any], state: str = "done") -> None:
    with unit_of_work(db.sessions) as session:
        diagnosis = session.get_one(Diagnosis, diagnosis_id)
        diagnosis.state, diagnosis.ended_at = state, utc_now()
        diagnosis.stages = [{"capture_id": str(run.capture_id)}]
        diagnosis.result = {"causes": list(causes)} if state == "done" else None


def named(cause: str, run: Evaluated, *lines: int) -> dict[str, Any]:
    """A cause with one number that was read in lines of the artifact of a run."""
    place = {"run": str(run.run_id), "collector": "ss", "part": "stdout", "lines": list(lines)}
    return {"id": cause, "evidence": [{"artifact": str(run.artifact_id), "locator": place}]}


def kinds(desk: Desk) -> list[str]:
    return [entry["kind"] for entry in desk.client.get(f"{desk.url}/journal").json()]


def test_an_incident_starts_a_diagnosis_of_its_host_within_its_scope(as_, db, host):
    scope = {"kind": "unit", "value": "nginx.service"}
    desk = opened(as_("investigator"), hosts=[{"host_id": str(host), "scope": scope}], playbooks=[])
    diagnosis_id = started(desk, host)
    [listed] = desk.now["diagnoses"]
    assert (listed["id"], listed["state"]) == (str(diagnosis_id), "running")
    stored = as_("viewer").get(f"{API}/diagnoses/{diagnosis_id}").json()
    assert stored["scope"] == scope and desk.now["title"] in stored["reason"]
    assert kinds(desk)[-1] == "diagnosis_started"
    with db.sessions() as session:
        assert ("culprit.advance_diagnosis", diagnosis_id) in list_pending_jobs(session)
        assert ("culprit.record_diagnosis", diagnosis_id) not in list_pending_jobs(session)


def test_a_start_does_not_conflict_with_what_another_user_writes(as_, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    other = Desk(as_("oncall"), desk.now)
    started(desk, host)
    other.post("notes", note="seen after a release")


def test_a_diagnosis_is_refused_for_other_hosts_users_and_resolved_incidents(as_, db, host):
    desk = opened(as_("oncall"), host, playbooks=[])
    stranger = runs.make_host(db, "other")
    url, body = f"{desk.url}/diagnoses", {"host_id": str(host)}
    refused = as_("oncall").post(url, json={"host_id": str(stranger)})
    assert (refused.status_code, refused.json()["key"]) == (422, "incident.no_host")
    assert as_("viewer").post(url, json=body).status_code == 403
    assert as_("scoped").post(url, json=body).status_code in {403, 404}
    with unit_of_work(db.sessions) as session:
        session.execute(update(Incident).values(state="resolved"))
    refused = as_("oncall").post(url, json=body)
    assert (refused.status_code, refused.json()["key"]) == (409, "incident.diagnosis_resolved")


def test_the_answer_becomes_hypotheses_once(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    diagnosis_id = started(desk, host)
    assert not record_diagnosis(diagnosis_id), "it runs"
    run = evaluated(db, host, {"port-search": "matched"})
    ended(db, diagnosis_id, run, named(IN_BOOK, run, 1), named(ALONE, run, 2))
    with db.sessions() as session:
        assert ("culprit.record_diagnosis", diagnosis_id) in list_pending_jobs(session)
    assert record_diagnosis(diagnosis_id) and not record_diagnosis(diagnosis_id)
    desk.look()
    assert {IN_BOOK, ALONE} <= {item["cause"] for item in desk.now["hypotheses"]}
    assert BOOK in [item["id"] for item in desk.now["playbooks"]]
    assert [item["run_id"] for item in desk.now["runs"]] == [str(run.run_id)]
    assert kinds(desk).count("diagnosis_completed") == 1


def test_a_failed_diagnosis_is_entered_in_the_journal(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    diagnosis_id = started(desk, host)
    ended(db, diagnosis_id, evaluated(db, host, {}), state="failed")
    assert record_diagnosis(diagnosis_id)
    assert kinds(desk)[-1] == "diagnosis_failed"


def test_a_confirmed_cause_without_playbook_is_pinned_and_likely(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    diagnosis_id = started(desk, host)
    run = evaluated(db, host, {})
    ended(db, diagnosis_id, run, named(ALONE, run, 2, 3))
    record_diagnosis(diagnosis_id)
    desk.look()
    body = {"diagnosis_id": str(diagnosis_id), "cause": ALONE}
    assert desk.refused("POST", "cause-confirmations", **body | {"cause": IN_BOOK}) == (
        422,
        "incident.no_cause",
    )
    desk.post("cause-confirmations", **body)
    [hypothesis] = [item for item in desk.now["hypotheses"] if item["cause"] == ALONE]
    assert (hypothesis["state"], hypothesis["status"]) == ("likely", "supported")
    [pin] = desk.now["pins"]
    assert [line["number"] for line in pin["snapshot"]["lines"]] == [2, 3]
    assert pin["view"] == f"/artifacts/{run.artifact_id}?line=2&lines=2,3"
    assert [item["cause"] for item in desk.now["causes"]] == [ALONE]


def test_a_confirmed_cause_of_a_playbook_needs_a_step_that_supports_it(as_, db, host):
    for states, expected in (({"port-search": "matched"}, None), ({}, (409, "incident.likely_needs_step"))):
        desk = opened(as_("investigator"), host, playbooks=[])
        diagnosis_id = started(desk, host)
        run = evaluated(db, host, states)
        ended(db, diagnosis_id, run, named(IN_BOOK, run, 1))
        record_diagnosis(diagnosis_id)
        desk.look()
        body = {"diagnosis_id": str(diagnosis_id), "cause": IN_BOOK}
        if expected is None:
            desk.post("cause-confirmations", **body)
            assert desk.now["pins"] == [] and IN_BOOK in {item["cause"] for item in desk.now["causes"]}
        else:
            assert desk.refused("POST", "cause-confirmations", **body) == expected


def test_a_cause_without_cited_lines_is_not_confirmed(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    diagnosis_id = started(desk, host)
    run = evaluated(db, host, {})
    ended(db, diagnosis_id, run, named(ALONE, run))
    record_diagnosis(diagnosis_id)
    desk.look()
    body = {"diagnosis_id": str(diagnosis_id), "cause": ALONE}
    assert desk.refused("POST", "cause-confirmations", **body) == (422, "incident.verdict_needs_pin")
    assert desk.look()["pins"] == []


def test_a_diagnosis_of_another_incident_confirms_nothing(as_, db, host):
    first, second = (opened(as_("investigator"), host, playbooks=[]) for _ in range(2))
    diagnosis_id = started(first, host)
    run = evaluated(db, host, {})
    ended(db, diagnosis_id, run, named(ALONE, run, 1))
    body = {"diagnosis_id": str(diagnosis_id), "cause": ALONE}
    assert second.refused("POST", "cause-confirmations", **body) == (404, "diagnosis.not_found")


def test_an_incident_from_a_running_diagnosis_gets_its_answer_later(as_, db, host):
    client = as_("investigator")
    diagnosis_id = client.post(f"{API}/diagnoses", json={"host_id": str(host)}).json()["id"]
    desk = Desk(
        client, client.post(f"{API}/incidents", json={"title": "t", "diagnosis_id": diagnosis_id}).json()
    )
    assert [item["id"] for item in desk.now["diagnoses"]] == [diagnosis_id]
    run = evaluated(db, host, {})
    ended(db, UUID(diagnosis_id), run, named(ALONE, run, 1))
    assert record_diagnosis(UUID(diagnosis_id))
    assert ALONE in {item["cause"] for item in desk.look()["hypotheses"]}


def test_times_are_those_of_the_last_way_to_the_current_state(as_, db, host):
    desk = opened(as_("oncall"), host, playbooks=[])
    assert [item["state"] for item in desk.now["times"]] == ["open"]
    assert desk.now["times"][0]["at"] == desk.now["created_at"]
    desk.patch(state="investigating")
    first = desk.now["times"]
    assert [item["state"] for item in first] == ["open", "investigating"]
    desk.patch(state="open", reason="wrong host")
    assert [item["state"] for item in desk.now["times"]] == ["open"]
    desk.patch(state="investigating")
    assert desk.now["times"][1]["at"] > first[1]["at"]


def test_the_autopilot_diagnoses_an_incident_without_hypotheses_first(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    desk.post("autopilot", tier="standard")
    incident_id = UUID(desk.now["id"])
    assert [advance_incident(incident_id) for _ in range(2)] == ["running", "running"]
    [listed] = desk.look()["diagnoses"]
    diagnosis_id = UUID(listed["id"])
    assert as_("viewer").get(f"{API}/diagnoses/{diagnosis_id}").json()["max_tier"] == "standard"
    run = evaluated(db, host, {"port-search": "matched"})
    ended(db, diagnosis_id, run, named(IN_BOOK, run, 1))
    assert advance_incident(incident_id) == "running", "the answer is not in the incident yet"
    assert desk.look()["autopilot"]["capture_id"] is None
    assert record_diagnosis(diagnosis_id)
    advance_incident(incident_id)
    assert len(desk.look()["diagnoses"]) == 1
    assert desk.now["autopilot"]["capture_id"] or desk.now["autopilot"]["reason"]


def test_the_autopilot_ends_where_the_diagnosis_names_nothing(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    desk.post("autopilot", tier="light")
    incident_id = UUID(desk.now["id"])
    advance_incident(incident_id)
    diagnosis_id = UUID(desk.look()["diagnoses"][0]["id"])
    ended(db, diagnosis_id, evaluated(db, host, {}))
    record_diagnosis(diagnosis_id)
    assert advance_incident(incident_id) == "stopped"
    assert desk.look()["autopilot"]["reason"]["key"] == "autopilot.nothing_left"
