"""Requests of alert senders: formats, proof, repetition and hostile bodies."""

from __future__ import annotations

import hmac
import json
import time
from datetime import timedelta
from pathlib import Path

import pytest
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.alert import Alert
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.automation.trigger_delivery import TriggerDelivery
from culprit.infra.models.incidents.incident import Incident
from culprit.jobs.system.sweep import delete_expired_rows
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import API, FEED, count_rows, list_rows, sender
from sqlalchemy import func, select, update

PAYLOADS = Path(__file__).parent / "payloads"


@pytest.mark.parametrize("kind", ["alertmanager", "grafana", "pagerduty", "generic"])
def test_receive_accepts_each_trigger_kind(as_, client, db: Database, kind: str) -> None:
    make_host(db, "feed-7", FEED)
    options = {"window_s": 3600}
    body = json.loads((PAYLOADS / f"{kind}.json").read_text())
    if kind == "pagerduty":
        body["event"]["occurred_at"] = utc_now().isoformat()
    if kind == "generic":
        body["sent_at"] = int(time.time())
    trigger = sender(as_("oncall"), client, kind=kind, options=options)
    message = trigger.send(body)
    assert message.status_code == 202 and message.json()["started"] == 1, message.text
    assert list_rows(db, Incident)[0].title.startswith("feed")


def test_receive_refuses_forged_requests(feed, as_, client, db: Database) -> None:
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
    assert {(item.status_code, item.json()["key"]) for item in forged} == {(401, "trigger.refused")}
    assert count_rows(db, Alert) == 0
    [seen] = [
        item for item in as_("oncall").get(f"{API}/triggers").json()["items"] if item["id"] == signed.id
    ]
    assert seen["rejection_reason"]["key"] in {
        "trigger.not_signed",
        "trigger.wrong_signature",
        "trigger.out_of_time",
    }
    assert "secret" not in seen or seen["secret"] is None
    assert signed.send(body).json()["started"] == 1


def test_receive_counts_repeated_request_once(as_, client, db: Database) -> None:
    make_host(db, "feed-1", FEED)
    for proof in ("hmac", "token"):
        trigger = sender(as_("oncall"), client, proof=proof)
        raw = json.dumps({"title": f"x {proof}", "host": "feed-1"}).encode()
        headers = trigger.proven(raw)
        first, *more = (trigger.send(raw, headers=headers).json() for _ in range(3))
        assert not first["duplicate"] and all(item["duplicate"] for item in more)
        with db.sessions() as session:
            row = session.get_one(Trigger, trigger.id)
            assert (row.alert_count, row.duplicate_count) == (1, 2)
    # What is out of its time can be forgotten: it would be refused by its time.
    with unit_of_work(db.sessions) as session:
        delete_expired_rows(session)
        assert session.scalar(select(func.count()).select_from(TriggerDelivery)) == 2
        session.execute(update(TriggerDelivery).values(until=utc_now() - timedelta(seconds=1)))
        delete_expired_rows(session)
        assert session.scalar(select(func.count()).select_from(TriggerDelivery)) == 0


def test_receive_checks_pagerduty_signature_and_time(as_, client, db: Database) -> None:
    make_host(db, "feed-7", FEED)
    secret = "p" * 32
    trigger = sender(as_("oncall"), client, kind="pagerduty", proof="hmac", secret=secret)
    body = json.loads((PAYLOADS / "pagerduty.json").read_text())

    def send():
        raw = json.dumps(body).encode()
        signed = hmac.new(secret.encode(), raw, "sha256").hexdigest()
        return trigger.send(raw, headers={"X-PagerDuty-Signature": f"v1={signed}"})

    assert send().status_code == 401  # of another day
    body["event"]["occurred_at"] = utc_now().isoformat()
    assert send().json()["started"] == 1
    assert send().json()["duplicate"]


def test_receive_refuses_or_sanitizes_hostile_bodies(feed, db: Database) -> None:
    assert feed.send(b"{").json()["key"] == "alert.not_json"
    assert feed.send(b"{}").json()["key"] == "alert.no_field"
    assert feed.send(b'{"title": "' + b"x" * (600 << 10) + b'"}').status_code == 413
    nasty = "<script>alert(1)</script>\x00\x1b[31m\u202e'; DROP TABLE alert; --"
    message = feed.send({"title": nasty, "host": "feed-1", "labels": {nasty: nasty}}).json()
    assert message["started"] == 1
    [alert], [incident] = list_rows(db, Alert), list_rows(db, Incident)
    assert "\x00" not in alert.title and "\x1b" not in incident.title and "DROP TABLE" in alert.title


def test_trigger_secrets_are_returned_once(as_, client, db: Database) -> None:
    oncall = as_("oncall")
    body = {"name": "alertmanager of dc1", "kind": "alertmanager"}
    result = oncall.post(f"{API}/triggers", json=body, headers={"Idempotency-Key": "k"})
    assert result.status_code == 201 and result.json()["path"].endswith(
        f"/triggers/{result.json()['id']}/alerts"
    )
    assert oncall.post(f"{API}/triggers", json=body, headers={"Idempotency-Key": "k"}).status_code == 409
    assert oncall.post(f"{API}/triggers", json=body).json()["key"] == "trigger.name_taken"
    url = f"{API}/triggers/{result.json()['id']}"
    renewed = oncall.patch(url, json={"new_secret": True, "enabled": False}).json()
    assert renewed["secret"] not in {None, result.json()["secret"]}
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
