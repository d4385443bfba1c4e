"""Alerts over HTTP against a real database: matching, incidents, captures with peers, limits."""

from __future__ import annotations

import threading
import time
from collections import Counter

import pytest
from culprit.domain.messages import load_messages
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.evidence.event import StoredEvent
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.server.web import create_app
from culprit.tests.support.fleet import add_evaluated_run
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import API, FEED, age_alerts, count_rows, list_rows, sender
from fastapi.testclient import TestClient
from sqlalchemy import select, update


def test_receive_opens_incident_and_captures_host_with_peers(feed, db: Database, people) -> None:
    began = "2026-11-22T00:00:00Z" if utc_now().year == 2026 else None
    message = feed.alert(title="p99 is 2.3 s", summary="since a while", service="feed", began_at=began)
    assert message["started"] == 1
    [incident], [diagnosis], [capture] = (
        list_rows(db, Incident),
        list_rows(db, Diagnosis),
        list_rows(db, Capture),
    )
    assert incident.title == "feed: p99 is 2.3 s" and incident.symptom["description"] == "since a while"
    assert incident.created_by == people["oncall"].id
    assert (capture.source, diagnosis.source, capture.plan) == ("trigger", "trigger", "custom")
    assert capture.requested_by == people["oncall"].id and capture.diagnosis_id == diagnosis.id
    with db.sessions() as session:
        names = dict(session.execute(select(Host.id, Host.name)).all())
        hosts = sorted(names[run.host_id] for run in session.scalars(select(Run)))
        roles = {names[item.host_id]: item.role for item in session.scalars(select(IncidentHost))}
        reported_session = session.scalars(select(JournalEntry.kind).order_by(JournalEntry.version)).all()
    assert hosts == [
        "feed-1",
        "feed-2",
        "feed-3",
    ]  # feed-4 is in another data centre, ads-1 does something else
    assert roles == {"feed-1": "suspect", "feed-2": "control", "feed-3": "control"}
    assert "alert_opened" in reported_session and all(
        f"journal.{item}" in load_messages("zh") for item in reported_session
    )
    [mark] = list_rows(db, StoredEvent)
    assert (mark.kind, mark.host_id) == ("alert", diagnosis.host_id) and mark.title["key"] in load_messages(
        "zh"
    )


def test_receive_joins_repetition_within_cooldown(feed, db: Database) -> None:
    assert feed.alert(id="a")["started"] == 1
    assert feed.alert(id="a")["joined"] == 1
    assert feed.alert(id="b")["joined"] == 1  # another alert of the same cause on the same host
    assert feed.alert(title="something else")["joined"] == 1  # and another cause: it was looked at just now
    [first, *_] = list_rows(db, Alert)
    assert (first.count, first.state) == (2, "started")
    assert len({item.incident_id for item in list_rows(db, Alert)}) == 1
    age_alerts(db, 400)  # beyond the host's pause, within the cooldown of the cause
    assert feed.alert(id="b")["joined"] == 1
    assert feed.alert(title="a third thing")["started"] == 1
    assert count_rows(db, Incident) == 1
    age_alerts(db, 2000)
    assert feed.alert(id="a")["started"] == 1
    assert count_rows(db, Capture) == 3


def test_receive_does_not_join_resolved_incident(feed, db: Database) -> None:
    feed.alert(id="a")
    assert feed.alert(id="a", status="resolved")["resolved"] == 1
    assert list_rows(db, Alert)[0].resolved_at is not None
    with unit_of_work(db.sessions) as session:
        session.execute(update(Incident).values(state="resolved"))
    age_alerts(db, 2000)
    assert feed.alert(id="a")["started"] == 1
    assert count_rows(db, Incident) == 2 and count_rows(db, Alert) == 2


