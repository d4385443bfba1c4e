"""Messages on their way: signed webhooks with retries, Slack, e-mail; what does not arrive is seen."""

from __future__ import annotations

import email
import email.policy
import json
import time
from datetime import timedelta
from uuid import UUID

import pytest
from culprit.domain.alerts.proof import compute_signature
from culprit.domain.rules.registry import CAUSES, RULES
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.analysis.diagnosis import Diagnosis
from culprit.infra.models.automation.trigger_response import TriggerResponseRecord
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_run import IncidentRun
from culprit.infra.models.incidents.journal_entry import JournalEntry
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.network.addresses import AddressRule
from culprit.infra.network.http_client import OutgoingError
from culprit.infra.network.mail import MailServer, send_mail
from culprit.infra.vault import get_vault
from culprit.jobs.incidents.record_diagnosis import record_diagnosis
from culprit.jobs.notifications import send_notification as sending
from culprit.jobs.notifications.notify_diagnosis import notify_diagnosis
from culprit.jobs.notifications.send_notification import PAUSES_S, send_notification
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.notifications import destinations
from culprit.notifications.message_bodies import build_mail, build_slack, build_webhook
from culprit.notifications.service import build_chart_token, build_example, parse_chart_token
from culprit.tests.support.mailbox import mailbox
from culprit.tests.support.runs import make_host
from culprit.tests.support.senders import API, sender
from culprit.tests.support.web import reply, web
from sqlalchemy import func, select, update

RULE = RULES["F-CPU-BUSY"]


def channel(admin, **body) -> dict:
    answer = admin.post(
        f"{API}/channels", json={"name": f"c{time.monotonic_ns()}", "kind": "webhook", **body}
    )
    assert answer.status_code == 201, answer.text
    return answer.json()


def evidence(value: float, run: object = "") -> dict:
    return {
        "finding": RULE.id, "strength": "direct", "severity": "warn", "subject": {}, "metric": RULE.measure.id,
        "value": value, "unit": "pct", "op": ">", "threshold": 85.0, "baseline": 12.0, "sample_count": 8, "artifact": "a",
        "locator": {"run": str(run)}, "detail": {},
    }  # fmt: skip


def build_related(run: object) -> dict:
    """A number that was compared with nothing."""
    own = {"finding": "F-MEM-OOM-CGROUP", "metric": "cgroup.memory_limit_mb", "value": 256.0, "unit": "mb"}
    return evidence(0.0, run) | own | {"op": None, "threshold": None, "baseline": None}


def answered(db: Database, state: str = "done", causes: bool = True) -> UUID:
    """The diagnosis that was started last has its answer."""
    with unit_of_work(db.sessions) as session:
        diagnosis = session.scalars(select(Diagnosis).order_by(Diagnosis.number.desc())).first()
        assert diagnosis is not None
        run = session.scalar(select(Run.id).where(Run.host_id == diagnosis.host_id).limit(1))
        first = next(iter(CAUSES))
        named = [
            {
                "id": first,
                "scope": {},
                "confidence": "likely",
                "evidence": [evidence(97.0, run), build_related(run)],
                "explains": [],
            }
        ]
        diagnosis.state, diagnosis.ended_at = state, utc_now()
        if state == "done":
            empty = (
                "ruled_out",
                "not_checked",
                "open",
                "not_collected",
                "inconclusive",
                "refuted",
                "context",
            )
            diagnosis.result = {name: [] for name in empty} | {
                "causes": named if causes else [],
                "differences": [],
            }
        else:
            diagnosis.failure = {"key": "ssh.timeout", "params": {}}
        session.execute(update(Run).values(state="done", ended_at=func.now()))
        return diagnosis.id


