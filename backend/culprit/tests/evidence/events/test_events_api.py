"""Tests of reported events: timelines, repeated reports, permissions, hostile text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.evidence.reported_event import ReportedEvent
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.service import Service
from culprit.jobs.ingest.ingest_run import ingest_run
from culprit.tests.support import runs
from culprit.web.http.rate_limit import RateLimiter
from fastapi.testclient import TestClient
from sqlalchemy import func, select

API = "/api/v1"
EVENTS = f"{API}/reported-events"
NOW_NS = 1_790_000_000 * 10**9
AT = "2026-09-21T14:13:25+00:00"  # five seconds into the capture that begins at NOW_NS
BOOT_NS = 500 * 10**9


@pytest.fixture
def feed(db) -> object:
    """A host with labels, a service, and one capture of ten seconds."""
    host_id = runs.make_host(db, "feed-7", {"role": "feed"})
    texts = [runs.loadavg(tick) for tick in range(11)]
    parts = {"loadavg": {"samples": runs.sampled("/proc/loadavg", texts, BOOT_NS)}}
    clock = runs.clock_now(BOOT_NS, NOW_NS)
    waiting = runs.waiting_run(db, artifact_store(), parts, host_id=host_id, clock=clock)
    ingest_run(waiting.run_id)
    with unit_of_work(db.sessions) as session:
        session.add(Service(name="feed", selector={"role": "feed"}))
    return host_id


@pytest.fixture
def ads(db) -> object:
    return runs.make_host(db, "ads-1", {"role": "ads"})


def report(client: TestClient, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = client.post(EVENTS, json={"what": "feed 4f2a", "kind": "deploy", "at": AT, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def list_on_timeline(client: TestClient, host_id: object) -> list[str]:
    """Return the texts of the reported events on the timeline of a host."""
    range_ = {"from_ns": NOW_NS, "to_ns": NOW_NS + 60 * 10**9}
    events = client.get(f"{API}/hosts/{host_id}/timeline", params=range_).json()["events"]
    return [event["title"]["params"]["what"] for event in events if event["reported"]]


@pytest.mark.parametrize(
    "target",
    [
        {"hosts": ["feed-7"]}, {"hosts": ["{id}"]}, {"labels": {"role": "feed"}}, {"service": "feed"},
        {"everywhere": True},
    ],
)  # fmt: skip
def test_report_adds_event_to_timeline_of_selected_hosts(as_, feed, ads, target) -> None:
    if target.get("hosts") == ["{id}"]:
        target = {"hosts": [str(feed)]}
    until = "2026-09-21T14:13:28+00:00"
    result = report(
        as_("investigator"), who="ci", link="https://ci.example/1", detail="a\nb", until=until, **target
    )
    assert (result["at"], result["until"]) == ("2026-09-21T14:13:25Z", "2026-09-21T14:13:28Z")
    line = as_("viewer").get(f"{API}/hosts/{feed}/timeline").json()
    [item] = [event for event in line["events"] if event["reported"]]
    assert item["kind"] == "deploy" and item["title"] == {
        "key": "reported_event.title",
        "params": {"what": "feed 4f2a"},
    }
    assert item["t_ns"] - NOW_NS == 5 * 10**9 and item["end_ns"] - NOW_NS == 8 * 10**9
    assert item["reported"] == {
        "by": "investigator", "who": "ci", "link": "https://ci.example/1", "everywhere": "everywhere" in target,
    }  # fmt: skip
    assert item["detail"] == "a\nb" and item["artifact_id"] is None
    assert line["events_total"] == len(line["events"])
    assert list_on_timeline(as_("viewer"), ads) == (["feed 4f2a"] if "everywhere" in target else [])


def test_host_context_lists_event_as_change(as_, feed) -> None:
    report(as_("investigator"), service="feed", link="https://ci.example/1")
    report(as_("investigator"), service="feed", what="long ago", at="2026-09-01T00:00:00Z")
    report(as_("investigator"), service="feed", what="afterwards", at="2026-09-21T15:00:00Z")
    sections = as_("viewer").get(f"{API}/hosts/{feed}/context").json()["sections"]
    [changes] = [section for section in sections if section["id"] == "changes"]
    [item] = [item for item in changes["items"] if item["reported_by"]]
    assert (item["id"], item["name"], item["value"]) == ("reported_event", "deploy", "feed 4f2a")
    assert (item["reported_by"], item["link"]) == ("investigator", "https://ci.example/1")
    assert item["at_s"] == NOW_NS // 10**9 + 5 and item["citation"] is None


def test_report_selects_hosts_by_labels_of_that_time(as_, db, feed) -> None:
    report(as_("investigator"), labels={"role": "feed"})
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, feed).labels = {"role": "retired"}
    assert list_on_timeline(as_("viewer"), feed) == ["feed 4f2a"]


def test_report_with_same_id_updates_event(as_, session, feed) -> None:
    client = as_("investigator")
    first = report(client, service="feed", external_id="job-1")
    again = report(client, 200, service="feed", external_id="job-1")
    assert again == first
    ended = client.post(
        EVENTS, json={"what": "feed 4f2a", "until": "2026-09-21T14:13:27Z", "external_id": "job-1"}
    )
    assert ended.status_code == 200, ended.text
    assert (ended.json()["id"], ended.json()["kind"], ended.json()["until"]) == (
        *(first["id"], "deploy", "2026-09-21T14:13:27Z"),
    )  # fmt: skip
    assert ended.json()["at"] == first["at"], "what is not sent again stays"
    assert report(as_("oncall"), service="feed", external_id="job-1")["id"] != first["id"], (
        "ids are of an account"
    )
    acts = session.execute(
        select(AuditEntry.action, func.count())
        .where(AuditEntry.resource_kind == "event")
        .group_by(AuditEntry.action)
    )
    assert dict(tuple(act) for act in acts) == {"event.reported": 2, "event.updated": 1}


def test_concurrent_reports_with_same_id_store_single_event(as_, session, feed) -> None:
    client = as_("investigator")
    body = {"what": "x", "service": "feed", "external_id": "job-1", "at": AT}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post(EVENTS, json=body), range(8)))
    assert sorted(answer.status_code for answer in answers) == [200] * 7 + [201]
    assert session.scalar(select(func.count()).select_from(ReportedEvent)) == 1


def test_reporter_updates_and_withdraws_event(as_, feed) -> None:
    client = as_("investigator")
    url = f"{EVENTS}/{report(client, service='feed', external_id='job-1')['id']}"
    other = as_("oncall")
    changed = client.patch(url, json={"what": "feed 4f2b", "link": "https://ci.example/2"}).json()
    assert (changed["what"], changed["kind"]) == ("feed 4f2b", "deploy") and changed["changed_at"]
    assert client.patch(url, json={"link": None}).json()["link"] is None
    assert as_("viewer").patch(url, json={"what": "no"}).status_code == 403
    assert other.patch(url, json={"detail": "rolled back"}).json()["detail"] == "rolled back"
    assert [item["can_update"] for item in as_("viewer").get(EVENTS).json()["items"]] == [False]
    assert client.delete(url).status_code == 204
    assert list_on_timeline(client, feed) == [] and client.get(EVENTS).json()["items"] == []
    [stored] = client.get(EVENTS, params={"withdrawn": True}).json()["items"]
    assert stored["withdrawn_at"] and not stored["can_update"]
    for answer in (client.patch(url, json={"what": "x"}), client.delete(url)):
        assert (answer.status_code, answer.json()["key"]) == (409, "reported_event.withdrawn")
    again = client.post(EVENTS, json={"what": "x", "service": "feed", "external_id": "job-1"})
    assert (again.status_code, again.json()["key"]) == (409, "reported_event.withdrawn")


def test_update_moves_event_to_other_hosts(as_, feed, ads) -> None:
    client = as_("investigator")
    url = f"{EVENTS}/{report(client, hosts=['feed-7'])['id']}"
    moved = client.patch(url, json={"hosts": ["ads-1"]}).json()
    assert [host["name"] for host in moved["target"]["hosts"]] == ["ads-1"]
    assert list_on_timeline(client, feed) == []


def test_scoped_user_sees_only_own_hosts(as_, feed, ads) -> None:
    scoped, client = as_("scoped"), as_("investigator")
    hidden = report(client, hosts=["ads-1"])
    both = report(client, hosts=["ads-1", "feed-7"], what="both")
    wide = report(client, everywhere=True, what="wide")
    listed = scoped.get(EVENTS).json()["items"]
    assert {item["what"] for item in listed} == {"both", "wide"}
    assert "ads-1" not in str(listed) and max(item["target"]["host_count"] for item in listed) == 1
    assert scoped.get(f"{EVENTS}/{hidden['id']}").status_code == 404
    assert scoped.delete(f"{EVENTS}/{hidden['id']}").status_code == 404
    for item in (both, wide):
        refused = scoped.delete(f"{EVENTS}/{item['id']}")
        assert (refused.status_code, refused.json()["key"]) == (403, "reported_event.hosts_hidden")
    for target, key in (
        ({"hosts": ["ads-1"]}, "reported_event.no_such_host"),
        ({"labels": {"role": "ads"}}, "reported_event.no_hosts"),
        ({"everywhere": True}, "reported_event.everywhere_out_of_scope"),
    ):
        assert scoped.post(EVENTS, json={"what": "x", **target}).json()["key"] == key


@pytest.mark.parametrize(
    ("body", "status", "key"),
    [
        ({}, 422, "reported_event.one_target"),
        ({"everywhere": True, "hosts": ["feed-7"]}, 422, "reported_event.one_target"),
        ({"hosts": ["unknown"]}, 404, "reported_event.no_such_host"),
        ({"service": "nothing"}, 404, "reported_event.no_such_service"),
        ({"labels": {"role": "none"}}, 422, "reported_event.no_hosts"),
        ({"everywhere": True, "at": "1970-01-01T00:00:00Z"}, 422, "reported_event.time"),
        ({"everywhere": True, "at": "2999-01-01T00:00:00Z"}, 422, "reported_event.time"),
        ({"everywhere": True, "at": AT, "until": AT}, 422, "reported_event.span"),
        ({"everywhere": True, "at": "2020-01-01T00:00:00Z", "until": AT}, 422, "reported_event.span"),
        ({"everywhere": True, "what": " \t "}, 422, "reported_event.no_text"),
        ({"everywhere": True, "at": "2026-09-21T14:13:25"}, 422, "request.invalid"),
        ({"everywhere": True, "link": "javascript:alert(1)"}, 422, "request.invalid"),
        ({"everywhere": True, "kind": "<b>"}, 422, "request.invalid"),
        ({"everywhere": True, "external_id": "x" * 201}, 422, "request.invalid"),
    ],
)
def test_report_rejects_invalid_event(as_, body, status, key) -> None:
    answer = as_("investigator").post(EVENTS, json={"what": "x", **body})
    assert (answer.status_code, answer.json()["key"]) == (status, key)


def test_report_limits_hostile_text(as_, feed) -> None:
    what = "<script>alert(1)</script>\x1b[2J\u202e" + "x" * 500
    result = report(
        as_("investigator"), hosts=["feed-7"], what=what, who="\r\nroot", detail="=cmd|' /C calc'!A0\n" * 900
    )
    assert (
        result["what"].startswith("<script>alert(1)</script>\ufffd[2J\ufffdxxx")
        and len(result["what"]) == 200
    )
    assert result["who"] == "root" and len(result["detail"]) == 4000
    answer = as_("viewer").get(f"{API}/hosts/{feed}/timeline")
    assert answer.headers["content-type"] == "application/json"


def test_pipeline_token_reports_events_only(as_, session_as, app, feed) -> None:
    result = session_as("admin").post(f"{API}/tokens", json={"name": "ci", "purpose": "events"}).json()
    assert result["purpose"] == "events"
    pipeline = TestClient(app, headers={"Authorization": f"Bearer {result['token']}"})
    item = report(pipeline, service="feed", external_id="job-1")
    assert pipeline.patch(f"{EVENTS}/{item['id']}", json={"detail": "done"}).status_code == 200
    others = report(as_("investigator"), service="feed")
    for method, path, body in (
        ("GET", "/me", None), ("PATCH", "/me", {"locale": "zh"}), ("GET", "/hosts", None), ("GET", "/reported-events", None),
        ("GET", f"/reported-events/{item['id']}", None), ("POST", "/tokens", {"name": "more"}), ("GET", "/users", None),
        ("POST", "/captures", {"host_ids": [str(feed)], "plan": "triage"}), ("GET", "/reported-eventsx", None),
        ("DELETE", f"/reported-events/{others['id']}", None), ("GET", f"/hosts/{feed}/timeline", None),
    ):  # fmt: skip
        answer = pipeline.request(method, API + path, json=body)
        assert answer.status_code in {403, 404} and "feed-7" not in answer.text, (path, answer.text)
    assert pipeline.delete(f"{EVENTS}/{item['id']}").status_code == 204


def test_reports_of_account_are_rate_limited(as_, app, feed) -> None:
    app.state.events_rate_limiter = RateLimiter(2, "reported_event.too_often")
    client = as_("investigator")
    report(client, service="feed")
    report(client, service="feed")
    held = client.post(EVENTS, json={"what": "x", "service": "feed"})
    assert held.status_code == 429 and int(held.headers["retry-after"]) > 0
    report(as_("oncall"), service="feed")


def test_repeated_request_is_replayed(as_, feed) -> None:
    client, key = as_("investigator"), {"Idempotency-Key": "k1"}
    body = {"what": "x", "service": "feed"}
    first, second = (client.post(EVENTS, json=body, headers=key) for _ in range(2))
    assert first.json() == second.json() and second.headers["Idempotent-Replayed"] == "true"
