"""Incidents over HTTP: from open to resolved, and everything that is refused on the way."""

from __future__ import annotations

from uuid import UUID

import pytest
from culprit.incidents.records import playbook_versions
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.analysis.cause_outcome import CauseOutcome
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.incidents.incident_playbook import IncidentPlaybook
from culprit.tests.support import runs
from culprit.tests.support.incidents import API, BOOK, evaluated, opened, verified
from sqlalchemy import event, select

from collectors.plans import PLANS

SEARCH = f"{BOOK}/search"


@pytest.fixture
def host(db):
    return runs.make_host(db, "web1", {"role": "feed"})


def test_incident_can_be_opened_read_and_listed(as_, host):
    desk = opened(
        as_("investigator"),
        host,
        symptom={
            "service": "feed",
            "description": "slow",
            "latency": {"before": 0.5, "after": 2.3, "unit": "s"},
        },
        severity=2,
    )
    now = desk.look()
    assert (now["state"], now["severity"], now["version"], now["number"]) == ("open", 2, 1, 1)
    assert (
        now["symptom"]["latency"] == {"before": 0.5, "after": 2.3, "unit": "s"}
        and now["symptom"]["rate"] is None
    )
    assert [host["name"] for host in now["hosts"]] == ["web1"] and now["hosts"][0]["can_capture"]
    assert now["window"]["to"] is None and now["people"][0]["name"] == "investigator"
    assert [hypothesis["key"] for hypothesis in now["hypotheses"]] == [
        f"{BOOK}/{n}" for n in ("exhausted", "search", "peer")
    ]
    assert now["playbooks"][0]["current"] and len(now["playbooks"][0]["digest"]) == 64
    assert desk.step("time-wait")["hosts"][0]["verdict"] == "not_collected"
    assert now["gaps"] and now["next"]["host_id"] == str(host) and now["next"]["commands"]
    assert now["permissions"] == {
        "edit": True, "comment": True, "resolve": False, "capture": True, "tiers": ["light", "standard"], "mute": False,
        "autopilot": True, "bundle": True,
    }  # fmt: skip
    [listed] = as_("viewer").get(f"{API}/incidents", params={"state": ["open"]}).json()["items"]
    assert (listed["title"], listed["hosts"], listed["causes"]) == ("feed is slow", ["web1"], [])
    assert as_("viewer").get(f"{API}/incidents", params={"state": "resolved"}).json()["items"] == []
    seen = as_("viewer").get(desk.url).json()
    assert (not seen["permissions"]["edit"] and seen["next"] is None) or not seen["next"]["collectors"]


def test_an_incident_has_an_owner_who_can_hand_it_over(as_, host):
    desk = opened(as_("investigator"), host)
    assert desk.look()["owner"] is None
    first = as_("investigator").get(f"{API}/me").json()
    oncall = as_("oncall").get(f"{API}/me").json()
    now = desk.patch(owner_id=first["id"])
    assert now["owner"] == {"id": first["id"], "name": "investigator"}
    assert desk.patch(owner_id=oncall["id"])["owner"]["name"] == "oncall"
    [listed] = as_("viewer").get(f"{API}/incidents").json()["items"]
    assert listed["owner"]["name"] == "oncall"
    kinds = [(item["kind"], item["params"]) for item in desk.client.get(f"{desk.url}/journal").json()]
    assert ("owner_set", {"owner": "oncall"}) in kinds
    assert desk.patch(owner_id=None)["owner"] is None


def test_the_owner_must_be_able_to_edit(as_, host):
    desk = opened(as_("investigator"), host)
    viewer = as_("viewer").get(f"{API}/me").json()
    for owner in (viewer["id"], str(UUID(int=7))):
        body = {"version": desk.look()["version"], "owner_id": owner}
        answer = desk.client.patch(desk.url, json=body)
        assert (answer.status_code, answer.json()["key"]) == (422, "incident.owner_unknown")


def test_who_first_moves_an_incident_on_owns_it(as_, host):
    desk = opened(as_("investigator"), host)
    assert desk.patch(state="investigating")["owner"]["name"] == "investigator"
    desk.client = as_("oncall")
    assert desk.patch(state="open", reason="a false alarm")["owner"]["name"] == "investigator"