def fired(as_, client, db: Database, *channels: dict, peers: int = 0) -> UUID:
    make_host(db, "feed-1", {"role": "feed"})
    make_host(db, "feed-2", {"role": "feed"})
    options = {"peers": peers}
    trigger = sender(
        as_("oncall"), client, options=options, channel_ids=[channel["id"] for channel in channels]
    )
    assert trigger.alert("feed-1", title="p99 is 2.3 s")["started"] == 1
    return answered(db)


def notices(db: Database) -> list[Notification]:
    with db.sessions() as session:
        return list(session.scalars(select(Notification).order_by(Notification.number)))


def due(db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(Notification).values(not_before=utc_now() - timedelta(seconds=1)))


def test_the_answer_goes_into_the_incident_and_to_every_channel_once(
    as_, client, db: Database, loopback
) -> None:
    with web(reply(204, b"")) as server:
        first, second = (
            channel(as_("admin"), url=server.url),
            channel(as_("admin"), url=server.url, locale="zh"),
        )
        diagnosis_id = fired(as_, client, db, first, second, peers=1)
        assert dict(_rung(db))["culprit.notify_diagnosis"] == diagnosis_id
        assert notify_diagnosis(diagnosis_id) == 2
        assert notify_diagnosis(diagnosis_id) is None
        assert dict(_rung(db))["culprit.record_diagnosis"] == diagnosis_id
        assert record_diagnosis(diagnosis_id) and not record_diagnosis(diagnosis_id)
        assert not {"culprit.notify_diagnosis", "culprit.record_diagnosis"} & dict(_rung(db)).keys()
        assert [send_notification(item.id) for item in notices(db)] == ["sent", "sent"]
        headers, body = server.posted[0]
    reported = json.loads(body)
    cause = CAUSES[reported["cause_id"]]
    assert reported["cause"] == {"en": cause.title.en, "zh": cause.title.zh}
    assert reported["headline"] == f"feed-1: {cause.title.en}"
    assert json.loads(server.posted[1][1])["headline"] == f"feed-1：{cause.title.zh}"
    assert reported["figures"][0]["value"] == 97.0 and reported["figures"][0]["threshold"] == 85.0
    assert (reported["figures"][1]["op"], reported["figures"][1]["threshold"]) == (None, None)
    assert reported["figures"][1]["title"]["en"] == "Memory limit of the group"
    assert reported["peers"] == ["feed-2"] and reported["alert"] == "p99 is 2.3 s" and reported["alerts"] == 1
    assert reported["links"]["incident"].startswith("http://testserver/incidents/")
    assert "<svg" in reported["chart"]["svg"] and reported["chart"]["png_base64"].startswith("iVBOR")
    signed = compute_signature(first["secret"].encode(), headers["x-culprit-timestamp"], body)
    assert (
        headers["x-culprit-signature"] == f"v1={signed}"
        and headers["x-culprit-notification"] == reported["id"]
    )
    [incident] = as_("oncall").get(f"{API}/incidents").json()["items"]
    [listed] = as_("oncall").get(f"{API}/incidents/{incident['id']}").json()["diagnoses"]
    assert (listed["id"], listed["state"]) == (str(diagnosis_id), "done")
    with db.sessions() as session:
        roles = session.scalars(select(IncidentRun.role).order_by(IncidentRun.role)).all()
        kinds = session.scalars(select(JournalEntry.kind)).all()
        assert session.scalars(select(TriggerResponseRecord)).one().notified_at is not None
    assert list(roles) == ["control", "evidence"] and "diagnosis_completed" in kinds


def _rung(db: Database):
    with db.sessions() as session:
        return list_pending_jobs(session)