def test_receive_merges_alert_storm_into_single_capture(feed, config, db: Database) -> None:
    other = create_app(config)
    answers: Counter[str] = Counter()
    with TestClient(other) as second:
        clients = [feed.client, second]

        def shower(client: TestClient, part: int) -> None:
            mine = type(feed)(client, feed.id, feed.kind, feed.proof, feed.secret)
            for n in range(5):
                alerts = [{"title": "slow", "host": "feed-1", "id": str(item % 7)} for item in range(50)]
                message = mine.send({"alerts": alerts, "part": part, "n": n}).json()
                for name in ("started", "joined", "deferred", "refused", "unmatched"):
                    answers[name] += message[name]

        threads = [threading.Thread(target=shower, args=(clients[part % 2], part)) for part in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
    other.state.database.close()
    assert answers == Counter(started=1, joined=999)
    assert (count_rows(db, Capture), count_rows(db, Incident), count_rows(db, Diagnosis)) == (1, 1, 1)
    assert sum(item.count for item in list_rows(db, Alert)) == 1000 and count_rows(db, Alert) == 7
    with db.sessions() as session:
        reported_session = session.scalars(select(JournalEntry.kind)).all()
    assert len([item for item in reported_session if item.startswith("alert_")]) <= 2


def test_receive_limits_captures_of_a_host_group(as_, client, db: Database) -> None:
    for n in range(30):
        make_host(db, f"web-{n}", {"role": "web"})
    trigger = sender(as_("oncall"), client, options={"peers": 0})
    message = Counter(
        next(name for name in ("started", "joined", "deferred") if answer[name])
        for answer in (trigger.alert(f"web-{n}", group="deploy") for n in range(6))
    )
    assert message == Counter(started=3, deferred=3)  # 10 % of 30
    assert count_rows(db, Incident) == 1
    deferred = [item for item in list_rows(db, Alert) if item.state == "deferred"]
    assert {item.reason["key"] for item in deferred} == {"alert.group_full"}
    age_alerts(db, 1)
    assert trigger.alert("web-5", group="deploy")["started"] == 1


def test_receive_selects_healthy_idle_peers(feed, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        ids = dict(session.execute(select(Host.name, Host.id)).all())
        add_evaluated_run(session, ids["feed-4"])
    assert feed.alert("feed-1")["started"] == 1
    [firing] = list_rows(db, TriggerResponseRecord)
    assert firing.peers == [
        str(ids["feed-4"]),
        str(ids["feed-2"]),
    ]  # found well at its last look, then by name
    age_alerts(db, 4000)
    feed.alert("feed-3", title="c")
    peers = list_rows(db, TriggerResponseRecord)[-1].peers
    assert str(ids["feed-1"]) not in peers and str(ids["ads-1"]) not in peers


def test_receive_selects_host_of_service(feed, as_, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(Service(name="Feed", selector=FEED))
    answer = feed.send({"title": "errors", "labels": {"service": "feed"}}).json()
    assert answer["started"] == 1
    [alert] = list_rows(db, Alert)
    assert alert.service == "Feed"


UNMATCHED = [
    ({}, "alert.no_place"),
    ({"host": "nowhere"}, "alert.host_unknown"),
    ({"service": "nothing"}, "alert.service_unknown"),
    ({"service": "lonely"}, "alert.service_empty"),
    ({"host": "db"}, "alert.host_ambiguous"),
]


@pytest.mark.parametrize(("labels", "why"), UNMATCHED, ids=[why for _, why in UNMATCHED])
def test_receive_stores_unmatched_alert_with_reason(feed, as_, db: Database, labels, why) -> None:
    make_host(db, "db.dc1")
    make_host(db, "db.dc2")
    with unit_of_work(db.sessions) as session:
        session.add(Service(name="lonely", selector={"role": "lonely"}))
    for _ in range(3):
        assert feed.send({"title": "x", "labels": labels, "n": time.monotonic_ns()}).json()["unmatched"] == 1
    [seen] = as_("oncall").get(f"{API}/alerts?state=unmatched").json()["items"]
    assert (seen["reason"]["key"], seen["count"], seen["host"]) == (why, 3, None)
    assert why in load_messages("en") and why in load_messages("zh")
    assert count_rows(db, Incident) == count_rows(db, Capture) == 0


def test_receive_applies_trigger_filter(as_, client, db: Database) -> None:
    make_host(db, "feed-1", FEED)
    trigger = sender(
        as_("oncall"), client, options={"label_filter": {"severity": ["page"]}, "host_labels": ["box"]}
    )
    assert (
        trigger.send({"title": "x", "labels": {"severity": "info", "box": "feed-1"}}).json()["unmatched"] == 1
    )
    assert (
        trigger.send({"title": "x", "labels": {"severity": "page", "box": "feed-1"}}).json()["started"] == 1
    )
