"""Annotations in Grafana: one for each item, current in spite of lost requests. Against a strict imitation
of its documented API."""

from __future__ import annotations

from collections.abc import Iterator
from datetime import timedelta

import pytest
from culprit.domain.integrations.grafana import AnnotationContent, build_annotation, to_milliseconds, to_tag
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.incidents.fix import Fix
from culprit.infra.models.incidents.hypothesis import Hypothesis
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.incidents.incident_host import IncidentHost
from culprit.infra.models.notifications.grafana_annotation import GrafanaAnnotation
from culprit.jobs.notifications.send_annotation import send_annotation, sync_annotations
from culprit.jobs.notifications.send_notification import PAUSES_S
from culprit.jobs.system.pending_jobs import list_pending_jobs
from culprit.tests.support.fleet import add_hosts
from culprit.tests.support.grafana import TOKEN, Grafana, grafana
from hypothesis import given
from hypothesis import strategies as st
from sqlalchemy import select, update

API = "/api/v1"


@pytest.fixture
def server() -> Iterator[Grafana]:
    with grafana() as item:
        yield item


@pytest.fixture
def channel(as_, db: Database, server: Grafana) -> dict:
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
    body = {"name": "graphs", "kind": "grafana", "url": server.url, "secret": TOKEN}
    answer = as_("admin").post(f"{API}/channels", json=body)
    assert answer.status_code == 201 and answer.json()["secret"] is None and TOKEN not in answer.text
    return answer.json()


@pytest.fixture
def story(db: Database, people) -> dict:
    """An incident on one host with a capture, a likely cause and an applied fix."""
    at = utc_now()
    with unit_of_work(db.sessions) as session:
        [host] = add_hosts(session, ["web<1>,"], [{"role": "feed"}])
        capture = Capture(plan="triage", state="done", ended_at=at, created_at=at - timedelta(minutes=1))
        incident = Incident(title="<script>x</script>", severity=2, window_from=at - timedelta(minutes=9))
        session.add_all([capture, incident])
        session.flush()
        session.add(Run(capture_id=capture.id, host_id=host, state="done"))
        session.add(IncidentHost(incident_id=incident.id, host_id=host))
        cause = Hypothesis(
            incident_id=incident.id, key="own/1", summary={"en": "too many", "zh": "太多"}, state="likely"
        )
        fix = Fix(incident_id=incident.id, what="fewer threads", state="applied", applied_at=at)
        session.add_all([cause, fix])
        session.flush()
        return {"capture": capture.id, "incident": incident.id, "cause": cause.id, "fix": fix.id}


def deliver(db: Database) -> list[str | None]:
    """Sends what waits, however long it would."""
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(GrafanaAnnotation).where(GrafanaAnnotation.state == "queued").values(not_before=utc_now())
        )
    with db.sessions() as session:
        waiting = [item for name, item in list_pending_jobs(session) if name == "culprit.send_annotation"]
    return [send_annotation(item) for item in waiting]


def tagged(server: Grafana, name: str) -> list[dict]:
    return [item for item in server.kept.values() if name in item["tags"]]


def test_sync_creates_each_annotation_once_with_tags(db: Database, channel, story, server: Grafana) -> None:
    assert sync_annotations(get_database()) == 4
    assert deliver(db) == ["sent"] * 4
    assert sync_annotations(get_database()) == 0 and deliver(db) == [], "nothing changed"
    [incident], [cause], [fix], [capture] = (
        tagged(server, item) for item in ("incident", "cause", "fix", "capture")
    )
    assert (
        "severity:2" in incident["tags"]
        and "host:web<1>" in incident["tags"]
        and "culprit" in incident["tags"]
    )
    assert "&lt;script&gt;" in incident["text"] and "<script>" not in incident["text"]
    assert incident["timeEnd"] == incident["time"], "it goes on"
    assert "confidence:likely" in cause["tags"] and "too many" in cause["text"]
    assert (
        "fewer threads" in fix["text"]
        and f'href="http://testserver/incidents/{story["incident"]}' in fix["text"]
    )
    assert capture["timeEnd"] - capture["time"] == 60_000


def test_sync_updates_changed_annotations(db: Database, channel, story, server: Grafana, as_) -> None:
    sync_annotations(get_database())
    deliver(db)
    with unit_of_work(db.sessions) as session:
        incident = session.get_one(Incident, story["incident"])
        incident.state, incident.resolved_at, incident.updated_at = "resolved", utc_now(), utc_now()
        session.get_one(Hypothesis, story["cause"]).state = "refuted"
    assert sync_annotations(get_database()) == 2
    assert sorted(map(str, deliver(db))) == ["deleted", "sent"]
    [now_there] = tagged(server, "incident")
    assert now_there["timeEnd"] > now_there["time"] and "state:resolved" in now_there["tags"]
    assert tagged(server, "cause") == [] and len(server.kept) == 3
    with unit_of_work(db.sessions) as session:
        session.get_one(Hypothesis, story["cause"]).state = "confirmed"
    sync_annotations(get_database())
    deliver(db)
    assert "confidence:confirmed" in tagged(server, "cause")[0]["tags"]