def test_diagnosis_without_cause_and_failed_diagnosis_are_notified(
    as_, client, db: Database, loopback
) -> None:
    with web(reply(200, b"ok")) as server:
        result = channel(as_("admin"), kind="slack", url=server.url + "/services/T0/B0/secret")
        first = fired(as_, client, db, result)
        with unit_of_work(db.sessions) as session:
            session.get_one(Diagnosis, first).result = {"causes": [], "context": [], "inconclusive": []}
        notify_diagnosis(first)
        trigger = sender(as_("oncall"), client, channel_ids=[result["id"]])
        make_host(db, "ads-1")
        trigger.alert("ads-1")
        notify_diagnosis(answered(db, "failed"))
        assert [send_notification(item.id) for item in notices(db)] == ["sent", "sent"]
    texts = [json.loads(body)["text"] for _, body in server.posted]
    assert texts == ["*feed-1: no cause found*", "*ads-1: the diagnosis failed*"]


def test_what_cannot_be_delivered_is_tried_again_and_then_dead(as_, client, db: Database, loopback) -> None:
    with web(reply(503, b"later")) as server:
        result = channel(as_("admin"), url=server.url)
        test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()
        assert send_notification(UUID(test["id"])) == "queued"
        assert send_notification(UUID(test["id"])) is None  # not its time yet
        [first] = notices(db)
        assert (first.attempts, first.failure["key"]) == (1, "outgoing.status")
        assert timedelta(seconds=5) < first.not_before - utc_now() < timedelta(seconds=PAUSES_S[0] + 1)
        states = []
        while not states or states[-1] == "queued":
            due(db)
            states.append(send_notification(UUID(test["id"])))
        assert states[-1] == "failed" and len(server.posted) == len(PAUSES_S) + 1
    seen = as_("oncall").get(f"{API}/notifications?state=failed").json()["items"]
    assert seen[0]["failure"]["params"]["status"] == 503 and seen[0]["attempts"] == len(PAUSES_S) + 1
    assert as_("oncall").post(f"{API}/notifications/{test['id']}/retry").status_code == 403
    assert as_("admin").post(f"{API}/notifications/{test['id']}/retry").json()["state"] == "queued"
    assert ("culprit.send_notification", UUID(test["id"])) in _rung(db)
    assert as_("admin").post(f"{API}/notifications/{test['id']}/retry").status_code == 409


@pytest.mark.parametrize(
    ("status", "state"), [(404, "failed"), (410, "failed"), (302, "failed"), (429, "queued"), (500, "queued")]
)
def test_what_another_try_would_not_change_is_dead_at_once(
    as_, db: Database, loopback, status, state
) -> None:
    with web(reply(status, b"", Location="http://169.254.169.254/")) as server:
        result = channel(as_("admin"), url=server.url)
        test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()
        assert send_notification(UUID(test["id"])) == state
        assert len(server.posted) == 1


