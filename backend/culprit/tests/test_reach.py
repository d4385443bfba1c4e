"""Resources that affect hosts outside a label scope: visible, but changed only with access to all of them."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from culprit.accounts.actor import Actor, rank_role
from culprit.accounts.authorization import can_see_all_with_labels
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.automation.maintenance_window import MaintenanceWindow
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_host import ScheduleHost
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.evidence.reported_event_host import ReportedEventHost
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.settings import Settings
from culprit.tests.support.reports import frozen
from culprit.tests.support.route_requests import Seeds, ask, seed
from culprit.tests.support.route_table import API, TABLE
from fastapi.testclient import TestClient

AsPerson = Callable[[str], TestClient]
FEED, OTHER = {"role": "feed"}, {"role": "ads"}
#: Path parameters of resources that can affect several hosts, and of those of one host.
SEVERAL = {
    "incident_id",
    "capture_id",
    "schedule_id",
    "event_id",
    "report_id",
    "version_id",
    "share_id",
    "window_id",
}
SINGLE = {
    "host_id",
    "mute_id",
    "watcher_id",
    "diagnosis_id",
    "upload_id",
    "profile_id",
    "disassembly_id",
}
#: Global resources, and those that act with the permissions of their owner, who alone sees them.
NO_HOSTS = {"rotation_id", "override_id", "token_id", "trigger_id"}
#: Comments decide nothing.
COMMENTS = "/comments"


def changing() -> list[tuple[str, str]]:
    return sorted(
        route
        for route in TABLE
        if route[0] != "GET" and rank_role(TABLE[route][0]) <= rank_role("oncall") and "{" in route[1]
    )


def parameters(path: str) -> set[str]:
    return {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_every_resource_that_can_be_changed_is_sorted_by_what_it_reaches() -> None:
    results = {parameters(path).pop() for _, path in changing() if len(parameters(path)) == 1}
    assert results - SEVERAL - SINGLE - NO_HOSTS == set(), "decide what these reach"


def widen(db: Database, seeds: Seeds) -> UUID:
    """Add a host outside the scope to everything that can have several hosts."""
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="other", kind="agent")
        session.add(credential)
        session.flush()
        # One host with another label, and one without the label.
        other = Host(
            name="h-other", address="10.9.9.8", username="u", labels=OTHER, credential_id=credential.id
        )
        bare = Host(name="h-bare", address="10.9.9.7", username="u", labels={}, credential_id=credential.id)
        session.add_all([other, bare])
        session.flush()
        session.add_all(
            [
                Run(capture_id=seeds.ids["capture"], host_id=bare.id, state="queued"),
                IncidentHost(incident_id=seeds.ids["incident"], host_id=bare.id),
                ScheduleHost(schedule_id=seeds.ids["schedule"], host_id=bare.id),
                ReportedEventHost(reported_event_id=seeds.ids["event"], host_id=bare.id),
            ]
        )
        version = frozen(UUID(seeds.ids["report"]), [seeds.ids["host"], str(bare.id)])
        version.number = 2
        session.add(version)
        session.flush()
        share = ReportShare(version_id=version.id, token_hash=bare.id.bytes, expires_at=utc_now())
        session.add(share)
        session.flush()
        seeds.ids |= {"version": str(version.id), "share": str(share.id)}
        window = session.get_one(MaintenanceWindow, UUID(seeds.ids["window"]))
        window.host_id, window.selector = None, {"dc": "x"}
        return other.id


def test_a_scope_changes_nothing_that_reaches_beyond_it(
    config: Settings, db: Database, people, as_: AsPerson
) -> None:
    seeds = seed(config, db, people["admin"].id, FEED)
    widen(db, seeds)
    scoped, wrong = as_("scoped"), {}
    for route in changing():
        method, path = route
        if not parameters(path) & SEVERAL or COMMENTS in path:
            continue
        status = ask(scoped, seeds, route)
        if status not in {403, 404}:
            wrong[route] = status
    assert wrong == {}
    for path in (
        "/incidents/{incident}",
        "/schedules/{schedule}",
        "/captures/{capture}",
        "/reported-events/{event}",
    ):
        assert scoped.get(API + seeds.fill(path)).status_code == 200, "seen as before"
    outside = scoped.delete(API + seeds.fill("/schedules/{schedule}"))
    assert outside.json()["key"] == "auth.outside_scope" and "role=feed" in outside.json()["detail"]


def test_nothing_new_reaches_beyond_a_scope(config: Settings, db: Database, people, as_: AsPerson) -> None:
    seeds = seed(config, db, people["admin"].id, FEED)
    both = [seeds.ids["host"], str(widen(db, seeds))]
    span = {
        "starts_at": (utc_now() + timedelta(hours=1)).isoformat(),
        "ends_at": (utc_now() + timedelta(hours=2)).isoformat(),
    }
    cron = {"kind": "cron", "cron": "0 * * * *", "zone": "UTC"}
    requested = {"name": "x", "cadence": cron, "capture": {"plan": "baseline"}}
    for path, body in (
        ("/captures", {"host_ids": both, "plan": "triage"}),
        ("/schedules", requested | {"target": {"host_ids": both}}),
        ("/incidents", {"title": "t", "hosts": [{"host_id": item} for item in both]}),
        ("/reported-events", {"what": "x", "hosts": both}),
        ("/reported-events", {"what": "x", "everywhere": True}),
        ("/maintenance-windows", span | {"reason": "disks"}),
        ("/maintenance-windows", span | {"reason": "disks", "labels": {"dc": "x"}}),
    ):
        answer = as_("scoped").post(API + path, json=body)
        assert answer.status_code in {403, 404} or answer.json()["key"] == "reported_event.no_such_host", path


@pytest.fixture
def labelled(db: Database, people) -> Schedule:
    """Create a schedule of an admin for all hosts in a data center."""
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        labels = FEED | {"dc": "a"}
        session.add(
            Host(name="h", address="10.9.9.9", username="u", labels=labels, credential_id=credential.id)
        )
        schedule = Schedule(
            name="dc", kind="cron", cron="0 * * * *", zone="UTC", capture={"plan": "baseline"}, state="paused",
            owner_id=people["admin"].id, selector={"dc": "a"},
        )  # fmt: skip
        session.add(schedule)
        session.flush()
        return schedule


def test_labels_reach_hosts_that_do_not_exist_yet(labelled: Schedule, as_: AsPerson, db: Database) -> None:
    url = f"{API}/schedules/{labelled.id}"
    scoped = as_("scoped")
    version = scoped.get(url).json()["version"]
    for body in ({"paused": False}, {"target": {"labels": FEED}}, {"name": "mine"}):
        answer = scoped.patch(url, json=body | {"version": version})
        assert (answer.status_code, answer.json()["key"]) == (403, "auth.outside_scope")
    assert scoped.delete(url).status_code == 403
    with unit_of_work(db.sessions) as session:
        session.get_one(Schedule, labelled.id).selector = FEED | {"dc": "a"}
    assert scoped.patch(url, json={"reason": "r", "version": version}).status_code == 200
    assert scoped.delete(url).status_code == 204


def test_reporter_cannot_change_event_on_hosts_outside_scope(
    config: Settings, db: Database, people, as_: AsPerson
) -> None:
    seeds = seed(config, db, people["admin"].id, FEED)
    other = widen(db, seeds)
    with unit_of_work(db.sessions) as session:
        event = session.get_one(ReportedEvent, UUID(seeds.ids["event"]))
        event.reported_by, event.external_id = people["scoped"].id, "job"
        session.add(ReportedEventHost(reported_event_id=event.id, host_id=other))
    scoped = as_("scoped")
    assert scoped.delete(f"{API}/reported-events/{event.id}").status_code == 403
    again = scoped.post(
        f"{API}/reported-events", json={"what": "y", "external_id": "job", "hosts": [seeds.ids["host"]]}
    )
    assert (again.status_code, again.json()["key"]) == (403, "reported_event.hosts_hidden")


def test_whether_a_scope_covers_labels() -> None:
    scope = {"env": ["a", "b"], "role": ["feed"]}
    actor = Actor(new_uuid7(), "x", "oncall", scope)
    for labels, within, covered in (
        ({}, {}, False),
        ({"env": "a"}, {}, False),
        ({"env": "a", "role": "feed"}, {}, True),
        ({"env": "c", "role": "feed"}, {}, False),
        ({"role": "feed"}, {"env": ["a"]}, True),
        ({"role": "feed"}, {"env": ["a", "c"]}, False),
        ({}, scope, True),
    ):
        assert can_see_all_with_labels(actor, labels, within) is covered, (labels, within)
    assert can_see_all_with_labels(Actor(new_uuid7(), "x", "oncall"), {})
