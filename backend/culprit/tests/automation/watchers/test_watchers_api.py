"""API tests of watchers: permissions, limits, captures and end states."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from culprit.automation.watchers import locks
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.automation.watcher import Watcher
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.jobs.capture.session_spec import RunRefusedError, build_session_spec
from culprit.jobs.system.sweep import expire_watchers
from culprit.jobs.watchers import run_watcher
from culprit.jobs.watchers.start_conditional_capture import is_lookback_collected, start_conditional_capture
from culprit.tests.support.runs import make_host
from fastapi.testclient import TestClient
from sqlalchemy import delete, func, select, update

from collectors.runner.watcher import LookbackBuffer, WatcherCondition

API = "/api/v1/watchers"
START = {"kind": "process_start", "key": "java"}
LOAD = {"kind": "load1", "limit": 20, "required_hits": 3, "window_readings": 5}


def create_conditional(client: TestClient, host_id, status: int = 201, **body) -> dict:
    supplied = {"kind": "conditional", "host_id": str(host_id), "conditions": [START], **body}
    answer = client.post(API, json=supplied)
    assert answer.status_code == status, answer.text
    return answer.json()


def create_lookback(client: TestClient, host_id, status: int = 201, **body) -> dict:
    answer = client.post(API, json={"kind": "lookback", "host_id": str(host_id), **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def claim_watcher(db: Database, watcher: dict, **values):
    """As a worker has it: claimed and watching."""
    with unit_of_work(db.sessions) as session:
        claim = locks.claim_watcher(session, watcher["id"], "worker")
        assert claim is not None
        assert locks.renew_lease(session, claim, started_at=utc_now(), **values)
    return claim


def get_row(db: Database, watcher: dict) -> Watcher:
    with db.sessions() as session:
        return session.get_one(Watcher, watcher["id"])


def captures_of(db: Database, watcher: dict) -> list[Capture]:
    with db.sessions() as session:
        return list(session.scalars(select(Capture).where(Capture.watcher_id == watcher["id"])))


CONDITION = WatcherCondition.from_json(START)


def test_create_watcher_limits_count_per_kind_and_hours(
    as_: Callable[[str], TestClient], db: Database
) -> None:
    oncall, host_id = as_("oncall"), make_host(db)
    conditional = create_conditional(oncall, host_id, conditions=[START, LOAD], hours=2, max_captures=3)
    assert (conditional["state"], conditional["kind"], conditional["max_captures"]) == (
        "waiting",
        "conditional",
        3,
    )
    assert [condition["is_start"] for condition in conditional["conditions"]] == [True, False]
    assert conditional["capture"] == {
        "plan": "triage", "seconds": None, "tier": "light", "scope": {"kind": "host", "value": ""},
    }  # fmt: skip
    assert create_conditional(oncall, host_id, 409)["key"] == "watcher.conditional_exists"
    lookback = create_lookback(oncall, host_id, seconds=300)
    assert (lookback["lookback_s"], lookback["capture"], lookback["buffered_s"]) == (300, None, None)
    assert create_lookback(oncall, host_id, 409)["key"] == "watcher.lookback_exists"
    create_lookback(oncall, host_id, 422, hours=25)
    create_lookback(oncall, host_id, 422, seconds=7200)
    listed = as_("viewer").get(API).json()["items"]
    assert [item["id"] for item in listed] == [lookback["id"], conditional["id"]]
    assert as_("viewer").get(API, params={"kind": "lookback"}).json()["items"][0]["id"] == lookback["id"]
    assert len(as_("viewer").get(f"{API}/conditions").json()) == 15


def test_create_watcher_rejects_invalid_requests(as_: Callable[[str], TestClient], db: Database) -> None:
    oncall, host_id = as_("oncall"), make_host(db, labels={"role": "ads"})
    assert create_conditional(as_("investigator"), host_id, 403)["key"] == "auth.role_too_low"
    assert create_lookback(as_("scoped"), host_id, 404)["key"] == "host.not_found"
    assert create_conditional(oncall, host_id, 403, plan="cpu")["key"] == "capture.tier_not_automatic"
    assert create_conditional(oncall, host_id, 422, plan="no-such")["key"] == "capture.plan_unknown"
    bad = {"kind": "unit_start", "key": "a; rm -rf /"}
    assert create_conditional(oncall, host_id, 422, conditions=[bad])["key"] == "watcher.condition_invalid"
    create_conditional(oncall, host_id, 422, conditions=[])
    create_conditional(oncall, host_id, 422, conditions=[START] * 5)
    create_conditional(oncall, host_id, 422, conditions=[{**START, "required_hits": 9, "window_readings": 3}])
    oncall.post("/api/v1/kill-switches", json={"kind": "everywhere"})
    as_("admin").post("/api/v1/kill-switches", json={"kind": "everywhere"})
    assert create_conditional(oncall, host_id, 409)["key"] == "kill_switch.everywhere"


def test_conditional_capture_starts_and_collects_lookback(as_, db: Database, config) -> None:
    host_id = make_host(db)
    conditional = create_conditional(as_("oncall"), host_id, max_captures=1)
    claim = claim_watcher(db, conditional)
    assert start_conditional_capture(claim, CONDITION, 1.0) is True
    [capture] = captures_of(db, conditional)
    assert (capture.source, capture.reason) == (
        "watcher",
        f"watcher #{conditional['number']}: process_start java",
    )
    with db.sessions() as session:
        names = set(session.scalars(select(RunCollector.collector).join(Run)))
        assert {"look_back", "vmstat"} <= names
        event = session.scalars(select(StoredEvent).where(StoredEvent.host_id == host_id)).one()
        assert (event.kind, event.title["params"]["what"]) == ("watcher", "process_start java")
        reported_session = set(session.scalars(select(AuditEntry.action)))
        assert {"watcher.create", "watcher.captured", "capture.create"} <= reported_session
    assert start_conditional_capture(claim, CONDITION, 1.0) is True
    assert len(captures_of(db, conditional)) == 1
    assert not is_lookback_collected(claim)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Run).values(state="ingesting"))
    assert is_lookback_collected(claim)
    read = as_("viewer").get(f"{API}/{conditional['id']}").json()
    assert read["capture_count"] == 1 and read["captures"][0]["number"] == capture.number


def open_incident(client: TestClient, *hosts) -> dict:
    body = {"title": "slow", "hosts": [{"host_id": str(host)} for host in hosts]}
    answer = client.post("/api/v1/incidents", json=body)
    assert answer.status_code == 201, answer.text
    return answer.json()


def journal_of(client: TestClient, incident: dict) -> list[tuple[str, str | None]]:
    result = client.get(f"/api/v1/incidents/{incident['id']}/journal").json()
    return [(item["kind"], (item["by"] or {}).get("name")) for item in result]


def test_conditional_capture_becomes_incident_evidence(as_, db: Database, config) -> None:
    oncall, host_id, other = as_("oncall"), make_host(db), make_host(db, "other")
    incident = open_incident(oncall, host_id)
    before = incident["version"]
    assert create_conditional(oncall, other, 422, incident_id=incident["id"])["key"] == "incident.no_host"
    assert create_conditional(oncall, other, 404, incident_id=str(other))["key"] == "incident.not_found"
    assert oncall.get(API).json()["items"] == [], "what was refused waits for nothing"
    conditional = create_conditional(oncall, host_id, incident_id=incident["id"], max_captures=2)
    assert conditional["incident"] == {"id": incident["id"], "number": incident["number"]}
    assert not start_conditional_capture(claim_watcher(db, conditional), CONDITION, None)
    [capture] = captures_of(db, conditional)
    with db.sessions() as session:
        [link] = session.scalars(select(IncidentRun).where(IncidentRun.incident_id == incident["id"]))
        assert session.get_one(Run, link.run_id).capture_id == capture.id
        assert (link.role, str(capture.incident_id)) == ("evidence", incident["id"])
    assert journal_of(oncall, incident)[-2:] == [("watcher_created", "oncall"), ("watcher_captured", None)]
    note = {"version": before, "note": "still here"}
    answer = oncall.post(f"/api/v1/incidents/{incident['id']}/notes", json=note)
    assert answer.status_code in {200, 201}, "neither change makes the version stale"


@pytest.mark.parametrize("meanwhile", ["resolved", "without the host"])
def test_conditional_capture_ignores_closed_incident(as_, db: Database, config, meanwhile: str) -> None:
    oncall, host_id = as_("oncall"), make_host(db)
    incident = open_incident(oncall, host_id)
    conditional = create_conditional(oncall, host_id, incident_id=incident["id"])
    with unit_of_work(db.sessions) as session:
        if meanwhile == "resolved":
            session.execute(update(Incident).values(state="resolved"))
        else:
            session.execute(delete(IncidentHost))
    assert start_conditional_capture(claim_watcher(db, conditional), CONDITION, None)
    [capture] = captures_of(db, conditional)
    assert capture.incident_id is None
    with db.sessions() as session:
        assert session.scalar(select(func.count()).select_from(IncidentRun)) == 0
    if meanwhile == "resolved":
        assert create_conditional(oncall, host_id, 409, incident_id=incident["id"])["key"] in {
            "watcher.conditional_exists", "watcher.incident_resolved",
        }  # fmt: skip


def test_conditional_capture_waits_for_cooldown(as_, db: Database, config) -> None:
    conditional = create_conditional(as_("oncall"), make_host(db), max_captures=3, cooldown_s=600)
    claim = claim_watcher(db, conditional)
    assert start_conditional_capture(claim, CONDITION, None) is False
    assert start_conditional_capture(claim, CONDITION, None) is False
    assert get_row(db, conditional).rejection["reason"]["key"] == "watcher.cooldown"
    with unit_of_work(db.sessions) as session:
        session.execute(update(Watcher).values(last_capture_at=utc_now() - timedelta(seconds=601)))
    start_conditional_capture(claim, CONDITION, None)
    assert len(captures_of(db, conditional)) == 2 and get_row(db, conditional).rejection is None


LOST = {
    "role": ({"role": "investigator"}, "auth.role_too_low"),
    "account": ({"disabled_at": func.now()}, "run.requester_gone"),
    "scope": ({"label_scope": {"role": ["other"]}}, "host.not_found"),
}


@pytest.mark.parametrize("what", LOST)
def test_conditional_capture_checks_permissions_again(as_, db: Database, people, config, what: str) -> None:
    """Neither when it fires, nor when a worker begins to watch."""
    values, key = LOST[what]
    conditional = create_conditional(as_("oncall"), make_host(db))
    claim = claim_watcher(db, conditional)
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.id == people["oncall"].id).values(**values))
    assert start_conditional_capture(claim, CONDITION, None) is False
    assert captures_of(db, conditional) == []
    assert get_row(db, conditional).rejection["reason"]["key"] == key
    with db.sessions() as session, pytest.raises(RunRefusedError) as refused:
        run_watcher._prepare_session(session, claim)
    assert refused.value.sentence["key"] == key


PULLED = [{"kind": "everywhere"}, {"kind": "label", "label": {"role": "feed"}}, {"kind": "host"}]


@pytest.mark.parametrize("switch", PULLED, ids=lambda item: item["kind"])
@pytest.mark.parametrize("keep_running", [False, True])
def test_kill_switch_stops_watchers_and_blocks_captures(
    as_, db: Database, config, switch: dict, keep_running: bool
) -> None:
    host_id, other = make_host(db, labels={"role": "feed"}), make_host(db, "other", {"role": "ads"})
    oncall = as_("oncall")
    result, stored, apart = (
        create_conditional(oncall, host_id),
        create_lookback(oncall, host_id),
        create_lookback(oncall, other),
    )
    claim = claim_watcher(db, result)
    body = {**switch, "cancel": not keep_running}
    if switch["kind"] == "host":
        body["host_id"] = str(host_id)
    pulled = as_("admin").post("/api/v1/kill-switches", json=body)
    assert pulled.status_code == 201, pulled.text
    assert start_conditional_capture(claim, CONDITION, None) is False and captures_of(db, result) == []
    assert get_row(db, result).cancel_requested_at is not None
    ended = get_row(db, stored)
    assert (ended.state, ended.failure["key"]) == ("canceled", f"kill_switch.{switch['kind']}")
    assert (get_row(db, apart).state == "canceled") is (switch["kind"] == "everywhere")
    with db.sessions() as session, pytest.raises(RunRefusedError) as refused:
        run_watcher._prepare_session(session, claim)
    assert refused.value.state == "canceled"


def test_kill_switch_rejects_capture_at_start(as_, db: Database, config) -> None:
    """The kill switch is checked when the capture is created, in every state of the watcher."""
    conditional = create_conditional(as_("oncall"), make_host(db))
    claim = claim_watcher(db, conditional)
    as_("admin").post("/api/v1/kill-switches", json={"kind": "everywhere"})
    with unit_of_work(db.sessions) as session:
        session.execute(update(Watcher).values(cancel_requested_at=None))
    assert start_conditional_capture(claim, CONDITION, None) is False and captures_of(db, conditional) == []
    assert get_row(db, conditional).rejection["reason"]["key"] == "kill_switch.everywhere"


def test_stop_watcher_requires_owner_or_oncall(as_, db: Database) -> None:
    conditional = create_conditional(as_("oncall"), make_host(db))
    assert as_("investigator").post(f"{API}/{conditional['id']}/stop").status_code == 403
    ended = as_("admin").post(f"{API}/{conditional['id']}/stop").json()
    assert ended["state"] == "canceled"
    assert as_("admin").post(f"{API}/{conditional['id']}/stop").json() == ended
    assert as_("viewer").get(API).json()["items"] == []
    assert len(as_("viewer").get(API, params={"include_ended": True}).json()["items"]) == 1


def test_claim_watcher_by_two_workers_succeeds_once(as_, db: Database) -> None:
    lookback = create_lookback(as_("oncall"), make_host(db))
    with unit_of_work(db.sessions) as item, unit_of_work(db.sessions) as other:
        first = locks.claim_watcher(item, lookback["id"], "a")
        item.commit()
        assert first is not None and locks.claim_watcher(other, lookback["id"], "b") is None


def test_watcher_of_lost_worker_restarts_with_new_fence(as_, db: Database, config) -> None:
    conditional = create_conditional(as_("oncall"), make_host(db))
    old = claim_watcher(db, conditional)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Watcher).values(lease_until=func.clock_timestamp() - timedelta(seconds=1)))
    with unit_of_work(db.sessions) as session:
        expire_watchers(session)
    again = get_row(db, conditional)
    assert (again.state, again.interruption_count, again.wait_reason["key"]) == (
        "waiting",
        1,
        "watcher.worker_lost",
    )
    new = claim_watcher(db, conditional)
    assert start_conditional_capture(old, CONDITION, None) is False and captures_of(db, conditional) == []
    with unit_of_work(db.sessions) as session:
        assert not locks.renew_lease(session, old) and locks.renew_lease(session, new)


@pytest.mark.parametrize(("state", "ends"), [("waiting", "expired"), ("watching", "expired")])
def test_watcher_past_expiry_expires_in_any_state(as_, db: Database, state: str, ends: str) -> None:
    lookback = create_lookback(as_("oncall"), make_host(db))
    if state == "watching":
        claim_watcher(db, lookback)
    past = func.clock_timestamp() - timedelta(seconds=1)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Watcher).values(expires_at=past, lease_until=past))
    with unit_of_work(db.sessions) as session:
        expire_watchers(session)
        assert locks.claim_watcher(session, lookback["id"], "worker") is None
    assert get_row(db, lookback).state == ends


def test_run_without_active_buffer_has_no_lookback(as_, db: Database, people, config) -> None:
    host_id = make_host(db)
    create_lookback(as_("oncall"), host_id)  # waits to be begun: nothing is kept yet
    answer = as_("oncall").post("/api/v1/captures", json={"host_ids": [str(host_id)], "plan": "triage"})
    assert answer.status_code == 201
    with db.sessions() as session:
        assert "look_back" not in set(session.scalars(select(RunCollector.collector)))


def test_run_session_spec_includes_lookback(as_, db: Database, people, config, monkeypatch) -> None:
    host_id = make_host(db)
    claim_watcher(db, create_lookback(as_("oncall"), host_id))
    as_("oncall").post("/api/v1/captures", json={"host_ids": [str(host_id)], "plan": "triage"})
    monkeypatch.setattr("culprit.jobs.capture.session_spec.build_hops", lambda session, host: ())
    monkeypatch.setattr("culprit.jobs.capture.session_spec.get_sudo_password", lambda host: None)
    with db.sessions() as session:
        order = build_session_spec(session, session.scalars(select(Run.id)).one())
    assert order.jobs[-1].id == "look_back"


def test_lookback_stacks_require_standard_tier(as_, db: Database) -> None:
    host_id = make_host(db, labels={"role": "feed"})
    assert create_lookback(as_("oncall"), host_id, 403, stacks=True)["key"] == "capture.tier_not_automatic"
    allowed = as_("admin").post("/api/v1/unattended-tiers", json={"label": {"role": "feed"}})
    assert allowed.status_code == 201
    lookback = create_lookback(as_("oncall"), host_id, stacks=True)
    assert lookback["stacks"] is True
    claim = claim_watcher(db, lookback)
    assert as_("admin").delete(f"/api/v1/unattended-tiers/{allowed.json()['id']}").status_code == 204
    with db.sessions() as session, pytest.raises(RunRefusedError) as refused:
        run_watcher._prepare_session(session, claim)
    assert refused.value.sentence["key"] == "capture.tier_not_automatic"


def test_lookback_reports_missing_perf(as_, db: Database, config) -> None:
    host_id = make_host(db)
    lookback = create_lookback(as_("oncall"), host_id)
    claim = claim_watcher(db, lookback)
    lookback_buffer = LookbackBuffer(60, 1 << 20, (), stacks=True)
    watch = run_watcher.WatcherSession(
        claim, lookback["number"], "lookback", host_id, utc_now(), lookback_buffer, (), "none", 30.0
    )
    for line in ("watch", "fire 1 1 1", "\x00", "watch 100 1 1 1"):
        run_watcher._handle_line(watch, line)
    assert get_row(db, lookback).wait_reason is None and get_row(db, lookback).cost["rss_kb"] == 1
    run_watcher._handle_line(watch, "note no stacks: perf is missing or not allowed")
    assert get_row(db, lookback).wait_reason["key"] == "watcher.no_stacks"
