"""Events that are told: where they are shown, what a second telling does, who may take back, hostile text."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from typing import Any

import pytest
from culprit.infra.artifacts import artifact_store
from culprit.kit.gate import Gate
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Annotation, AuditEntry, Host, Service
from culprit.tests.support import runs
from culprit.workflows.ingest_run import ingest_run
from fastapi.testclient import TestClient
from sqlalchemy import func, select

API = "/api/v1"
EVENTS = f"{API}/events"
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


def told(client: TestClient, status: int = 201, **body: Any) -> dict[str, Any]:
    answer = client.post(EVENTS, json={"what": "feed 4f2a", "kind": "deploy", "at": AT, **body})
    assert answer.status_code == status, answer.text
    return answer.json()


def shown(client: TestClient, host_id: object) -> list[str]:
    """What the timeline of a host tells that was told."""
    range_ = {"from_ns": NOW_NS, "to_ns": NOW_NS + 60 * 10**9}
    events = client.get(f"{API}/hosts/{host_id}/timeline", params=range_).json()["events"]
    return [one["title"]["params"]["what"] for one in events if one["told"]]


@pytest.mark.parametrize(
    "place",
    [
        {"hosts": ["feed-7"]}, {"hosts": ["{id}"]}, {"labels": {"role": "feed"}}, {"service": "feed"},
        {"everywhere": True},
    ],
)  # fmt: skip
def test_it_is_on_the_timeline_of_the_hosts_that_were_meant(as_, feed, ads, place) -> None:
    if place.get("hosts") == ["{id}"]:
        place = {"hosts": [str(feed)]}
    until = "2026-09-21T14:13:28+00:00"
    made = told(
        as_("investigator"), who="ci", link="https://ci.example/1", detail="a\nb", until=until, **place
    )
    assert (made["at"], made["until"]) == ("2026-09-21T14:13:25Z", "2026-09-21T14:13:28Z")
    line = as_("viewer").get(f"{API}/hosts/{feed}/timeline").json()
    [one] = [event for event in line["events"] if event["told"]]
    assert one["kind"] == "deploy" and one["title"] == {
        "key": "annotation.title",
        "params": {"what": "feed 4f2a"},
    }
    assert one["t_ns"] - NOW_NS == 5 * 10**9 and one["end_ns"] - NOW_NS == 8 * 10**9
    assert one["told"] == {
        "by": "investigator", "who": "ci", "link": "https://ci.example/1", "everywhere": "everywhere" in place,
    }  # fmt: skip
    assert one["detail"] == "a\nb" and one["artifact_id"] is None
    assert line["events_total"] == len(line["events"])
    assert shown(as_("viewer"), ads) == (["feed 4f2a"] if "everywhere" in place else [])


def test_where_am_i_tells_it_among_what_changed(as_, feed) -> None:
    told(as_("investigator"), service="feed", link="https://ci.example/1")
    told(as_("investigator"), service="feed", what="long ago", at="2026-09-01T00:00:00Z")
    told(as_("investigator"), service="feed", what="afterwards", at="2026-09-21T15:00:00Z")
    sections = as_("viewer").get(f"{API}/hosts/{feed}/context").json()["sections"]
    [changes] = [one for one in sections if one["id"] == "changes"]
    [item] = [one for one in changes["items"] if one["told_by"]]
    assert (item["id"], item["name"], item["value"]) == ("told", "deploy", "feed 4f2a")
    assert (item["told_by"], item["link"]) == ("investigator", "https://ci.example/1")
    assert item["at_s"] == NOW_NS // 10**9 + 5 and item["citation"] is None


def test_labels_are_those_of_the_time_when_it_was_told(as_, db, feed) -> None:
    told(as_("investigator"), labels={"role": "feed"})
    with unit_of_work(db.sessions) as session:
        session.get_one(Host, feed).labels = {"role": "retired"}
    assert shown(as_("viewer"), feed) == ["feed 4f2a"]


def test_the_same_id_twice_is_one_event_that_is_corrected(as_, session, feed) -> None:
    client = as_("investigator")
    first = told(client, service="feed", external_id="job-1")
    again = told(client, 200, service="feed", external_id="job-1")
    assert again == first
    ended = client.post(
        EVENTS, json={"what": "feed 4f2a", "until": "2026-09-21T14:13:27Z", "external_id": "job-1"}
    )
    assert ended.status_code == 200, ended.text
    assert (ended.json()["id"], ended.json()["kind"], ended.json()["until"]) == (
        *(first["id"], "deploy", "2026-09-21T14:13:27Z"),
    )  # fmt: skip
    assert ended.json()["at"] == first["at"], "what is not sent again stays"
    assert told(as_("oncall"), service="feed", external_id="job-1")["id"] != first["id"], (
        "ids are of an account"
    )
    acts = session.execute(
        select(AuditEntry.action, func.count())
        .where(AuditEntry.resource_kind == "event")
        .group_by(AuditEntry.action)
    )
    assert dict(tuple(one) for one in acts) == {"event.told": 2, "event.corrected": 1}


def test_the_same_id_at_once_is_one_event(as_, session, feed) -> None:
    client = as_("investigator")
    body = {"what": "x", "service": "feed", "external_id": "job-1", "at": AT}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: client.post(EVENTS, json=body), range(8)))
    assert sorted(one.status_code for one in answers) == [200] * 7 + [201]
    assert session.scalar(select(func.count()).select_from(Annotation)) == 1


def test_who_told_it_corrects_and_withdraws_it(as_, feed) -> None:
    client = as_("investigator")
    url = f"{EVENTS}/{told(client, service='feed', external_id='job-1')['id']}"
    other = as_("oncall")
    changed = client.patch(url, json={"what": "feed 4f2b", "link": "https://ci.example/2"}).json()
    assert (changed["what"], changed["kind"]) == ("feed 4f2b", "deploy") and changed["changed_at"]
    assert client.patch(url, json={"link": None}).json()["link"] is None
    assert as_("viewer").patch(url, json={"what": "no"}).status_code == 403
    assert other.patch(url, json={"detail": "rolled back"}).json()["detail"] == "rolled back"
    assert [one["may_change"] for one in as_("viewer").get(EVENTS).json()["items"]] == [False]
    assert client.delete(url).status_code == 204
    assert shown(client, feed) == [] and client.get(EVENTS).json()["items"] == []
    [kept] = client.get(EVENTS, params={"withdrawn": True}).json()["items"]
    assert kept["withdrawn_at"] and not kept["may_change"]
    for answer in (client.patch(url, json={"what": "x"}), client.delete(url)):
        assert (answer.status_code, answer.json()["key"]) == (409, "annotation.withdrawn")
    again = client.post(EVENTS, json={"what": "x", "service": "feed", "external_id": "job-1"})
    assert (again.status_code, again.json()["key"]) == (409, "annotation.withdrawn")


def test_moving_it_to_other_hosts(as_, feed, ads) -> None:
    client = as_("investigator")
    url = f"{EVENTS}/{told(client, hosts=['feed-7'])['id']}"
    moved = client.patch(url, json={"hosts": ["ads-1"]}).json()
    assert [one["name"] for one in moved["where"]["hosts"]] == ["ads-1"]
    assert shown(client, feed) == []


def test_somebody_who_sees_few_hosts(as_, feed, ads) -> None:
    scoped, client = as_("scoped"), as_("investigator")
    hidden = told(client, hosts=["ads-1"])
    both = told(client, hosts=["ads-1", "feed-7"], what="both")
    wide = told(client, everywhere=True, what="wide")
    listed = scoped.get(EVENTS).json()["items"]
    assert {one["what"] for one in listed} == {"both", "wide"}
    assert "ads-1" not in str(listed) and max(one["where"]["hosts_total"] for one in listed) == 1
    assert scoped.get(f"{EVENTS}/{hidden['id']}").status_code == 404
    assert scoped.delete(f"{EVENTS}/{hidden['id']}").status_code == 404
    for one in (both, wide):
        refused = scoped.delete(f"{EVENTS}/{one['id']}")
        assert (refused.status_code, refused.json()["key"]) == (403, "annotation.hosts_hidden")
    for place, key in (
        ({"hosts": ["ads-1"]}, "annotation.no_such_host"),
        ({"labels": {"role": "ads"}}, "annotation.no_hosts"),
        ({"everywhere": True}, "annotation.everywhere_out_of_scope"),
    ):
        assert scoped.post(EVENTS, json={"what": "x", **place}).json()["key"] == key


@pytest.mark.parametrize(
    ("body", "status", "key"),
    [
        ({}, 422, "annotation.one_place"),
        ({"everywhere": True, "hosts": ["feed-7"]}, 422, "annotation.one_place"),
        ({"hosts": ["nobody"]}, 404, "annotation.no_such_host"),
        ({"service": "nothing"}, 404, "annotation.no_such_service"),
        ({"labels": {"role": "none"}}, 422, "annotation.no_hosts"),
        ({"everywhere": True, "at": "1970-01-01T00:00:00Z"}, 422, "annotation.time"),
        ({"everywhere": True, "at": "2999-01-01T00:00:00Z"}, 422, "annotation.time"),
        ({"everywhere": True, "at": AT, "until": AT}, 422, "annotation.span"),
        ({"everywhere": True, "at": "2020-01-01T00:00:00Z", "until": AT}, 422, "annotation.span"),
        ({"everywhere": True, "what": " \t "}, 422, "annotation.nothing_told"),
        ({"everywhere": True, "at": "2026-09-21T14:13:25"}, 422, "request.invalid"),
        ({"everywhere": True, "link": "javascript:alert(1)"}, 422, "request.invalid"),
        ({"everywhere": True, "kind": "<b>"}, 422, "request.invalid"),
        ({"everywhere": True, "external_id": "x" * 201}, 422, "request.invalid"),
    ],
)
def test_what_makes_no_sense_is_refused_with_what_to_do(as_, body, status, key) -> None:
    answer = as_("investigator").post(EVENTS, json={"what": "x", **body})
    assert (answer.status_code, answer.json()["key"]) == (status, key)


def test_hostile_text_is_bounded_and_stays_text(as_, feed) -> None:
    what = "<script>alert(1)</script>\x1b[2J\u202e" + "x" * 500
    made = told(
        as_("investigator"), hosts=["feed-7"], what=what, who="\r\nroot", detail="=cmd|' /C calc'!A0\n" * 900
    )
    assert made["what"].startswith("<script>alert(1)</script>\ufffd[2J\ufffdxxx") and len(made["what"]) == 200
    assert made["who"] == "root" and len(made["detail"]) == 4000
    answer = as_("viewer").get(f"{API}/hosts/{feed}/timeline")
    assert answer.headers["content-type"] == "application/json"


def test_a_token_for_a_pipeline_tells_events_and_does_nothing_else(as_, session_as, app, feed) -> None:
    made = session_as("admin").post(f"{API}/tokens", json={"name": "ci", "purpose": "events"}).json()
    assert made["purpose"] == "events"
    pipeline = TestClient(app, headers={"Authorization": f"Bearer {made['token']}"})
    one = told(pipeline, service="feed", external_id="job-1")
    assert pipeline.patch(f"{EVENTS}/{one['id']}", json={"detail": "done"}).status_code == 200
    others = told(as_("investigator"), service="feed")
    for method, path, body in (
        ("GET", "/me", None), ("PATCH", "/me", {"locale": "zh"}), ("GET", "/hosts", None), ("GET", "/events", None),
        ("GET", f"/events/{one['id']}", None), ("POST", "/tokens", {"name": "more"}), ("GET", "/users", None),
        ("POST", "/captures", {"host_ids": [str(feed)], "plan": "triage"}), ("GET", "/eventsx", None),
        ("DELETE", f"/events/{others['id']}", None), ("GET", f"/hosts/{feed}/timeline", None),
    ):  # fmt: skip
        answer = pipeline.request(method, API + path, json=body)
        assert answer.status_code in {403, 404} and "feed-7" not in answer.text, (path, answer.text)
    assert pipeline.delete(f"{EVENTS}/{one['id']}").status_code == 204


def test_a_flood_from_one_account_is_held_back(as_, app, feed) -> None:
    app.state.events_gate = Gate(2, "annotation.too_often")
    client = as_("investigator")
    told(client, service="feed")
    told(client, service="feed")
    held = client.post(EVENTS, json={"what": "x", "service": "feed"})
    assert held.status_code == 429 and int(held.headers["retry-after"]) > 0
    told(as_("oncall"), service="feed")


def test_a_repeated_request_is_answered_as_the_first_time(as_, feed) -> None:
    client, key = as_("investigator"), {"Idempotency-Key": "k1"}
    body = {"what": "x", "service": "feed"}
    first, second = (client.post(EVENTS, json=body, headers=key) for _ in range(2))
    assert first.json() == second.json() and second.headers["Idempotent-Replayed"] == "true"
