"""Service collectors: light measurements of a service are added to each capture of its hosts."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.captures import service_collectors
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run_collector import RunCollector
from culprit.infra.models.hosts.service import Service
from sqlalchemy import select

from collectors.contract import Tier
from collectors.registry import COLLECTORS

API = "/api/v1/captures"
PATH = "/var/log/feed/access.log"
LOG = {"path": PATH, "format": "lab"}


@pytest.fixture
def host(make_host):
    """Return a function that creates hosts with labels."""
    return lambda name, **labels: make_host(name, labels)


def declare(db, name: str, selector: dict, kind: str = "access_log", **source) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(Service(name=name, selector=selector, source_kind=kind, source=source or LOG))


def build_capture(*hosts, **more) -> dict:
    return {"host_ids": [str(host) for host in hosts], "plan": "triage", **more}


def preview_capture(as_, *hosts, **more) -> tuple[dict, dict]:
    """Send a preview; return it and its collectors by ID."""
    answer = as_("oncall").post(f"{API}/preview", json=build_capture(*hosts, **more))
    assert answer.status_code == 200, answer.text
    reported = answer.json()
    return reported, {collector["id"]: collector for collector in reported["collectors"]}


def test_the_preview_shows_it_with_its_reason_and_the_capture_takes_it(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    reported, collectors = preview_capture(as_, feed, seconds=12)
    assert collectors["app_metrics"]["why"] == {
        "key": "capture.service_log",
        "params": {"service": "feed", "path": PATH},
    }
    assert collectors["app_metrics"]["seconds"] == 12 and reported["service"] is None
    assert all(item["why"] is None for name, item in collectors.items() if name != "app_metrics")
    result = as_("oncall").post(API, json=build_capture(feed, seconds=12))
    assert result.status_code == 201 and result.json()["options"] == {"app_metrics": LOG}
    assert (result.json()["plan"], result.json()["tier"]) == ("triage", "light")
    with db.sessions() as session:
        assert set(session.scalars(select(RunCollector.collector))) == set(collectors)
        [capture] = session.scalars(select(Capture))
        assert {collector["id"] for collector in capture.collectors} == set(collectors)


def test_service_collector_is_added_to_chosen_collectors(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"}, "accepts", port=8080)
    mine = {"plan": "custom", "collectors": ["vmstat"], "seconds": 5}
    _, collectors = preview_capture(as_, feed, **mine)
    assert set(collectors) == {"vmstat", "accepts"}
    assert collectors["accepts"]["why"]["params"] == {"service": "feed", "port": "8080"}
    own = {**mine, "collectors": ["vmstat", "accepts"]}
    assert preview_capture(as_, feed, **own)[1]["accepts"]["why"], (
        "without a port of one's own it is the declared one"
    )
    result = as_("oncall").post(API, json=build_capture(feed, **own, options={"accepts": {"port": "9"}}))
    assert result.json()["options"] == {"accepts": {"port": "9"}}


def test_it_can_be_left_out(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    assert "app_metrics" not in preview_capture(as_, feed, service=False)[1]
    result = as_("oncall").post(API, json=build_capture(feed, service=False))
    assert result.json()["options"] == {}


def test_capture_reports_hosts_without_service_collector(db, as_, host):
    feed, peer, ads, bare = (
        host("f1", role="feed"),
        host("f2", role="feed"),
        host("a1", role="ads"),
        host("b"),
    )
    declare(db, "feed", {"role": "feed"})
    declare(db, "ads", {"role": "ads"}, path="/var/log/ads.log", format="auto")
    assert "app_metrics" in preview_capture(as_, feed, peer)[1]
    for others in ((ads,), (bare,)):
        reported, collectors = preview_capture(as_, feed, *others)
        assert "app_metrics" not in collectors and reported["service"]["key"] == "capture.services_differ"
    reported, collectors = preview_capture(as_, bare)
    assert "app_metrics" not in collectors and reported["service"] is None


def test_service_collector_prefers_service_with_most_labels(db, as_, host):
    feed = host("feed-1", role="feed", dc="a")
    declare(db, "port", {"role": "feed", "dc": "a"}, "accepts", port=80)
    declare(db, "wide", {"role": "feed"}, path="/var/log/wide.log", format="auto")
    declare(db, "near", {"role": "feed", "dc": "a"}, path="/var/log/near.log", format="auto")
    declare(db, "none", {"role": "feed"}, "none", x=1)
    assert preview_capture(as_, feed)[1]["app_metrics"]["why"]["params"] == {
        "service": "near",
        "path": "/var/log/near.log",
    }


def test_a_service_whose_log_no_collector_reads_stops_no_capture(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"}, path="/etc/../x", format="auto")
    assert "app_metrics" not in preview_capture(as_, feed)[1]


def test_what_is_not_light_is_not_taken_by_itself(db, as_, host, monkeypatch):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    heavy = {**COLLECTORS, "app_metrics": replace(COLLECTORS["app_metrics"], tier=Tier.DEEP)}
    monkeypatch.setattr(service_collectors, "COLLECTORS", heavy)
    assert "app_metrics" not in preview_capture(as_, feed)[1]