def test_change_to_older_version_names_last_change(as_, host):
    desk = opened(as_("investigator"), host)
    desk.client = as_("oncall")
    desk.post("notes", note="looking")
    answer = as_("investigator").post(f"{desk.url}/notes", json={"version": 1, "note": "me too"})
    assert (answer.status_code, answer.json()["key"]) == (409, "incident.changed")
    assert answer.json()["params"] == {"version": 2, "who": "oncall", "what": "note_added"}
    assert (
        as_("investigator").post(f"{desk.url}/notes", json={"version": 2, "note": "me too"}).status_code
        == 201
    )


def test_a_post_sent_twice_is_done_once(as_, host):
    desk = opened(as_("investigator"), host)
    body = {"version": 1, "note": "once"}
    first, second = (
        desk.client.post(f"{desk.url}/notes", json=body, headers={"Idempotency-Key": "k1"}) for _ in range(2)
    )
    assert first.json()["version"] == second.json()["version"] == 2


def test_who_sees_no_host_of_it_sees_nothing_of_it(as_, db, host):
    other = runs.make_host(db, "ads1", {"role": "ads"})
    hidden, both = opened(as_("admin"), other), opened(as_("admin"), other, host)
    run = evaluated(db, other, {"time-wait": "matched"})
    both.post("runs", run_ids=[str(run.run_id)])
    both.pin(run)
    scoped = as_("scoped")
    assert scoped.get(hidden.url).status_code == 404
    assert scoped.get(f"{hidden.url}/journal").status_code == 404
    seen = scoped.get(both.url).json()
    assert [host["name"] for host in seen["hosts"]] == ["web1"] and seen["runs"] == [] and seen["pins"] == []
    assert str(other) not in str(seen) and [
        item["id"] for item in scoped.get(f"{API}/incidents").json()["items"]
    ] == [seen["id"]]
    assert str(other) not in scoped.get(f"{both.url}/journal").text


def test_the_version_of_a_playbook_is_kept(as_, db, host):
    desk = opened(as_("investigator"), host)
    with unit_of_work(db.sessions) as session:
        incident_playbook = session.scalars(select(IncidentPlaybook)).one()
        older = {**incident_playbook.content, "steps": incident_playbook.content["steps"][:1]}
        older["steps"] = [{**older["steps"][0], "branches": {"otherwise": "end"}}]
        older["hypotheses"] = []
        incident_playbook.content, incident_playbook.digest = older, playbook_versions.compute_digest(older)
    now = desk.look()
    assert [step["step"] for step in now["steps"]] == ["cpu-busy"] and not now["playbooks"][0]["current"]
    now = desk.post("playbooks", playbooks=[BOOK])
    assert len(now["steps"]) > 1 and now["playbooks"][0]["current"]


