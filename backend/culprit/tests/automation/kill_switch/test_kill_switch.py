"""Nothing starts where a kill switch is pulled, and who may pull it."""

from __future__ import annotations

from collections.abc import Callable
from uuid import UUID

import pytest
from culprit.auth.kill_switch import holding
from culprit.captures import leases
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.sentences import catalogue
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    AuditEntry,
    Capture,
    Host,
    Incident,
    IncidentHost,
    JournalEntry,
    Run,
)
from culprit.tests.support.runs import make_host
from culprit.workflows import run_capture
from culprit.workflows.check_host import _visit
from culprit.workflows.orders import Refused, capture_order
from fastapi.testclient import TestClient
from sqlalchemy import select

from collectors.scope import Scope

API = "/api/v1"


def pull(client: TestClient, status: int = 201, **body) -> dict:
    answer = client.post(f"{API}/kill-switches", json={"kind": "everywhere", **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def queued(db: Database, people, host_id, source: str = "manual"):
    """A run that waits, as a capture leaves it."""
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


def test_nothing_starts_anywhere_until_it_is_lifted(as_: Callable[[str], TestClient], db: Database) -> None:
    admin, host_id = as_("admin"), make_host(db)
    switch = pull(admin, reason="load on the fleet")
    refused = capture(as_("investigator"), host_id)
    assert (refused.status_code, refused.json()["key"]) == (409, "kill_switch.everywhere")
    preview = admin.post(
        f"{API}/captures/preview", json={"host_ids": [str(host_id)], "plan": "triage"}
    ).json()
    assert not preview["allowed"] and preview["refusal"]["params"]["reason"] == "load on the fleet"
    assert [one["id"] for one in as_("viewer").get(f"{API}/kill-switches").json()] == [switch["id"]]
    lifted = admin.post(f"{API}/kill-switches/{switch['id']}/lift").json()
    assert lifted["lifted_by"]["name"] == "admin"
    assert admin.get(f"{API}/kill-switches").json() == []
    assert len(admin.get(f"{API}/kill-switches?lifted=true").json()) == 1
    assert capture(as_("investigator"), host_id).status_code == 201


def test_a_run_that_was_queued_before_is_refused_at_the_last_moment(as_, db: Database, people) -> None:
    host_id = make_host(db)
    run_id = queued(db, people, host_id)
    pull(as_("admin"), cancel=False)
    with unit_of_work(db.sessions) as session:
        claim = leases.claim(session, run_id, "worker")
        assert claim is not None
        with pytest.raises(Refused) as refused:
            capture_order(session, run_id)
    assert refused.value.sentence["key"] == "kill_switch.everywhere" and refused.value.state == "cancelled"
    with unit_of_work(db.sessions) as session:
        assert run_capture._refuse(session, claim, refused.value) == "cancelled"
    with db.sessions() as session:
        run = session.get_one(Run, run_id)
        assert (run.state, run.failure["key"]) == ("cancelled", "kill_switch.everywhere")
        assert session.get_one(Capture, run.capture_id).state == "cancelled"


def test_a_login_that_took_long_is_asked_again_before_its_command_is_sent(
    as_, db: Database, people, monkeypatch: pytest.MonkeyPatch
) -> None:
    host_id = make_host(db)
    run_id = queued(db, people, host_id)
    with unit_of_work(db.sessions) as session:
        claim = leases.claim(session, run_id, "worker")
    assert claim is not None
    pull(as_("admin"), cancel=False)

    class Limits:
        runner_silence_s = deadline_s = silence_s = total_s = 30.0

    class Asked:
        jobs = ()
        scope = Scope("host", "")
        sudo = "none"
        sudo_password = None
        max_bytes = 1

    order = Asked()
    order.host_id = host_id
    monkeypatch.setattr(run_capture.bundle, "build", lambda *_: b"program")
    with pytest.raises(Refused):
        run_capture._command(claim, order, Limits())
    with db.sessions() as session:
        assert session.get_one(Run, run_id).spec is None


def test_pulling_it_calls_off_what_waits_and_what_runs(as_, db: Database, people) -> None:
    here, there = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    running, waiting, other = (queued(db, people, one) for one in (here, here, there))
    with unit_of_work(db.sessions) as session:
        assert leases.claim(session, running, "worker") is not None
    switch = pull(as_("admin"), kind="label", label={"role": "feed"}, reason="sick")
    assert switch["cancelled"] == 2
    with db.sessions() as session:
        asked = session.get_one(Run, running)
        assert asked.state == "running" and asked.cancel_requested_at is not None
        ended = session.get_one(Run, waiting)
        assert (ended.state, ended.failure["params"]["label"]) == ("cancelled", "role=feed")
        assert session.get_one(Run, other).state == "queued"
    # Pulling it again calls off what began meanwhile, and makes no second switch.
    again = pull(as_("admin"), kind="label", label={"role": "feed"})
    assert again["id"] == switch["id"]


def test_a_host_is_held_by_its_label_by_itself_and_by_its_jump_host(as_, db: Database) -> None:
    jump = make_host(db, "jump")
    behind, label = make_host(db, "behind"), make_host(db, "labelled", {"dc": "a"})
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, behind).jump_host_id = jump
    pull(as_("admin"), kind="host", host_id=str(jump))
    pull(as_("admin"), kind="label", label={"dc": "a"})
    with db.sessions() as session:
        held = {
            host.name: (one.kind if (one := holding(session, [host])) else None)
            for host in session.scalars(select(Host))
        }
    assert held == {"jump": "host", "behind": "host", "labelled": "label"}
    refused = capture(as_("oncall"), label).json()
    assert (refused["key"], refused["params"]["label"]) == ("kill_switch.label", "dc=a")
    free = make_host(db, "free")
    assert capture(as_("oncall"), free).status_code == 201


def test_a_check_of_a_host_does_not_log_in_either(as_, db: Database) -> None:
    host_id = make_host(db)
    made = as_("admin").post(f"{API}/hosts/{host_id}/check")
    assert made.status_code in {200, 201, 202}, made.text
    pull(as_("admin"), kind="host", host_id=str(host_id))
    with db.sessions() as session, pytest.raises(Refused):
        _visit(session, UUID(made.json()["id"]), host_id)


@pytest.mark.parametrize(
    "body",
    [{"kind": "host"}, {"kind": "label"}, {"label": {"a": "b"}}, {"kind": "label", "label": {"a": "b", "c": "d"}},
     {"kind": "somewhere"}, {"reason": "x\x00"}],
)  # fmt: skip
def test_a_switch_without_a_place_is_refused(as_, body) -> None:
    pull(as_("admin"), status=422, **body)


def test_it_is_in_the_audit_log_and_in_the_journals_of_incidents(as_, db: Database, people) -> None:
    here, there = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    with unit_of_work(db.sessions) as session:
        for host_id in (here, there):
            incident = Incident(title="i", window_from=now(), created_by=people["admin"].id)
            session.add(incident)
            session.flush()
            session.add(IncidentHost(incident_id=incident.id, host_id=host_id))
    switch = pull(as_("admin"), kind="label", label={"role": "feed"}, reason="sick")
    as_("admin").post(f"{API}/kill-switches/{switch['id']}/lift")
    with db.sessions() as session:
        told = session.execute(select(JournalEntry.kind, JournalEntry.note).order_by(JournalEntry.id)).all()
        acts = session.scalars(select(AuditEntry.action).order_by(AuditEntry.seq)).all()
    assert [tuple(one) for one in told] == [("kill_switch_pulled", "sick"), ("kill_switch_lifted", "sick")]
    assert {"kill_switch.pull", "kill_switch.lift"} <= set(acts)
    assert all(f"journal.{one.kind}" in catalogue("zh") for one in told)


def test_who_sees_some_hosts_sees_their_switches_and_pulls_none(as_, db: Database) -> None:
    feed, ads = make_host(db, "feed-1", {"role": "feed"}), make_host(db, "ads-1", {"role": "ads"})
    scoped = as_("scoped")
    pull(scoped, status=403)
    pull(scoped, status=403, kind="label", label={"role": "feed"})
    pull(scoped, status=403, kind="host", host_id=str(feed))
    switch = pull(as_("admin"), kind="label", label={"role": "feed"})
    assert scoped.post(f"{API}/kill-switches/{switch['id']}/lift").status_code == 403
    pull(as_("admin"), kind="host", host_id=str(feed))
    pull(as_("admin"), kind="host", host_id=str(ads))
    assert {one["kind"] for one in scoped.get(f"{API}/kill-switches").json()} == {"label", "host"}
    assert len(scoped.get(f"{API}/kill-switches").json()) == 2
    pull(as_("oncall"), status=403)
