"""Alerts over HTTP against a real database: proof, matching, incidents, captures with peers, bounds."""

from __future__ import annotations

import hmac
import json
import threading
import time
from collections import Counter
from datetime import timedelta
from pathlib import Path

import pytest
from culprit.auth.automation import permit_automatic, tiers_for
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.errors import Forbidden
from culprit.kit.sentences import catalogue
from culprit.kit.unit_of_work import unit_of_work
from culprit.main import create_app
from culprit.models import (
    Alert,
    Capture,
    Diagnosis,
    Event,
    Firing,
    Host,
    Incident,
    IncidentHost,
    JournalEntry,
    Run,
    Service,
    TierAllowance,
    Trigger,
    TriggerDelivery,
    UserAccount,
)
from culprit.tests.support.fleet import add_look
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import API, sender
from culprit.workflows.sweep import forget_old
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update

from collectors.contract import Tier

PAYLOADS = Path(__file__).parent / "payloads"
FEED = {"role": "feed"}


@pytest.fixture
def feed(as_, client, db):
    """Four hosts of one kind, one of another, a trigger of the on-call."""
    for n in range(1, 5):
        make_host(db, f"feed-{n}", {**FEED, "dc": "a" if n < 4 else "b"})
    make_host(db, "ads-1", {"role": "ads"})
    return sender(as_("oncall"), client)


def count(db: Database, what) -> int:
    with db.sessions() as session:
        return session.scalar(select(func.count()).select_from(what)) or 0


def of(db: Database, what) -> list:
    with db.sessions() as session:
        return list(session.scalars(select(what).order_by(what.id)))


def age(db: Database, seconds: float) -> None:
    """All that was started and alerted lies so much further back, and is over on the hosts."""
    back = timedelta(seconds=seconds)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Firing).values(created_at=Firing.created_at - back))
        session.execute(
            update(Alert).values(created_at=Alert.created_at - back, last_at=Alert.last_at - back)
        )
        session.execute(update(Run).values(state="done", ended_at=func.now()))
        session.execute(update(Diagnosis).values(state="done", ended_at=func.now()))


def test_an_alert_opens_an_incident_and_captures_its_host_with_two_healthy_peers(
    feed, db: Database, people
) -> None:
    began = "2026-11-22T00:00:00Z" if now().year == 2026 else None
    said = feed.alert(title="p99 is 2.3 s", summary="since a while", service="feed", began_at=began)
    assert said["fired"] == 1
    [incident], [diagnosis], [capture] = of(db, Incident), of(db, Diagnosis), of(db, Capture)
    assert incident.title == "feed: p99 is 2.3 s" and incident.symptom["says"] == "since a while"
    assert incident.created_by == people["oncall"].id
    assert (capture.source, diagnosis.source, capture.plan) == ("trigger", "trigger", "custom")
    assert capture.requested_by == people["oncall"].id and capture.diagnosis_id == diagnosis.id
    with db.sessions() as session:
        names = dict(session.execute(select(Host.id, Host.name)).all())
        hosts = sorted(names[run.host_id] for run in session.scalars(select(Run)))
        roles = {names[one.host_id]: one.role for one in session.scalars(select(IncidentHost))}
        told = session.scalars(select(JournalEntry.kind).order_by(JournalEntry.version)).all()
    assert hosts == [
        "feed-1",
        "feed-2",
        "feed-3",
    ]  # feed-4 is in another data centre, ads-1 does something else
    assert roles == {"feed-1": "suspect", "feed-2": "control", "feed-3": "control"}
    assert "alert_opened" in told and all(f"journal.{one}" in catalogue("zh") for one in told)
    [mark] = of(db, Event)
    assert (mark.kind, mark.host_id) == ("alert", diagnosis.host_id) and mark.title["key"] in catalogue("zh")