def test_from_open_to_resolved(as_, db, host):
    desk = opened(as_("oncall"), host)
    run = evaluated(
        db,
        host,
        {
            "cpu-busy": "matched",
            "time-wait": "matched",
            "ports-left": "not_matched",
            "port-search": "matched",
        },
    )
    desk.post("runs", run_ids=[str(run.run_id)])
    assert desk.answer("port-search")["verdict"] == "supports" and desk.answer("port-search")["by"] == "rule"
    assert (desk.hypothesis("search")["status"], desk.hypothesis("search")["strength"]) == (
        "supported",
        "mechanism",
    )
    assert desk.hypothesis("exhausted")["status"] == "refuted"
    assert desk.now["gaps"] == [f"{BOOK}/connect-slow"]

    assert desk.refused("PATCH", "", state="resolved") == (409, "incident.one_state_at_a_time")
    desk.patch(state="investigating")
    assert desk.refused("PATCH", "", state="identified") == (409, "incident.identified_needs_hypothesis")
    search, peer = desk.hypothesis("search")["id"], desk.hypothesis("peer")["id"]
    assert desk.refused("PATCH", f"hypotheses/{peer}", state="likely") == (409, "incident.likely_needs_step")
    assert desk.refused("PATCH", f"hypotheses/{search}", state="refuted") == (
        409,
        "incident.refuted_needs_step",
    )
    assert desk.refused("PATCH", f"hypotheses/{search}", state="confirmed") == (
        409, "incident.confirm_needs_comparison",
    )  # fmt: skip
    desk.patch(f"hypotheses/{search}", state="likely")
    assert desk.now["causes"] == [
        {"hypothesis": SEARCH, "cause": "timewait-port-search", "confidence": "likely"}
    ]
    desk.patch(state="identified")
    assert desk.refused("PATCH", "", state="mitigated") == (409, "incident.mitigated_needs_fix")
    result = desk.post("fixes", hypothesis_id=search, remediation=f"{BOOK}/keep-connections")["created_id"]
    assert desk.now["fixes"][0]["state"] == "planned" and desk.now["fixes"][0]["what"]
    desk.patch(f"fixes/{result}", state="applied")
    desk.patch(state="mitigated")
    verified(db, desk, search)
    assert desk.look()["needs_symptom_check"]
    desk.patch(f"hypotheses/{search}", state="confirmed")
    status, key = desk.refused("PATCH", "", state="resolved")
    assert (status, key) == (409, "incident.steps_open")
    assert desk.refused("POST", "waivers", steps=[f"{BOOK}/connect-slow"], reason=" x ") == (
        422, "incident.waiver_needs_reason",
    )  # fmt: skip
    desk.post("waivers", steps=[f"{BOOK}/connect-slow"], reason="perf trace is not there")
    assert desk.now["gaps"] == [] and desk.step("connect-slow")["waived"]["by"]["name"] == "oncall"
    desk.patch(state="resolved")
    assert desk.now["resolved_at"] and not desk.now["needs_symptom_check"]

    outcomes = {item["cause"]: item for item in as_("viewer").get(f"{API}/causes/outcomes").json()}
    assert outcomes["timewait-port-search"]["right"] == 1
    causes = {item["id"]: item for item in as_("viewer").get(f"{API}/causes").json()}
    assert (causes["timewait-port-search"]["right"], causes["slow-dependency"]["right"]) == (1, 0)
    assert desk.refused("PATCH", "", state="investigating", reason="") == (
        409,
        "incident.reopen_needs_reason",
    )
    desk.patch(state="investigating", reason="it is back")
    assert as_("viewer").get(f"{API}/causes/outcomes").json() == []
    kinds = [item["kind"] for item in as_("viewer").get(f"{desk.url}/journal").json()]
    assert (
        kinds[0] == "incident_created"
        and kinds[-1] == "state_changed"
        and {"runs_added", "hypothesis_decided", "fix_recorded", "step_waived"} <= {*kinds}
    )
    after = as_("viewer").get(f"{desk.url}/journal", params={"after": desk.now["version"] - 1}).json()
    assert [item["params"] for item in after] == [{"previous": "resolved", "to": "investigating"}]
    with db.sessions() as session:
        acts = set(session.scalars(select(AuditEntry.action)))
    assert {"incident.create", "incident.state", "incident.decide", "incident.fix", "incident.waive"} <= acts


def test_an_investigator_does_not_resolve(as_, db, host):
    desk = opened(as_("investigator"), host)
    desk.patch(state="investigating")
    with unit_of_work(db.sessions) as session:
        session.execute(IncidentPlaybook.__table__.delete())
    assert desk.look()["gaps"] == []
    desk.client = as_("oncall")
    for item in ("identified", "mitigated"):
        assert desk.refused("PATCH", "", state=item)[0] == 409
    desk.client = as_("investigator")
    assert desk.refused("PATCH", "", state="resolved")[0] == 403


def test_a_cause_that_was_not_it(as_, db, host):
    desk = opened(as_("oncall"), host)
    pin = desk.pin(evaluated(db, host, {"time-wait": "matched"}))
    assert desk.refused("POST", "cause-rejections", cause="no-such") == (422, "incident.no_cause")
    assert desk.refused("POST", "cause-rejections", cause="slow-dependency", true_cause="slow-dependency") == (
        409, "incident.same_cause",
    )  # fmt: skip
    instead = {"cause": "slow-dependency", "true_cause": "timewait-port-search"}
    assert desk.refused("POST", "cause-rejections", **instead) == (422, "incident.correction_needs_pin")
    for _ in range(2):
        desk.post(
            "cause-rejections",
            cause="slow-dependency",
            true_cause="timewait-port-search",
            pins=[pin],
            note="seen",
        )
    [reported] = as_("viewer").get(f"{API}/causes/outcomes").json()
    assert reported == {
        "cause": "slow-dependency",
        "right": 0,
        "wrong": 1,
        "instead": {"timewait-port-search": 1},
    }
    with db.sessions() as session:
        assert session.scalars(select(CauseOutcome)).one().pins == [pin]
    [message] = desk.look()["rejected_causes"]
    assert (message["cause"], message["true_cause"], message["pins"]) == (*instead.values(), [pin])
    assert (message["note"], message["by"]["name"]) == ("seen", "oncall")
    assert desk.client.get(f"{desk.url}/journal").json()[-1]["kind"] == "cause_corrected"