def test_a_worker_that_is_lost_in_a_try_has_counted_it(as_, db: Database, loopback, monkeypatch) -> None:
    result = channel(as_("admin"), url="http://127.0.0.1:9/")
    test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()

    def lost(_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr(sending, "_deliver", lost)
    with pytest.raises(KeyboardInterrupt):
        send_notification(UUID(test["id"]))
    [left] = notices(db)
    assert (left.state, left.attempts) == ("queued", 1) and left.not_before > utc_now()


def test_only_what_the_allow_list_names_is_sent_to(as_, db: Database) -> None:
    for url in (
        "http://127.0.0.1:80/x",
        "http://169.254.169.254/",
        "http://[::1]/",
        "ftp://x/",
        "http://u:p@h/",
        "http://127.0.0.1:9/x?a=b#c",
    ):
        refused = as_("admin").post(f"{API}/channels", json={"name": "c", "kind": "webhook", "url": url})
        assert refused.status_code == 422, url
        assert url not in refused.text
    body = {
        "name": "c",
        "kind": "email",
        "mail": {"host": "127.0.0.1", "port": 25, "sender": "a@b.c", "to": ["d@e.f"]},
    }
    assert as_("admin").post(f"{API}/channels", json=body).json()["key"] == "outgoing.not_allowed"


def test_mail_carries_the_chart_and_no_injected_header(as_, client, db: Database, loopback) -> None:
    with mailbox() as box:
        mail_to = {"host": "127.0.0.1", "port": box.port, "security": "none", "username": "u", "password": "p" * 12,
                   "sender": "culprit@example.org", "to": ["a@example.org", "b@example.org"]}  # fmt: skip
        result = channel(as_("admin"), kind="email", mail=mail_to)
        assert result["destination"]["to"] == mail_to["to"] and "p" * 12 not in json.dumps(result)
        diagnosis_id = fired(as_, client, db, result)
        with unit_of_work(db.sessions) as session:
            session.execute(update(Host).where(Host.name == "feed-1").values(name="feed-1\r\nBcc: x@evil"))
        notify_diagnosis(diagnosis_id)
        assert [send_notification(item.id) for item in notices(db)] == ["sent"]
    [(recipients, raw)] = box.mails
    assert recipients == mail_to["to"]
    read = email.message_from_bytes(raw, policy=email.policy.default)
    assert read["Bcc"] is None and "feed-1" in read["Subject"] and read["From"] == "culprit@example.org"
    kinds = [part.get_content_type() for part in read.walk()]
    assert kinds == ["multipart/alternative", "text/plain", "multipart/related", "text/html", "image/png"]
    plain = read.get_body(("plain",)).get_content()
    assert "97 % > 85 %" in plain and "http://testserver/incidents/" in plain
    html = read.get_body(("html",)).get_content()
    picture = next(part for part in read.walk() if part.get_content_type() == "image/png")
    assert picture["Content-ID"][1:-1] in html and "http-equiv" not in html and "<script" not in html


@pytest.mark.parametrize(("code", "state"), [(550, "failed"), (451, "queued")])
def test_a_mail_server_that_refuses(as_, db: Database, loopback, code, state) -> None:
    with mailbox(refuse=code) as box:
        mail_to = {
            "host": "127.0.0.1",
            "port": box.port,
            "security": "none",
            "sender": "a@b.org",
            "to": ["c@d.org"],
        }
        result = channel(as_("admin"), kind="email", mail=mail_to)
        test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()
        assert send_notification(UUID(test["id"])) == state
    assert notices(db)[0].failure == {"key": "outgoing.mail", "params": {"host": "127.0.0.1", "code": code}}


def test_mail_requires_tls_that_is_configured() -> None:
    letter = build_mail("x", build_example(), "en", "a@b.org", ("c@d.org",))
    rules = (AddressRule("127.0.0.0/8", 1, 65535),)
    with mailbox() as box:
        for security in ("starttls", "tls"):
            with pytest.raises(OutgoingError) as caught:
                send_mail(MailServer("127.0.0.1", box.port, security, "u", "s3cret"), letter, rules)
            assert caught.value.kind in {"tls", "garbled"} and "s3cret" not in str(caught.value.sentence)
        assert not box.mails and not any("AUTH" in item for item in box.commands)
    with pytest.raises(OutgoingError) as caught:
        send_mail(MailServer("127.0.0.1", box.port, "none"), letter, rules)
    assert caught.value.kind == "unreachable"


def test_slack_mentions_no_user_and_links_the_chart_image(as_, client, db: Database, loopback) -> None:
    message = build_example()
    nasty = type(message)(
        "named", "<!channel> *x*", "a&b", "</>`", cause={"en": "<@U1>", "zh": ""}, confidence="likely"
    )
    text = build_slack(nasty, "en").decode()
    assert "<!channel>" not in text and "<@U1>" not in text and "&lt;!channel&gt;" in text
    with web(reply(200, b"ok")) as server:
        result = channel(as_("admin"), kind="slack", url=server.url + "/hook/?key=canary")
        assert "canary" not in json.dumps(result)
        send_notification(UUID(as_("admin").post(f"{API}/channels/{result['id']}/test").json()["id"]))
        quiet = channel(as_("admin"), kind="slack", url=server.url + "/hook", chart_link=False, locale="zh")
        send_notification(UUID(as_("admin").post(f"{API}/channels/{quiet['id']}/test").json()["id"]))
    assert [path for path, _ in server.requests] == ["/hook/?key=canary", "/hook"]
    first, second = (json.loads(body)["attachments"][0] for _, body in server.posted)
    assert "▁" in first["text"] and "image_url" not in second and "等待 CPU" in second["text"]
    path = first["image_url"].removeprefix("http://testserver")
    answer = client.get(path)
    assert answer.status_code == 200 and answer.content.startswith(b"\x89PNG")
    assert (
        answer.headers["x-robots-tag"].startswith("noindex") and answer.headers["cache-control"] == "no-store"
    )
    [item, _] = notices(db)
    token = build_chart_token(item.id)
    assert parse_chart_token(token) == item.id
    for wrong in (
        token[:-1] + ("0" if token[-1] != "0" else "1"),
        token.upper(),
        token[:32],
        "x" * 96,
        "%00",
    ):
        assert client.get(f"{API}/chart-images/{wrong}").status_code == 404
    with unit_of_work(db.sessions) as session:
        session.execute(update(Notification).values(created_at=utc_now() - timedelta(days=31)))
    assert client.get(path).status_code == 404


def test_the_picture_is_seen_with_the_message(as_, db: Database, loopback) -> None:
    result = channel(as_("admin"), url="http://127.0.0.1:9/")
    test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()
    answer = as_("oncall").get(f"{API}/notifications/{test['id']}/chart")
    assert answer.status_code == 200 and answer.text.startswith("<svg")
    assert "sandbox" in answer.headers["content-security-policy"]
    assert as_("investigator").get(f"{API}/notifications/{test['id']}/chart").status_code == 403


def test_a_channel_keeps_its_secrets(as_, db: Database, loopback) -> None:
    url = "http://127.0.0.1:9/services/T0/B0/very-secret"
    result = channel(as_("admin"), kind="slack", url=url)
    signed = channel(as_("admin"), url="http://127.0.0.1:9/", secret="s" * 24)
    assert (result["secret"], signed["secret"]) == (None, "s" * 24)
    listed = as_("oncall").get(f"{API}/channels").text
    assert "very-secret" not in listed and "s" * 24 not in listed
    with db.sessions() as session:
        row = session.get_one(Channel, UUID(result["id"]))
        assert destinations.open_destination(row, get_vault()).url == url and "very-secret" not in repr(
            destinations.open_destination(row, get_vault())
        )
    changed = (
        as_("admin").patch(f"{API}/channels/{result['id']}", json={"enabled": False, "name": "chat"}).json()
    )
    assert (changed["enabled"], changed["name"]) == (False, "chat")
    test = as_("admin").post(f"{API}/channels/{result['id']}/test").json()
    assert send_notification(UUID(test["id"])) == "failed"
    assert notices(db)[0].failure["key"] == "channel.disabled"
    assert as_("admin").delete(f"{API}/channels/{result['id']}").status_code == 204
    assert notices(db) == []


def test_an_incident_that_is_resolved_meanwhile_stays_as_it_is(as_, client, db: Database) -> None:
    diagnosis_id = fired(as_, client, db)
    with unit_of_work(db.sessions) as session:
        session.execute(update(Incident).values(state="resolved"))
    assert notify_diagnosis(diagnosis_id) == 0
    assert not record_diagnosis(diagnosis_id) and "culprit.record_diagnosis" not in dict(_rung(db))
    with db.sessions() as session:
        assert "diagnosis_completed" not in session.scalars(select(JournalEntry.kind)).all()


def test_message_texts_exist_in_both_languages() -> None:
    for locale in ("en", "zh"):
        body = json.loads(build_webhook("x", build_example(), locale))
        assert "{" not in body["headline"] and "notification." not in body["headline"]