def test_sync_deletes_annotation_of_withdrawn_event(db: Database, channel, server: Grafana, as_) -> None:
    reported = as_("oncall").post(
        f"{API}/reported-events",
        json={"kind": "deploy", "what": "feed 4f2a <b>", "who": "ci", "everywhere": True},
    )
    assert reported.status_code in {200, 201}, reported.text
    assert sync_annotations(get_database()) == 1 and deliver(db) == ["sent"]
    [item] = tagged(server, "deploy")
    assert "feed 4f2a &lt;b&gt; (ci)" in item["text"] and "everywhere" in item["tags"]
    to = to_milliseconds(utc_now()) + 1000
    rows = as_("viewer").get(f"{API}/grafana/annotations", params={"from": to - 60_000, "to": to}).json()
    assert [row["tags"][1] for row in rows] == ["deploy"]
    withdrawn = as_("oncall").delete(f"{API}/reported-events/{reported.json()['id']}")
    assert withdrawn.status_code in {200, 204}, withdrawn.text
    assert sync_annotations(get_database()) == 1 and deliver(db) == ["deleted"] and server.kept == {}


def test_sync_creates_no_duplicate_after_lost_answer(db: Database, channel, story, server: Grafana) -> None:
    sync_annotations(get_database())
    server.deaf = True
    assert deliver(db) == ["queued"] * 4 and len(server.kept) == 4
    server.deaf = False
    assert deliver(db) == ["sent"] * 4
    assert len(server.kept) == 4 and server.requests.count("POST /api/annotations") == 4


def test_sync_recreates_deleted_annotation_after_change(
    db: Database, channel, story, server: Grafana
) -> None:
    sync_annotations(get_database())
    deliver(db)
    server.kept.clear()
    with unit_of_work(db.sessions) as session:
        session.get_one(Fix, story["fix"]).state = "verified"
    assert sync_annotations(get_database()) == 1 and deliver(db) == ["sent"]
    assert [item["tags"][2] for item in server.kept.values()] == ["state:verified"]


def test_sync_retries_while_grafana_is_unavailable(
    db: Database, channel, story, server: Grafana, as_
) -> None:
    sync_annotations(get_database())
    server.away = True
    outcomes = [deliver(db) for _ in range(len(PAUSES_S) + 1)]
    assert outcomes[0] == ["queued"] * 4 and outcomes[-1] == ["failed"] * 4
    listed = as_("admin").get(f"{API}/channels").json()["items"][0]
    assert (listed["queued"], listed["failed"]) == (0, 4)
    with db.sessions() as session:
        assert {row.failure["key"] for row in session.scalars(select(GrafanaAnnotation))} == {
            "outgoing.status"
        }


def test_retry_sends_failed_annotations(db: Database, channel, story, server: Grafana, as_, client) -> None:
    sync_annotations(get_database())
    server.away = True
    for _ in range(len(PAUSES_S) + 1):
        deliver(db)
    server.away = False
    dead = as_("oncall").get(f"{API}/grafana-annotations?state=failed").json()["items"]
    assert {item["about"] for item in dead} == {"capture", "incident", "cause", "fix"}
    [incident] = [item for item in dead if item["about"] == "incident"]
    assert incident["about_id"] == str(story["incident"]) and incident["channel"] == "graphs"
    assert "<script>x</script>" in incident["text"] and "href" not in incident["text"]
    assert incident["failure"]["key"] == "outgoing.status"
    assert {item["text"] for item in as_("scoped").get(f"{API}/grafana-annotations").json()["items"]} == {""}

    item = f"{API}/grafana-annotations/{incident['id']}/retry"
    assert as_("oncall").post(item).status_code == 403
    assert as_("admin").post(item).json()["state"] == "queued"
    assert as_("admin").post(item).status_code == 409
    assert as_("admin").post(item.replace(incident["id"], channel["id"])).status_code == 404
    assert deliver(db) == ["sent"] and len(tagged(server, "incident")) == 1

    every = f"{API}/channels/{channel['id']}/retry"
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": False})
    assert as_("admin").post(every).json()["key"] == "channel.disabled"
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": True})
    assert as_("oncall").post(every).status_code == 403
    answer = as_("admin").post(every).json()
    assert (answer["queued"], answer["failed"]) == (3, 0)
    assert deliver(db) == ["sent"] * 3 and len(server.kept) == 4
    items = as_("admin").get(f"{API}/audit").json()["items"]
    assert [item["detail"]["tried"] for item in items if item["action"] == "channel.again"] == [3]