def test_the_same_joins_within_the_cooldown_and_fires_again_after_it(feed, db: Database) -> None:
    assert feed.alert(id="a")["fired"] == 1
    assert feed.alert(id="a")["joined"] == 1
    assert feed.alert(id="b")["joined"] == 1  # another alert of the same cause on the same host
    assert feed.alert(title="something else")["joined"] == 1  # and another cause: it was looked at just now
    [first, *_] = of(db, Alert)
    assert (first.count, first.state) == (2, "fired")
    assert len({one.incident_id for one in of(db, Alert)}) == 1
    age(db, 400)  # beyond the host's pause, within the cooldown of the cause
    assert feed.alert(id="b")["joined"] == 1
    assert feed.alert(title="a third thing")["fired"] == 1
    assert count(db, Incident) == 1
    age(db, 2000)
    assert feed.alert(id="a")["fired"] == 1
    assert count(db, Capture) == 3


def test_a_resolved_incident_is_not_joined_and_an_alert_may_be_over(feed, db: Database) -> None:
    feed.alert(id="a")
    assert feed.alert(id="a", status="resolved")["resolved"] == 1
    assert of(db, Alert)[0].resolved_at is not None
    with unit_of_work(db.sessions) as session:
        session.execute(update(Incident).values(state="resolved"))
    age(db, 2000)
    assert feed.alert(id="a")["fired"] == 1
    assert count(db, Incident) == 2 and count(db, Alert) == 2


def test_a_storm_of_a_thousand_through_two_processes_is_one_capture(feed, config, db: Database) -> None:
    other = create_app(config)
    answers: Counter[str] = Counter()
    with TestClient(other) as second:
        clients = [feed.client, second]

        def shower(client: TestClient, part: int) -> None:
            mine = type(feed)(client, feed.id, feed.kind, feed.proof, feed.secret)
            for n in range(5):
                alerts = [{"title": "slow", "host": "feed-1", "id": str(one % 7)} for one in range(50)]
                said = mine.send({"alerts": alerts, "part": part, "n": n}).json()
                for name in ("fired", "joined", "held", "refused", "unmatched"):
                    answers[name] += said[name]

        threads = [threading.Thread(target=shower, args=(clients[part % 2], part)) for part in range(4)]
        for one in threads:
            one.start()
        for one in threads:
            one.join()
    other.state.database.close()
    assert answers == Counter(fired=1, joined=999)
    assert (count(db, Capture), count(db, Incident), count(db, Diagnosis)) == (1, 1, 1)
    assert sum(one.count for one in of(db, Alert)) == 1000 and count(db, Alert) == 7
    with db.sessions() as session:
        told = session.scalars(select(JournalEntry.kind)).all()
    assert len([one for one in told if one.startswith("alert_")]) <= 2


def test_of_many_hosts_of_a_kind_some_are_captured_at_once(as_, client, db: Database) -> None:
    for n in range(30):
        make_host(db, f"web-{n}", {"role": "web"})
    trigger = sender(as_("oncall"), client, options={"peers": 0})
    said = Counter(
        next(name for name in ("fired", "joined", "held") if answer[name])
        for answer in (trigger.alert(f"web-{n}", group="deploy") for n in range(6))
    )
    assert said == Counter(fired=3, held=3)  # 10 % of 30
    assert count(db, Incident) == 1
    held = [one for one in of(db, Alert) if one.state == "held"]
    assert {one.reason["key"] for one in held} == {"alert.group_full"}
    age(db, 1)
    assert trigger.alert("web-5", group="deploy")["fired"] == 1


