"""Who may have what waiting on which host, and how it ends."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    AuditEntry,
    Capture,
    Event,
    Incident,
    IncidentHost,
    IncidentRun,
    Run,
    RunCollector,
    Standby,
    UserAccount,
)
from culprit.standbys import leases
from culprit.tests.support.runs import make_host
from culprit.workflows import keep_watch
from culprit.workflows.fire_armed import fire, settled
from culprit.workflows.orders import Refused, capture_order
from culprit.workflows.sweep import expire_standbys
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update

from collectors.standby import Condition, Ring

API = "/api/v1/standbys"
START = {"kind": "process_start", "key": "java"}
LOAD = {"kind": "load1", "limit": 20, "hits": 3, "of": 5}


def arm(client: TestClient, host_id, status: int = 201, **body) -> dict:
    given = {"kind": "armed", "host_id": str(host_id), "conditions": [START], **body}
    answer = client.post(API, json=given)
    assert answer.status_code == status, answer.text
    return answer.json()


def ring(client: TestClient, host_id, status: int = 201, **body) -> dict:
    answer = client.post(API, json={"kind": "ring", "host_id": str(host_id), **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def watched(db: Database, standby: dict, **values):
    """As a worker has it: claimed and watching."""
    with unit_of_work(db.sessions) as session:
        claim = leases.claim(session, standby["id"], "worker")
        assert claim is not None
        assert leases.renew(session, claim, started_at=now(), **values)
    return claim


def row(db: Database, standby: dict) -> Standby:
    with db.sessions() as session:
        return session.get_one(Standby, standby["id"])


def captures_of(db: Database, standby: dict) -> list[Capture]:
    with db.sessions() as session:
        return list(session.scalars(select(Capture).where(Capture.standby_id == standby["id"])))


CONDITION = Condition.from_json(START)


def test_one_of_each_kind_a_host_for_bounded_hours(as_: Callable[[str], TestClient], db: Database) -> None:
    oncall, host_id = as_("oncall"), make_host(db)
    made = arm(oncall, host_id, conditions=[START, LOAD], hours=2, fires_max=3)
    assert (made["state"], made["kind"], made["fires_max"]) == ("waiting", "armed", 3)
    assert [one["starts"] for one in made["conditions"]] == [True, False]
    assert made["wanted"] == {
        "plan": "triage", "seconds": None, "tier": "light", "scope": {"kind": "host", "value": ""},
    }  # fmt: skip
    assert arm(oncall, host_id, 409)["key"] == "standby.armed_there"
    kept = ring(oncall, host_id, seconds=300)
    assert (kept["ring_s"], kept["wanted"], kept["kept_s"]) == (300, None, None)
    assert ring(oncall, host_id, 409)["key"] == "standby.ring_there"
    ring(oncall, host_id, 422, hours=25)
    ring(oncall, host_id, 422, seconds=7200)
    listed = as_("viewer").get(API).json()["items"]
    assert [one["id"] for one in listed] == [kept["id"], made["id"]]
    assert as_("viewer").get(API, params={"kind": "ring"}).json()["items"][0]["id"] == kept["id"]
    assert len(as_("viewer").get(f"{API}/conditions").json()) == 15


def test_what_may_not_wait(as_: Callable[[str], TestClient], db: Database) -> None:
    oncall, host_id = as_("oncall"), make_host(db, labels={"role": "ads"})
    assert arm(as_("investigator"), host_id, 403)["key"] == "auth.role_too_low"
    assert ring(as_("scoped"), host_id, 404)["key"] == "host.not_found"
    assert arm(oncall, host_id, 403, plan="cpu")["key"] == "capture.tier_not_automatic"
    assert arm(oncall, host_id, 422, plan="no-such")["key"] == "capture.plan_unknown"
    bad = {"kind": "unit_start", "key": "a; rm -rf /"}
    assert arm(oncall, host_id, 422, conditions=[bad])["key"] == "standby.condition_invalid"
    arm(oncall, host_id, 422, conditions=[])
    arm(oncall, host_id, 422, conditions=[START] * 5)
    arm(oncall, host_id, 422, conditions=[{**START, "hits": 9, "of": 3}])
    oncall.post("/api/v1/kill-switches", json={"kind": "everywhere"})
    as_("admin").post("/api/v1/kill-switches", json={"kind": "everywhere"})
    assert arm(oncall, host_id, 409)["key"] == "kill_switch.everywhere"


def test_a_capture_starts_and_brings_home_what_was_kept(as_, db: Database, config) -> None:
    host_id = make_host(db)
    made = arm(as_("oncall"), host_id, fires_max=1)
    claim = watched(db, made)
    assert fire(claim, CONDITION, 1.0) is True
    [capture] = captures_of(db, made)
    assert (capture.source, capture.reason) == ("armed", f"armed #{made['number']}: process_start java")
    with db.sessions() as session:
        names = set(session.scalars(select(RunCollector.collector).join(Run)))
        assert {"look_back", "vmstat"} <= names
        event = session.scalars(select(Event).where(Event.host_id == host_id)).one()
        assert (event.kind, event.title["params"]["what"]) == ("armed", "process_start java")
        said = set(session.scalars(select(AuditEntry.action)))
        assert {"standby.create", "standby.fired", "capture.create"} <= said
    assert fire(claim, CONDITION, 1.0) is True
    assert len(captures_of(db, made)) == 1
    assert not settled(claim)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(state="ingesting"))
    assert settled(claim)
    read = as_("viewer").get(f"{API}/{made['id']}").json()
    assert read["fires"] == 1 and read["captures"][0]["number"] == capture.number


def open_incident(client: TestClient, *hosts) -> dict:
    body = {"title": "slow", "hosts": [{"host_id": str(one)} for one in hosts]}
    answer = client.post("/api/v1/incidents", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def journal_of(client: TestClient, incident: dict) -> list[tuple[str, str | None]]:
    found = client.get(f"/api/v1/incidents/{incident['id']}/journal").json()
    return [(one["kind"], (one["by"] or {}).get("name")) for one in found]


def test_what_was_armed_for_an_incident_is_evidence_there(as_, db: Database, config) -> None:
    oncall, host_id, other = as_("oncall"), make_host(db), make_host(db, "other")
    incident = open_incident(oncall, host_id)
    before = incident["version"]
    assert arm(oncall, other, 422, incident_id=incident["id"])["key"] == "incident.no_host"
    assert arm(oncall, other, 404, incident_id=str(other))["key"] == "incident.not_found"
    assert oncall.get(API).json()["items"] == [], "what was refused waits for nothing"
    made = arm(oncall, host_id, incident_id=incident["id"], fires_max=2)
    assert made["incident"] == {"id": incident["id"], "number": incident["number"]}
    assert not fire(watched(db, made), CONDITION, None)
    [capture] = captures_of(db, made)
    with db.sessions() as session:
        [link] = session.scalars(select(IncidentRun).where(IncidentRun.incident_id == incident["id"]))
        assert session.get_one(Run, link.run_id).capture_id == capture.id
        assert (link.role, str(capture.incident_id)) == ("evidence", incident["id"])
    assert journal_of(oncall, incident)[-2:] == [("armed", "oncall"), ("armed_fired", None)]
    note = {"version": before, "note": "still here"}
    answer = oncall.post(f"/api/v1/incidents/{incident['id']}/notes", json=note)
    assert answer.status_code in {200, 201}, "neither takes anybody's words away"


@pytest.mark.parametrize("meanwhile", ["resolved", "without the host"])
def test_an_incident_that_is_over_takes_no_more_evidence(as_, db: Database, config, meanwhile: str) -> None:
    oncall, host_id = as_("oncall"), make_host(db)
    incident = open_incident(oncall, host_id)
    made = arm(oncall, host_id, incident_id=incident["id"])
    with unit_of_work(db.sessions) as session:
        if meanwhile == "resolved":
            session.execute(update(Incident).values(state="resolved"))
        else:
            session.execute(delete(IncidentHost))
    assert fire(watched(db, made), CONDITION, None)
    [capture] = captures_of(db, made)
    assert capture.incident_id is None
    with db.sessions() as session:
        assert session.scalar(select(func.count()).select_from(IncidentRun)) == 0
    if meanwhile == "resolved":
        assert arm(oncall, host_id, 409, incident_id=incident["id"])["key"] in {
            "standby.armed_there", "standby.incident_resolved",
        }  # fmt: skip


def test_between_two_captures_is_a_pause(as_, db: Database, config) -> None:
    made = arm(as_("oncall"), make_host(db), fires_max=3, cooldown_s=600)
    claim = watched(db, made)
    assert fire(claim, CONDITION, None) is False
    assert fire(claim, CONDITION, None) is False
    assert row(db, made).refused["sentence"]["key"] == "standby.cooling"
    with unit_of_work(db.sessions) as session:
        session.execute(update(Standby).values(fired_at=now() - timedelta(seconds=601)))
    fire(claim, CONDITION, None)
    assert len(captures_of(db, made)) == 2 and row(db, made).refused is None


LOST = {
    "role": ({"role": "investigator"}, "auth.role_too_low"),
    "account": ({"disabled_at": func.now()}, "run.requester_gone"),
    "scope": ({"label_scope": {"role": ["other"]}}, "host.not_found"),
}


@pytest.mark.parametrize("what", LOST)
def test_who_lost_the_right_meanwhile_starts_nothing(as_, db: Database, people, config, what: str) -> None:
    """Neither when it fires, nor when a worker begins to watch."""
    values, key = LOST[what]
    made = arm(as_("oncall"), make_host(db))
    claim = watched(db, made)
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.id == people["oncall"].id).values(**values))
    assert fire(claim, CONDITION, None) is False
    assert captures_of(db, made) == []
    assert row(db, made).refused["sentence"]["key"] == key
    with db.sessions() as session, pytest.raises(Refused) as refused:
        keep_watch._order(session, claim)
    assert refused.value.sentence["key"] == key


PULLED = [{"kind": "everywhere"}, {"kind": "label", "label": {"role": "feed"}}, {"kind": "host"}]


@pytest.mark.parametrize("switch", PULLED, ids=lambda one: one["kind"])
@pytest.mark.parametrize("keep_running", [False, True])
def test_a_kill_switch_ends_what_waits_and_lets_nothing_fire(
    as_, db: Database, config, switch: dict, keep_running: bool
) -> None:
    host_id, other = make_host(db, labels={"role": "feed"}), make_host(db, "other", {"role": "ads"})
    oncall = as_("oncall")
    made, kept, apart = arm(oncall, host_id), ring(oncall, host_id), ring(oncall, other)
    claim = watched(db, made)
    body = {**switch, "cancel": not keep_running}
    if switch["kind"] == "host":
        body["host_id"] = str(host_id)
    pulled = as_("admin").post("/api/v1/kill-switches", json=body)
    assert pulled.status_code == 201, pulled.text
    assert fire(claim, CONDITION, None) is False and captures_of(db, made) == []
    assert row(db, made).cancel_requested_at is not None
    ended = row(db, kept)
    assert (ended.state, ended.failure["key"]) == ("cancelled", f"kill_switch.{switch['kind']}")
    assert (row(db, apart).state == "cancelled") is (switch["kind"] == "everywhere")
    with db.sessions() as session, pytest.raises(Refused) as refused:
        keep_watch._order(session, claim)
    assert refused.value.state == "cancelled"


def test_a_switch_that_is_pulled_as_it_fires_refuses_the_capture(as_, db: Database, config) -> None:
    """The switch is asked where the capture is made, whatever became of the standby until then."""
    made = arm(as_("oncall"), make_host(db))
    claim = watched(db, made)
    as_("admin").post("/api/v1/kill-switches", json={"kind": "everywhere"})
    with unit_of_work(db.sessions) as session:
        session.execute(update(Standby).values(cancel_requested_at=None))
    assert fire(claim, CONDITION, None) is False and captures_of(db, made) == []
    assert row(db, made).refused["sentence"]["key"] == "kill_switch.everywhere"


def test_disarming_is_for_its_owner_and_on_call(as_, db: Database) -> None:
    made = arm(as_("oncall"), make_host(db))
    assert as_("investigator").post(f"{API}/{made['id']}/end").status_code == 403
    ended = as_("admin").post(f"{API}/{made['id']}/end").json()
    assert ended["state"] == "cancelled"
    assert as_("admin").post(f"{API}/{made['id']}/end").json() == ended
    assert as_("viewer").get(API).json()["items"] == []
    assert len(as_("viewer").get(API, params={"over": True}).json()["items"]) == 1


def test_two_workers_claim_and_one_has_it(as_, db: Database) -> None:
    made = ring(as_("oncall"), make_host(db))
    with unit_of_work(db.sessions) as one, unit_of_work(db.sessions) as other:
        first = leases.claim(one, made["id"], "a")
        one.commit()
        assert first is not None and leases.claim(other, made["id"], "b") is None


def test_a_lost_worker_s_standby_is_begun_again_and_its_fence_refused(as_, db: Database, config) -> None:
    made = arm(as_("oncall"), make_host(db))
    old = watched(db, made)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Standby).values(lease_until=func.clock_timestamp() - timedelta(seconds=1)))
    with unit_of_work(db.sessions) as session:
        expire_standbys(session)
    again = row(db, made)
    assert (again.state, again.interrupted, again.waiting["key"]) == ("waiting", 1, "standby.worker_lost")
    new = watched(db, made)
    assert fire(old, CONDITION, None) is False and captures_of(db, made) == []
    with unit_of_work(db.sessions) as session:
        assert not leases.renew(session, old) and leases.renew(session, new)


@pytest.mark.parametrize(("state", "ends"), [("waiting", "expired"), ("watching", "expired")])
def test_what_is_over_its_hours_ends_whoever_has_it(as_, db: Database, state: str, ends: str) -> None:
    made = ring(as_("oncall"), make_host(db))
    if state == "watching":
        watched(db, made)
    past = func.clock_timestamp() - timedelta(seconds=1)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Standby).values(until=past, lease_until=past))
    with unit_of_work(db.sessions) as session:
        expire_standbys(session)
        assert leases.claim(session, made["id"], "worker") is None
    assert row(db, made).state == ends


def test_a_run_without_a_ring_takes_no_look_back(as_, db: Database, people, config) -> None:
    host_id = make_host(db)
    ring(as_("oncall"), host_id)  # waits to be begun: nothing is kept yet
    answer = as_("oncall").post("/api/v1/captures", json={"host_ids": [str(host_id)], "plan": "triage"})
    assert answer.status_code == 201
    with db.sessions() as session:
        assert "look_back" not in set(session.scalars(select(RunCollector.collector)))


def test_the_order_of_a_run_takes_the_look_back_along(as_, db: Database, people, config, monkeypatch) -> None:
    host_id = make_host(db)
    watched(db, ring(as_("oncall"), host_id))
    as_("oncall").post("/api/v1/captures", json={"host_ids": [str(host_id)], "plan": "triage"})
    monkeypatch.setattr("culprit.workflows.orders.hops_to", lambda session, host: ())
    monkeypatch.setattr("culprit.workflows.orders.sudo_password", lambda host: None)
    with db.sessions() as session:
        order = capture_order(session, session.scalars(select(Run.id)).one())
    assert order.jobs[-1].id == "look_back"


def test_stacks_are_kept_where_the_standard_tier_is_allowed_for_the_host(as_, db: Database) -> None:
    host_id = make_host(db, labels={"role": "feed"})
    assert ring(as_("oncall"), host_id, 403, stacks=True)["key"] == "capture.tier_not_automatic"
    allowed = as_("admin").post("/api/v1/tier-allowances", json={"label": {"role": "feed"}})
    assert allowed.status_code == 201
    made = ring(as_("oncall"), host_id, stacks=True)
    assert made["stacks"] is True
    claim = watched(db, made)
    assert as_("admin").delete(f"/api/v1/tier-allowances/{allowed.json()['id']}").status_code == 204
    with db.sessions() as session, pytest.raises(Refused) as refused:
        keep_watch._order(session, claim)
    assert refused.value.sentence["key"] == "capture.tier_not_automatic"


def test_a_ring_says_where_perf_keeps_no_stacks(as_, db: Database, config) -> None:
    host_id = make_host(db)
    made = ring(as_("oncall"), host_id)
    claim = watched(db, made)
    kept = Ring(60, 1 << 20, (), stacks=True)
    watch = keep_watch.Watch(claim, made["number"], "ring", host_id, now(), kept, (), "none", 30.0)
    for line in ("watch", "fire 1 1 1", "\x00", "watch 100 1 1 1"):
        keep_watch._told(watch, line)
    assert row(db, made).waiting is None and row(db, made).cost["rss_kb"] == 1
    keep_watch._told(watch, "note no stacks: perf is missing or not allowed")
    assert row(db, made).waiting["key"] == "standby.no_stacks"