def test_sync_deletes_annotation_after_failed_deletion(
    db: Database, channel, story, server: Grafana, as_
) -> None:
    sync_annotations(get_database())
    deliver(db)
    with unit_of_work(db.sessions) as session:
        session.get_one(Hypothesis, story["cause"]).state = "refuted"
    sync_annotations(get_database())
    server.away = True
    for _ in range(len(PAUSES_S) + 1):
        deliver(db)
    server.away = False
    [dead] = as_("admin").get(f"{API}/grafana-annotations?state=failed").json()["items"]
    assert (dead["about"], dead["is_deleted"]) == ("cause", True) and tagged(server, "cause")
    as_("admin").post(f"{API}/grafana-annotations/{dead['id']}/retry")
    assert deliver(db) == ["deleted"] and not tagged(server, "cause")


def test_sync_fails_at_once_with_wrong_token(db: Database, as_, story, server: Grafana, channel) -> None:
    as_("admin").delete(f"{API}/channels/{channel['id']}")
    body = {"name": "wrong", "kind": "grafana", "url": server.url, "secret": "x" * 20}
    as_("admin").post(f"{API}/channels", json=body)
    sync_annotations(get_database())
    assert deliver(db) == ["failed"] * 4 and server.kept == {}


def test_sync_sends_change_during_delivery(
    db: Database, channel, story, server: Grafana, monkeypatch
) -> None:
    from culprit.jobs.notifications import send_annotation as annotate

    sync_annotations(get_database())
    real = annotate._deliver

    def slow(item):
        number = real(item)
        with unit_of_work(db.sessions) as session:
            session.get_one(Incident, story["incident"]).title = "another"
        annotate.sync_annotations(get_database())
        return number

    with db.sessions() as session:
        row = session.scalars(
            select(GrafanaAnnotation).where(GrafanaAnnotation.key == f"incident:{story['incident']}")
        ).one()
    monkeypatch.setattr(annotate, "_deliver", slow)
    assert send_annotation(row.id) == "queued"
    monkeypatch.setattr(annotate, "_deliver", real)
    deliver(db)
    [item] = tagged(server, "incident")
    assert "another" in item["text"]


def test_grafana_channel_receives_no_messages(as_, db: Database, channel, people) -> None:
    assert (
        as_("admin").post(f"{API}/channels/{channel['id']}/test").json()["key"] == "channel.takes_no_messages"
    )
    trigger = {"name": "t", "kind": "generic", "channel_ids": [channel["id"]]}
    assert as_("oncall").post(f"{API}/triggers", json=trigger).status_code == 404
    for body in ({"secret": None}, {"user_id": str(people["oncall"].id)}):
        whole = {"name": "n", "kind": "grafana", "url": "http://127.0.0.1:3000", "secret": TOKEN} | body
        assert as_("admin").post(f"{API}/channels", json=whole).status_code == 422


def test_disabled_channel_receives_nothing_until_enabled(
    as_, db: Database, channel, story, server: Grafana
) -> None:
    sync_annotations(get_database())
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": False})
    assert deliver(db) == ["failed"] * 4 and server.kept == {} and sync_annotations(get_database()) == 0
    as_("admin").patch(f"{API}/channels/{channel['id']}", json={"enabled": True})
    assert sync_annotations(get_database()) == 4 and deliver(db) == ["sent"] * 4


def test_annotations_endpoint_returns_grafana_format(as_, db: Database, story) -> None:
    to = to_milliseconds(utc_now())
    rows = as_("viewer").get(f"{API}/grafana/annotations", params={"from": to - 3_600_000, "to": to}).json()
    assert {row["tags"][1] for row in rows} == {"incident", "cause", "fix", "capture"}
    assert all(set(row) == {"time", "timeEnd", "text", "tags"} for row in rows)
    assert as_("viewer").get(f"{API}/grafana/annotations", params={"from": 0, "to": 1}).json() == []
    assert as_("viewer").get(f"{API}/grafana/annotations", params={"from": 2, "to": 1}).status_code == 422
    with unit_of_work(db.sessions) as session:
        session.execute(update(Host).values(labels={"role": "ads"}))
    assert (
        as_("scoped").get(f"{API}/grafana/annotations", params={"from": to - 3_600_000, "to": to}).json()
        == []
    )


@given(st.text(max_size=300), st.lists(st.text(max_size=150), max_size=40), st.integers(-100, 100))
def test_build_annotation_accepts_any_text(text: str, tags: list[str], minutes: int) -> None:
    at = utc_now()
    item = build_annotation("k:1", at, at + timedelta(minutes=minutes), text, "http://x/?a=1&b=2", tags)
    message = item.text.removesuffix(' <a href="http://x/?a=1&amp;b=2">Culprit</a>')
    assert "<" not in message and ">" not in message and '"' not in message
    assert item.end_ms is not None and item.end_ms >= item.time_ms and len(item.tags) <= 20
    assert all("," not in each and len(each) <= 100 for each in item.tags)
    assert (
        AnnotationContent.from_stored(item.key, item.body()) == item
        and item.digest == AnnotationContent.from_stored(item.key, item.body()).digest
    )


def test_to_tag_returns_single_tag() -> None:
    assert to_tag("a,b\n\tc") == "a b c"