def test_peers_are_well_alike_and_not_busy(feed, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        ids = dict(session.execute(select(Host.name, Host.id)).all())
        add_look(session, ids["feed-4"])
    assert feed.alert("feed-1")["fired"] == 1
    [firing] = of(db, Firing)
    assert firing.peers == [
        str(ids["feed-4"]),
        str(ids["feed-2"]),
    ]  # found well at its last look, then by name
    age(db, 4000)
    feed.alert("feed-3", title="c")
    peers = of(db, Firing)[-1].peers
    assert str(ids["feed-1"]) not in peers and str(ids["ads-1"]) not in peers


def test_a_service_alone_means_one_of_its_hosts(feed, as_, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(Service(name="Feed", selector=FEED))
    answer = feed.send({"title": "errors", "labels": {"service": "feed"}}).json()
    assert answer["fired"] == 1
    [alert] = of(db, Alert)
    assert alert.service == "Feed"


UNMATCHED = [
    ({}, "alert.no_place"),
    ({"host": "nowhere"}, "alert.host_unknown"),
    ({"service": "nothing"}, "alert.service_unknown"),
    ({"service": "lonely"}, "alert.service_empty"),
    ({"host": "db"}, "alert.host_ambiguous"),
]


@pytest.mark.parametrize(("labels", "why"), UNMATCHED, ids=[why for _, why in UNMATCHED])
def test_what_fits_nothing_stays_visible_with_its_reason(feed, as_, db: Database, labels, why) -> None:
    make_host(db, "db.dc1")
    make_host(db, "db.dc2")
    with unit_of_work(db.sessions) as session:
        session.add(Service(name="lonely", selector={"role": "lonely"}))
    for _ in range(3):
        assert feed.send({"title": "x", "labels": labels, "n": time.monotonic_ns()}).json()["unmatched"] == 1
    [seen] = as_("oncall").get(f"{API}/alerts?state=unmatched").json()["items"]
    assert (seen["reason"]["key"], seen["count"], seen["host"]) == (why, 3, None)
    assert why in catalogue("en") and why in catalogue("zh")
    assert count(db, Incident) == count(db, Capture) == 0


def test_only_some_alerts_may_be_wanted(as_, client, db: Database) -> None:
    make_host(db, "feed-1", FEED)
    trigger = sender(as_("oncall"), client, options={"only": {"severity": ["page"]}, "host_labels": ["box"]})
    assert (
        trigger.send({"title": "x", "labels": {"severity": "info", "box": "feed-1"}}).json()["unmatched"] == 1
    )
    assert trigger.send({"title": "x", "labels": {"severity": "page", "box": "feed-1"}}).json()["fired"] == 1


@pytest.mark.parametrize("kind", ["alertmanager", "grafana", "pagerduty", "generic"])
def test_each_kind_of_sender_fires(as_, client, db: Database, kind: str) -> None:
    make_host(db, "feed-7", FEED)
    options = {"window_s": 3600}
    body = json.loads((PAYLOADS / f"{kind}.json").read_text())
    if kind == "pagerduty":
        body["event"]["occurred_at"] = now().isoformat()
    if kind == "generic":
        body["sent_at"] = int(time.time())
    trigger = sender(as_("oncall"), client, kind=kind, options=options)
    said = trigger.send(body)
    assert said.status_code == 202 and said.json()["fired"] == 1, said.text
    assert of(db, Incident)[0].title.startswith("feed")


def test_a_request_must_prove_where_it_is_from(feed, as_, client, db: Database) -> None:
    body = {"title": "x", "host": "feed-1"}
    signed = sender(as_("oncall"), client, proof="hmac")
    assert signed.secret.startswith("culprit_trigger_")
    raw = json.dumps(body).encode()
    forged = [
        feed.send(body, headers={"Authorization": "Bearer culprit_trigger_guess"}),
        feed.send(body, headers={"Authorization": feed.secret}),
        feed.send(body, headers={"X-None": "1"}),
        feed.send(body, headers={"Authorization": f"Bearer {feed.secret}", "X-Culprit-Timestamp": "1000"}),
        signed.send(body, headers={"Authorization": f"Bearer {signed.secret}"}),
        signed.send(raw + b" ", headers=signed.proven(raw)),
        signed.send(body, at=int(time.time()) - 1000),
        signed.send(body, at=int(time.time()) + 1000),
        client.post(f"{API}/triggers/{'0' * 8}-0000-7000-8000-{'0' * 12}/alerts", json=body),
    ]
    assert {(one.status_code, one.json()["key"]) for one in forged} == {(401, "trigger.refused")}
    assert count(db, Alert) == 0
    [seen] = [one for one in as_("oncall").get(f"{API}/triggers").json()["items"] if one["id"] == signed.id]
    assert seen["refused_for"]["key"] in {
        "trigger.not_signed",
        "trigger.wrong_signature",
        "trigger.out_of_time",
    }
    assert "secret" not in seen or seen["secret"] is None
    assert signed.send(body).json()["fired"] == 1


def test_the_same_request_counts_once(as_, client, db: Database) -> None:
    make_host(db, "feed-1", FEED)
    for proof in ("hmac", "token"):
        trigger = sender(as_("oncall"), client, proof=proof)
        raw = json.dumps({"title": f"x {proof}", "host": "feed-1"}).encode()
        headers = trigger.proven(raw)
        first, *more = (trigger.send(raw, headers=headers).json() for _ in range(3))
        assert not first["duplicate"] and all(one["duplicate"] for one in more)
        with db.sessions() as session:
            row = session.get_one(Trigger, trigger.id)
            assert (row.heard, row.repeated) == (1, 2)
    # What is out of its time can be forgotten: it would be refused by its time.
    with unit_of_work(db.sessions) as session:
        forget_old(session)
        assert session.scalar(select(func.count()).select_from(TriggerDelivery)) == 2
        session.execute(update(TriggerDelivery).values(until=now() - timedelta(seconds=1)))
        forget_old(session)
        assert session.scalar(select(func.count()).select_from(TriggerDelivery)) == 0


def test_pagerduty_signs_its_body_and_its_time_counts(as_, client, db: Database) -> None:
    make_host(db, "feed-7", FEED)
    secret = "p" * 32
    trigger = sender(as_("oncall"), client, kind="pagerduty", proof="hmac", secret=secret)
    body = json.loads((PAYLOADS / "pagerduty.json").read_text())

    def send():
        raw = json.dumps(body).encode()
        signed = hmac.new(secret.encode(), raw, "sha256").hexdigest()
        return trigger.send(raw, headers={"X-PagerDuty-Signature": f"v1={signed}"})

    assert send().status_code == 401  # of another day
    body["event"]["occurred_at"] = now().isoformat()
    assert send().json()["fired"] == 1
    assert send().json()["duplicate"]


def test_hostile_bodies_are_refused_or_harmless(feed, db: Database) -> None:
    assert feed.send(b"{").json()["key"] == "alert.not_json"
    assert feed.send(b"{}").json()["key"] == "alert.no_field"
    assert feed.send(b'{"title": "' + b"x" * (600 << 10) + b'"}').status_code == 413
    nasty = "<script>alert(1)</script>\x00\x1b[31m\u202e'; DROP TABLE alert; --"
    said = feed.send({"title": nasty, "host": "feed-1", "labels": {nasty: nasty}}).json()
    assert said["fired"] == 1
    [alert], [incident] = of(db, Alert), of(db, Incident)
    assert "\x00" not in alert.title and "\x1b" not in incident.title and "DROP TABLE" in alert.title


def test_the_owners_rights_are_those_of_the_moment(feed, as_, db: Database, people) -> None:
    owner = people["oncall"].id

    def with_account(**values) -> dict:
        with unit_of_work(db.sessions) as session:
            session.execute(update(UserAccount).where(UserAccount.id == owner).values(**values))
        return feed.alert(title=f"t{time.monotonic_ns()}")

    assert with_account(role="viewer")["refused"] == 1
    assert with_account(role="oncall", label_scope={"role": ["ads"]})["unmatched"] == 1
    assert with_account(label_scope={}, disabled_at=now())["refused"] == 1
    assert {one.reason["key"] for one in of(db, Alert)} == {
        "auth.role_too_low", "alert.host_unknown", "trigger.owner_gone",
    }  # fmt: skip
    assert count(db, Capture) == 0
    # Whoever saves it owns it.
    assert as_("admin").patch(f"{API}/triggers/{feed.id}", json={}).json()["owner"]["name"] == "admin"
    assert feed.alert(title="now")["fired"] == 1


def test_a_kill_switch_holds_triggers_too(feed, as_, db: Database) -> None:
    as_("admin").post(f"{API}/kill-switches", json={"kind": "label", "label": FEED, "reason": "calm"})
    assert feed.alert()["refused"] == 1
    assert of(db, Alert)[0].reason["key"] == "kill_switch.label"
    assert count(db, Capture) == 0
    assert feed.alert("ads-1")["fired"] == 1


def test_only_light_unless_an_administrator_allows_standard_for_a_label(feed, as_, db: Database) -> None:
    tried = as_("oncall").post(f"{API}/triggers/{feed.id}/test", json={"labels": {"host": "feed-1"}}).json()
    assert (tried["state"], tried["tiers"]) == ("fired", ["light"])
    assert [one["name"] for one in tried["peers"]] == ["feed-2", "feed-3"]
    assert as_("oncall").post(f"{API}/tier-allowances", json={"label": FEED}).status_code == 403
    made = as_("admin").post(f"{API}/tier-allowances", json={"label": FEED}).json()
    assert as_("admin").post(f"{API}/tier-allowances", json={"label": FEED}).json()["id"] == made["id"]
    tried = as_("oncall").post(f"{API}/triggers/{feed.id}/test", json={"labels": {"host": "feed-1"}}).json()
    assert tried["tiers"] == ["light", "standard"]
    assert as_("admin").delete(f"{API}/tier-allowances/{made['id']}").status_code == 204
    assert count(db, TierAllowance) == count(db, Alert) == count(db, Capture) == 0


def test_a_capture_that_nobody_stands_behind_is_refused_above_its_tier(db: Database, people, session) -> None:
    host_id = make_host(db, "feed-1", FEED)
    host = session.get_one(Host, host_id)
    assert tiers_for(session, host, "manual") == set(Tier)
    permit_automatic(session, Tier.LIGHT, [host], "trigger")
    for tier in (Tier.STANDARD, Tier.DEEP, Tier.PTRACE):
        with pytest.raises(Forbidden):
            permit_automatic(session, tier, [host], "trigger")
    session.add(TierAllowance(label_name="role", label_value="feed"))
    session.flush()
    permit_automatic(session, Tier.STANDARD, [host], "trigger")
    for tier in (Tier.DEEP, Tier.PTRACE):
        with pytest.raises(Forbidden):
            permit_automatic(session, tier, [host], "trigger")


def test_triggers_are_managed_and_their_secrets_told_once(as_, client, db: Database) -> None:
    oncall = as_("oncall")
    body = {"name": "alertmanager of dc1", "kind": "alertmanager"}
    made = oncall.post(f"{API}/triggers", json=body, headers={"Idempotency-Key": "k"})
    assert made.status_code == 201 and made.json()["path"].endswith(f"/triggers/{made.json()['id']}/alerts")
    assert oncall.post(f"{API}/triggers", json=body, headers={"Idempotency-Key": "k"}).status_code == 409
    assert oncall.post(f"{API}/triggers", json=body).json()["key"] == "trigger.name_taken"
    url = f"{API}/triggers/{made.json()['id']}"
    renewed = oncall.patch(url, json={"new_secret": True, "enabled": False}).json()
    assert renewed["secret"] not in {None, made.json()["secret"]}
    headers = {"Authorization": f"Bearer {renewed['secret']}"}
    assert (
        client.post(f"{url}/alerts", json={"alerts": []}, headers=headers).status_code == 401
    )  # switched off
    assert oncall.patch(url, json={"enabled": True}).json()["secret"] is None
    assert client.post(f"{url}/alerts", json={"alerts": []}, headers=headers).status_code == 202
    assert oncall.post(f"{API}/triggers", json={**body, "name": "x", "secret": "s" * 20}).status_code == 422
    assert as_("scoped").get(f"{API}/triggers").json()["items"] == []
    assert as_("scoped").patch(url, json={}).status_code == 404
    assert oncall.delete(url).status_code == 204
