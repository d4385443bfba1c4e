"""Tests of kill switches: refused starts, canceled captures and permissions."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from culprit.accounts.kill_switch_check import find_active_switch
from culprit.captures import locks as leases
from culprit.domain.messages import load_messages
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.jobs.capture import run_capture
from culprit.jobs.capture.check_host import _build_spec
from culprit.jobs.capture.session_spec import RunRefusedError, build_session_spec
from culprit.tests.support.runs import make_host
from fastapi.testclient import TestClient
from sqlalchemy import select

from collectors.runner.scope import Scope

API = "/api/v1"


def activate(client: TestClient, status: int = 201, **body) -> dict:
    answer = client.post(f"{API}/kill-switches", json={"kind": "everywhere", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def create_queued_run(db: Database, people, host_id, source: str = "manual"):
    """Create a queued run."""
    with unit_of_work(db.sessions) as session:
        capture = Capture(
            plan="custom",
            collectors=[{"id": "vmstat", "seconds": 3}],
            source=source,
            requested_by=people["admin"].id,
        )
        session.add(capture)
        session.flush()
        run = Run(capture_id=capture.id, host_id=host_id)
        session.add(run)
        session.flush()
        return run.id


def capture(client: TestClient, host_id):
    return client.post(f"{API}/captures", json={"host_ids": [str(host_id)], "plan": "triage"})


def test_kill_switch_everywhere_refuses_captures_until_deactivated(
    as_: Callable[[str], TestClient], db: Database
) -> None:
    admin, host_id = as_("admin"), make_host(db)
    switch = activate(admin, reason="load on the fleet")
    refused = capture(as_("investigator"), host_id)
    assert (refused.status_code, refused.json()["key"]) == (409, "kill_switch.everywhere")
    preview = admin.post(
        f"{API}/captures/preview", json={"host_ids": [str(host_id)], "plan": "triage"}
    ).json()
    assert not preview["allowed"] and preview["refusal"]["params"]["reason"] == "load on the fleet"
    assert [item["id"] for item in as_("viewer").get(f"{API}/kill-switches").json()] == [switch["id"]]
    deactivated = admin.delete(f"{API}/kill-switches/{switch['id']}").json()
    assert deactivated["deactivated_by"]["name"] == "admin"
    assert admin.get(f"{API}/kill-switches").json() == []
    assert len(admin.get(f"{API}/kill-switches?include_inactive=true").json()) == 1
    assert capture(as_("investigator"), host_id).status_code == 201


def test_kill_switch_refuses_a_queued_run_before_login(as_, db: Database, people) -> None:
    host_id = make_host(db)
    run_id = create_queued_run(db, people, host_id)
    activate(as_("admin"), cancel=False)
    with unit_of_work(db.sessions) as session:
        claim = leases.claim_run(session, run_id, "worker")
        assert claim is not None
        with pytest.raises(RunRefusedError) as refused:
            build_session_spec(session, run_id)
    assert refused.value.sentence["key"] == "kill_switch.everywhere" and refused.value.state == "canceled"
    with unit_of_work(db.sessions) as session:
        assert run_capture._finish_refused(session, claim, refused.value) == "canceled"
    with db.sessions() as session:
        run = session.get_one(Run, run_id)
        assert (run.state, run.failure["key"]) == ("canceled", "kill_switch.everywhere")
        assert session.get_one(Capture, run.capture_id).state == "canceled"


def test_kill_switch_is_checked_again_before_the_command_is_sent(
    as_, db: Database, people, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_id = make_host(db)
    run_id = create_queued_run(db, people, host_id)
    with unit_of_work(db.sessions) as session:
        claim = leases.claim_run(session, run_id, "worker")
    assert claim is not None
    activate(as_("admin"), cancel=False)

    class Limits:
        runner_silence_s = deadline_s = silence_s = total_s = 30.0

    class Spec:
        jobs = ()
        scope = Scope("host", "")
        sudo = "none"
        sudo_password = None
        max_bytes = 1

    order = Spec()
    order.host_id = host_id
    monkeypatch.setattr(run_capture.bundle, "build_program", lambda *_: b"program")
    with pytest.raises(RunRefusedError):
        run_capture._build_command(claim, order, Limits())
    with db.sessions() as session:
        assert session.get_one(Run, run_id).spec is None


def test_activate_cancels_queued_and_running_captures(as_, db: Database, people) -> None:
    feed, ads = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    running, waiting, other = (create_queued_run(db, people, host_id) for host_id in (feed, feed, ads))
    with unit_of_work(db.sessions) as session:
        assert leases.claim_run(session, running, "worker") is not None
    switch = activate(as_("admin"), kind="label", label={"role": "feed"}, reason="overload")
    assert switch["canceled"] == 2
    with db.sessions() as session:
        requested = session.get_one(Run, running)
        assert requested.state == "running" and requested.cancel_requested_at is not None
        ended = session.get_one(Run, waiting)
        assert (ended.state, ended.failure["params"]["label"]) == ("canceled", "role=feed")
        assert session.get_one(Run, other).state == "queued"
    # A second activation cancels newer captures and creates no second switch.
    again = activate(as_("admin"), kind="label", label={"role": "feed"})
    assert again["id"] == switch["id"]


def test_find_active_switch_matches_host_label_and_jump_host(as_, db: Database) -> None:
    jump = make_host(db, "jump")
    behind, label = make_host(db, "behind"), make_host(db, "labelled", {"dc": "a"})
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, behind).jump_host_id = jump
    activate(as_("admin"), kind="host", host_id=str(jump))
    activate(as_("admin"), kind="label", label={"dc": "a"})
    with db.sessions() as session:
        held = {
            host.name: (
                active_switch.kind if (active_switch := find_active_switch(session, [host])) else None
            )
            for host in session.scalars(select(Host))
        }
    assert held == {"jump": "host", "behind": "host", "labelled": "label"}
    refused = capture(as_("oncall"), label).json()
    assert (refused["key"], refused["params"]["label"]) == ("kill_switch.label", "dc=a")
    free = make_host(db, "free")
    assert capture(as_("oncall"), free).status_code == 201


def test_kill_switch_refuses_a_preflight_check(as_, db: Database) -> None:
    host_id = make_host(db)
    result = as_("admin").post(f"{API}/hosts/{host_id}/check")
    assert result.status_code in {200, 201, 202}, result.text
    activate(as_("admin"), kind="host", host_id=str(host_id))
    with db.sessions() as session, pytest.raises(RunRefusedError):
        _build_spec(session, UUID(result.json()["id"]), host_id)


@pytest.mark.parametrize(
    "body",
    [{"kind": "host"}, {"kind": "label"}, {"label": {"a": "b"}}, {"kind": "label", "label": {"a": "b", "c": "d"}},
     {"kind": "somewhere"}, {"reason": "x\x00"}],
)  # fmt: skip
def test_activate_refuses_a_target_that_does_not_match_the_kind(as_, body) -> None:
    activate(as_("admin"), status=422, **body)


def test_activate_writes_audit_log_and_incident_journals(as_, db: Database, people) -> None:
    feed, ads = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    with unit_of_work(db.sessions) as session:
        for host_id in (feed, ads):
            incident = Incident(title="i", window_from=utc_now(), created_by=people["admin"].id)
            session.add(incident)
            session.flush()
            session.add(IncidentHost(incident_id=incident.id, host_id=host_id))
    switch = activate(as_("admin"), kind="label", label={"role": "feed"}, reason="overload")
    as_("admin").delete(f"{API}/kill-switches/{switch['id']}")
    with db.sessions() as session:
        row = session.execute(select(JournalEntry.kind, JournalEntry.note).order_by(JournalEntry.id)).all()
        acts = session.scalars(select(AuditEntry.action).order_by(AuditEntry.seq)).all()
    assert [tuple(item) for item in row] == [
        ("kill_switch_activated", "overload"),
        ("kill_switch_deactivated", "overload"),
    ]
    assert {"kill_switch.activate", "kill_switch.deactivate"} <= set(acts)
    assert all(f"journal.{item.kind}" in load_messages("zh") for item in row)


def test_label_scope_limits_visible_switches_and_refuses_activation(as_, db: Database) -> None:
    feed, ads = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    scoped = as_("scoped")
    activate(scoped, status=403)
    activate(scoped, status=403, kind="label", label={"role": "feed"})
    activate(scoped, status=403, kind="host", host_id=str(feed))
    switch = activate(as_("admin"), kind="label", label={"role": "feed"})
    assert scoped.delete(f"{API}/kill-switches/{switch['id']}").status_code == 403
    activate(as_("admin"), kind="host", host_id=str(feed))
    activate(as_("admin"), kind="host", host_id=str(ads))
    assert {item["kind"] for item in scoped.get(f"{API}/kill-switches").json()} == {"label", "host"}
    assert len(scoped.get(f"{API}/kill-switches").json()) == 2
    activate(as_("oncall"), status=403)