def test_after_a_fix_a_step_is_taken_with_all_that_a_triage_collects(as_, db, host):
    desk = opened(as_("investigator"), host)

    def collected(**more):
        result = desk.post("step-runs", step=f"{BOOK}/time-wait", host_id=str(host), **more)["created_id"]
        with unit_of_work(db.sessions) as session:
            return {collector["id"] for collector in session.get_one(Capture, UUID(result)).collectors}

    alone, again = collected(), collected(full_triage=True)
    assert alone < again and {collector.id for collector in PLANS["triage"].collectors} <= again


def test_own_hypothesis_adds_step(as_, db, host):
    desk = opened(as_("investigator"), host, playbooks=[])
    assert desk.now["steps"] == [] and desk.now["next"] is None
    assert desk.refused("POST", "hypotheses", summary="x", cause="no-such") == (422, "incident.no_cause")
    assert desk.refused("POST", "hypotheses", summary="x", primary={"read": "no", "better": "lower"}) == (
        422, "playbook.no_number",
    )  # fmt: skip
    desk.post(
        "hypotheses", summary="the deploy at two", primary={"read": "tcp.port_use_pct", "better": "lower"}
    )
    desk.post("hypotheses", summary="the full disk")
    assert [step["key"] for step in desk.now["steps"]] == desk.now["gaps"] == ["own/1", "own/2"]
    assert desk.now["next"]["step"] == "own/1" and desk.now["next"]["collectors"] == []
    pin = desk.pin(evaluated(db, host, {}))
    desk.post("verdicts", step="own/1", verdict="supports", pins=[pin])
    assert desk.hypothesis("1", "own")["status"] == "supported"


@pytest.mark.parametrize(
    ("body", "key"),
    [
        ({"playbooks": ["nothing"]}, "playbook.not_found"),
        ({"hosts": [{"host_id": "00000000-0000-0000-0000-000000000000"}]}, "host.not_found"),
        ({"run_ids": ["00000000-0000-0000-0000-000000000000"]}, "run.not_found"),
        ({"window_from": "2024-01-02T00:00:00Z", "window_to": "2024-01-01T00:00:00Z"}, "request.invalid"),
        ({"title": " "}, "request.invalid"),
    ],
)
def test_what_does_not_exist_opens_nothing(as_, body, key):
    answer = as_("investigator").post(f"{API}/incidents", json={"title": "t", **body})
    assert answer.status_code in {404, 422} and answer.json()["key"] == key
    assert as_("viewer").get(f"{API}/incidents").json()["items"] == []


def test_the_same_questions_whatever_its_size(as_, db, config):
    """20 hosts with 10 captures each take as many queries as one of each."""

    def queries(desk) -> int:
        engine = desk.client.app.state.database.engine
        count = 0

        def count_statement(*_: object) -> None:
            nonlocal count
            count += 1

        event.listen(engine, "before_cursor_execute", count_statement)
        try:
            desk.look()
        finally:
            event.remove(engine, "before_cursor_execute", count_statement)
        return count

    counts = []
    for hosts, captures in ((1, 1), (20, 10)):
        new_hosts = [runs.make_host(db, f"h{hosts}-{n}") for n in range(hosts)]
        desk = opened(as_("oncall"), *new_hosts)
        states = {
            "cpu-busy": "matched",
            "time-wait": "not_matched",
            "ports-left": "not_matched",
            "port-search": "not_evaluated",
        }
        for host in new_hosts:
            ids = [str(evaluated(db, host, states).run_id) for _ in range(captures)]
            desk.post("runs", run_ids=ids)
        counts.append(queries(desk))
        assert len(desk.now["runs"]) == hosts * captures and len(desk.step("cpu-busy")["hosts"]) == hosts
    assert counts[0] == counts[1] <= 25


def test_next_step_includes_service_collectors(as_, db, host):
    with unit_of_work(db.sessions) as session:
        session.add(
            Service(
                name="feed",
                selector={"role": "feed"},
                source_kind="accepts",
                source={"port": 8080},
            )
        )
    desk = opened(as_("oncall"), host)
    step = desk.now["next"]
    assert step["collectors"][-1] == "accepts"
    [reported] = [command for command in step["commands"] if command["why"]]
    assert (reported["collector"], reported["why"]["params"]["service"]) == ("accepts", "feed")
    desk.post("step-runs", step=step["step"], host_id=str(host))
    with db.sessions() as session:
        [capture] = session.scalars(select(Capture))
    assert [collector["id"] for collector in capture.collectors] == step["collectors"]
    assert capture.collectors[-1]["options"] == {"port": "8080"}
