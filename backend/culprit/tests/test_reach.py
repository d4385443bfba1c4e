"""What reaches hosts outside a label scope: seen, and changed only by who may change all of it."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from uuid import UUID

import pytest
from culprit.auth.actor import Actor, rank
from culprit.auth.policy import covers
from culprit.config import Settings
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import (
    Annotation,
    AnnotationHost,
    Credential,
    Host,
    IncidentHost,
    MaintenanceWindow,
    ReportShare,
    Run,
    Schedule,
    ScheduleHost,
)
from culprit.tests.support.reports import frozen
from culprit.tests.test_authz import API, TABLE, Seeds, ask, seed
from fastapi.testclient import TestClient

AsPerson = Callable[[str], TestClient]
FEED, OTHER = {"role": "feed"}, {"role": "ads"}
#: Path parameters of resources that can reach several hosts, and of those that are of one host.
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
ONE = {"host_id", "mute_id", "standby_id", "diagnosis_id", "upload_id"}
#: Global resources and those that only their owner sees, in whose name they act.
NO_HOSTS = {"rotation_id", "override_id", "token_id", "trigger_id"}
#: Words of a person about what they see decide nothing.
COMMENTS = "/comments"


def changing() -> list[tuple[str, str]]:
    return sorted(
        route
        for route in TABLE
        if route[0] != "GET" and rank(TABLE[route][0]) <= rank("oncall") and "{" in route[1]
    )


def parameters(path: str) -> set[str]:
    return {part[1:-1] for part in path.split("/") if part.startswith("{")}


def test_every_resource_that_can_be_changed_is_sorted_by_what_it_reaches() -> None:
    found = {parameters(path).pop() for _, path in changing() if len(parameters(path)) == 1}
    assert found - SEVERAL - ONE - NO_HOSTS == set(), "decide what these reach"


def widen(db: Database, seeds: Seeds) -> UUID:
    """Let everything that can have several hosts have one more, which the scope does not hold."""
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="other", kind="agent")
        session.add(credential)
        session.flush()
        # One host of another label, and one that lacks the label altogether.
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
                AnnotationHost(annotation_id=seeds.ids["event"], host_id=bare.id),
            ]
        )
        version = frozen(UUID(seeds.ids["report"]), [seeds.ids["host"], str(bare.id)])
        version.number = 2
        session.add(version)
        session.flush()
        share = ReportShare(version_id=version.id, token_hash=bare.id.bytes, expires_at=now())
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
    for path in ("/incidents/{incident}", "/schedules/{schedule}", "/captures/{capture}", "/events/{event}"):
        assert scoped.get(API + seeds.fill(path)).status_code == 200, "seen as before"
    outside = scoped.delete(API + seeds.fill("/schedules/{schedule}"))
    assert outside.json()["key"] == "auth.outside_scope" and "role=feed" in outside.json()["detail"]


def test_nothing_new_reaches_beyond_a_scope(config: Settings, db: Database, people, as_: AsPerson) -> None:
    seeds = seed(config, db, people["admin"].id, FEED)
    both = [seeds.ids["host"], str(widen(db, seeds))]
    span = {
        "starts_at": (now() + timedelta(hours=1)).isoformat(),
        "ends_at": (now() + timedelta(hours=2)).isoformat(),
    }
    cron = {"kind": "cron", "cron": "0 * * * *", "zone": "UTC"}
    wanted = {"name": "x", "cadence": cron, "wanted": {"plan": "baseline"}}
    for path, body in (
        ("/captures", {"host_ids": both, "plan": "triage"}),
        ("/schedules", wanted | {"target": {"host_ids": both}}),
        ("/incidents", {"title": "t", "hosts": [{"host_id": one} for one in both]}),
        ("/events", {"what": "x", "hosts": both}),
        ("/events", {"what": "x", "everywhere": True}),
        ("/maintenance", span | {"reason": "disks"}),
        ("/maintenance", span | {"reason": "disks", "labels": {"dc": "x"}}),
    ):
        answer = as_("scoped").post(API + path, json=body)
        assert answer.status_code in {403, 404} or answer.json()["key"] == "annotation.no_such_host", path


@pytest.fixture
def labelled(db: Database, people) -> Schedule:
    """A schedule of an admin for all hosts in a data center."""
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        labels = FEED | {"dc": "a"}
        session.add(
            Host(name="h", address="10.9.9.9", username="u", labels=labels, credential_id=credential.id)
        )
        one = Schedule(
            name="dc", kind="cron", cron="0 * * * *", zone="UTC", wanted={"plan": "baseline"}, state="paused",
            owner_id=people["admin"].id, selector={"dc": "a"},
        )  # fmt: skip
        session.add(one)
        session.flush()
        return one


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


def test_who_told_of_an_event_cannot_change_it_on_hosts_that_were_taken_away(
    config: Settings, db: Database, people, as_: AsPerson
) -> None:
    seeds = seed(config, db, people["admin"].id, FEED)
    other = widen(db, seeds)
    with unit_of_work(db.sessions) as session:
        event = session.get_one(Annotation, UUID(seeds.ids["event"]))
        event.told_by, event.external_id = people["scoped"].id, "job"
        session.add(AnnotationHost(annotation_id=event.id, host_id=other))
    scoped = as_("scoped")
    assert scoped.delete(f"{API}/events/{event.id}").status_code == 403
    again = scoped.post(
        f"{API}/events", json={"what": "y", "external_id": "job", "hosts": [seeds.ids["host"]]}
    )
    assert (again.status_code, again.json()["key"]) == (403, "annotation.hosts_hidden")


def test_whether_a_scope_covers_labels() -> None:
    scope = {"env": ["a", "b"], "role": ["feed"]}
    actor = Actor(uuid7(), "x", "oncall", scope)
    for labels, within, covered in (
        ({}, {}, False),
        ({"env": "a"}, {}, False),
        ({"env": "a", "role": "feed"}, {}, True),
        ({"env": "c", "role": "feed"}, {}, False),
        ({"role": "feed"}, {"env": ["a"]}, True),
        ({"role": "feed"}, {"env": ["a", "c"]}, False),
        ({}, scope, True),
    ):
        assert covers(actor, labels, within) is covered, (labels, within)
    assert covers(Actor(uuid7(), "x", "oncall"), {})
