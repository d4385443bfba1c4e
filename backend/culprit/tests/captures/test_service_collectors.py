"""The requests of a declared service are measured with every capture of its hosts, where that is light, and said so."""

from __future__ import annotations

from dataclasses import replace

import pytest
from culprit.captures import beside
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import Capture, RunCollector, Service
from sqlalchemy import select

from collectors.contract import Tier
from collectors.registry import COLLECTORS

API = "/api/v1/captures"
PATH = "/var/log/feed/access.log"
LOG = {"path": PATH, "format": "lab"}


@pytest.fixture
def host(make_host):
    """Makes a host with labels."""
    return lambda name, **labels: make_host(name, labels)


def declare(db, name: str, selector: dict, kind: str = "access_log", **source) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(Service(name=name, selector=selector, source_kind=kind, source=source or LOG))


def asked(*hosts, **more) -> dict:
    return {"host_ids": [str(one) for one in hosts], "plan": "triage", **more}


def shown(as_, *hosts, **more) -> tuple[dict, dict]:
    """The preview, and its collectors by id."""
    answer = as_("oncall").post(f"{API}/preview", json=asked(*hosts, **more))
    assert answer.status_code == 200, answer.text
    told = answer.json()
    return told, {one["id"]: one for one in told["collectors"]}


def test_the_preview_shows_it_with_its_reason_and_the_capture_takes_it(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    told, collectors = shown(as_, feed, seconds=12)
    assert collectors["app_metrics"]["why"] == {
        "key": "capture.beside_log",
        "params": {"service": "feed", "path": PATH},
    }
    assert collectors["app_metrics"]["seconds"] == 12 and told["service"] is None
    assert all(one["why"] is None for name, one in collectors.items() if name != "app_metrics")
    made = as_("oncall").post(API, json=asked(feed, seconds=12))
    assert made.status_code == 201 and made.json()["options"] == {"app_metrics": LOG}
    assert (made.json()["plan"], made.json()["tier"]) == ("triage", "light")
    with db.sessions() as session:
        assert set(session.scalars(select(RunCollector.collector))) == set(collectors)
        [capture] = session.scalars(select(Capture))
        assert {one["id"] for one in capture.collectors} == set(collectors)


def test_collectors_of_ones_own_choice_take_it_along_and_keep_what_was_chosen(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"}, "accepts", port=8080)
    mine = {"plan": "custom", "collectors": ["vmstat"], "seconds": 5}
    _, collectors = shown(as_, feed, **mine)
    assert set(collectors) == {"vmstat", "accepts"}
    assert collectors["accepts"]["why"]["params"] == {"service": "feed", "port": "8080"}
    own = {**mine, "collectors": ["vmstat", "accepts"]}
    assert shown(as_, feed, **own)[1]["accepts"]["why"], "without a port of one's own it is the declared one"
    made = as_("oncall").post(API, json=asked(feed, **own, options={"accepts": {"port": "9"}}))
    assert made.json()["options"] == {"accepts": {"port": "9"}}


def test_it_can_be_left_out(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    assert "app_metrics" not in shown(as_, feed, service=False)[1]
    made = as_("oncall").post(API, json=asked(feed, service=False))
    assert made.json()["options"] == {}


def test_hosts_whose_services_are_measured_otherwise_take_none_and_are_told(db, as_, host):
    feed, twin, ads, bare = (
        host("f1", role="feed"),
        host("f2", role="feed"),
        host("a1", role="ads"),
        host("b"),
    )
    declare(db, "feed", {"role": "feed"})
    declare(db, "ads", {"role": "ads"}, path="/var/log/ads.log", format="auto")
    assert "app_metrics" in shown(as_, feed, twin)[1]
    for others in ((ads,), (bare,)):
        told, collectors = shown(as_, feed, *others)
        assert "app_metrics" not in collectors and told["service"]["key"] == "capture.services_differ"
    told, collectors = shown(as_, bare)
    assert "app_metrics" not in collectors and told["service"] is None


def test_of_several_services_the_log_and_the_one_that_names_most_labels(db, as_, host):
    feed = host("feed-1", role="feed", dc="a")
    declare(db, "port", {"role": "feed", "dc": "a"}, "accepts", port=80)
    declare(db, "wide", {"role": "feed"}, path="/var/log/wide.log", format="auto")
    declare(db, "near", {"role": "feed", "dc": "a"}, path="/var/log/near.log", format="auto")
    declare(db, "none", {"role": "feed"}, "none", x=1)
    assert shown(as_, feed)[1]["app_metrics"]["why"]["params"] == {
        "service": "near",
        "path": "/var/log/near.log",
    }


def test_a_service_whose_log_no_collector_reads_stops_no_capture(db, as_, host):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"}, path="/etc/../x", format="auto")
    assert "app_metrics" not in shown(as_, feed)[1]


def test_what_is_not_light_is_not_taken_by_itself(db, as_, host, monkeypatch):
    feed = host("feed-1", role="feed")
    declare(db, "feed", {"role": "feed"})
    heavy = {**COLLECTORS, "app_metrics": replace(COLLECTORS["app_metrics"], tier=Tier.DEEP)}
    monkeypatch.setattr(beside, "COLLECTORS", heavy)
    assert "app_metrics" not in shown(as_, feed)[1]
