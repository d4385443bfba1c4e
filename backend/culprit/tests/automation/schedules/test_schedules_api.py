"""Schedules and maintenance over HTTP: who may, what is refused, and what is shown."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from uuid import UUID

import pytest
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.automation.schedule import Schedule
from culprit.infra.models.automation.schedule_firing import ScheduleFiring
from culprit.tests.automation.schedules.conftest import NOON
from culprit.tests.support.runs import make_host
from sqlalchemy import select, update

API = "/api/v1"
NIGHTLY = {"kind": "cron", "cron": "30 2 * * *", "zone": "Europe/Berlin"}


def body(**more):
    return {
        "name": "nightly baseline", "cadence": NIGHTLY, "capture": {"plan": "baseline"},
        "target": {"labels": {"role": "feed"}}, "reason": "to compare with",
    } | more  # fmt: skip


def test_schedule_can_be_created_changed_paused_and_deleted(as_, people, feed, session) -> None:
    oncall = as_("oncall")
    result = oncall.post(f"{API}/schedules", json=body()).json()
    assert (result["state"], result["matching"], result["tier"], result["owner"]["name"]) == (
        "active",
        1,
        "light",
        "oncall",
    )
    assert len(result["upcoming"]) == 10 and result["upcoming"][0]["at"] == result["next_due"]
    assert result["refusal"] is None and result["recent"] == [] and result["counts"] == {}
    assert as_("investigator").post(f"{API}/schedules", json=body(name="x")).status_code == 403
    assert oncall.post(f"{API}/schedules", json=body()).json()["key"] == "schedule.name_taken"
    path = f"{API}/schedules/{result['id']}"
    paused = oncall.patch(path, json={"version": 1, "paused": True}).json()
    assert (paused["state"], paused["next_due"], paused["upcoming"]) == ("paused", None, [])
    assert (
        oncall.patch(path, json={"version": 1, "paused": False}).json()["key"] == "schedule.changed_meanwhile"
    )
    moved = oncall.patch(path, json={"version": 2, "cadence": NIGHTLY | {"cron": "@hourly"}}).json()
    assert (moved["state"], moved["cadence"]["cron"]) == ("paused", "0 * * * *")
    again = oncall.patch(path, json={"version": 3, "paused": False, "name": "hourly"}).json()
    assert (again["state"], again["name"], again["version"]) == ("active", "hourly", 4)
    assert oncall.delete(path).status_code == 204
    assert oncall.get(path).status_code == 404
    actions = list(session.scalars(select(AuditEntry.action).where(AuditEntry.resource_kind == "schedule")))
    assert actions == ["schedule.created", *["schedule.changed"] * 3, "schedule.removed"]


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"cadence": NIGHTLY | {"zone": "Mars/Phobos"}}, "schedule.no_such_zone"),
        ({"cadence": NIGHTLY | {"cron": "61 * * * *"}}, "schedule.cron_unreadable"),
        (
            {"cadence": {"kind": "once", "local_time": "2020-01-01T00:00:00", "zone": "UTC"}},
            "schedule.in_the_past",
        ),
        ({"capture": {"plan": "nonsense"}}, "capture.plan_unknown"),
        ({"capture": {"plan": "custom", "collectors": ["nonsense"]}}, "capture.collector_unknown"),
        ({"capture": {"plan": "custom", "collectors": ["strace"]}}, None),
        ({"target": {"host_ids": ["0199a000-0000-7000-8000-000000000000"]}}, "host.not_found"),
        ({"target": {}}, None),
        ({"name": "\u0000"}, None),
    ],
)
def test_what_makes_no_sense_is_refused(as_, feed, change, key) -> None:
    answer = as_("admin").post(f"{API}/schedules", json=body(**change))
    assert 400 <= answer.status_code < 500
    assert key is None or answer.json()["key"] == key


def test_deep_waits_for_an_administrator(as_, feed) -> None:
    requested = {"plan": "sched"}
    assert (
        as_("oncall").post(f"{API}/schedules", json=body(capture=requested, allow_deep=True)).status_code
        == 403
    )
    result = as_("oncall").post(f"{API}/schedules", json=body(capture=requested)).json()
    assert result["refusal"]["key"] == "schedule.deep_not_allowed"
    path = f"{API}/schedules/{result['id']}"
    assert as_("oncall").patch(path, json={"version": 1, "allow_deep": True}).status_code == 403
    allowed = as_("admin").patch(path, json={"version": 1, "allow_deep": True}).json()
    assert (allowed["refusal"], allowed["deep_allowed"], allowed["owner"]["name"]) == (None, True, "oncall")
    # What was allowed was another schedule.
    moved = as_("oncall").patch(path, json={"version": 2, "target": {"labels": {"role": "ads"}}}).json()
    assert (moved["deep_allowed"], moved["refusal"]["key"]) == (False, "schedule.deep_not_allowed")


def test_who_changes_what_it_does_owns_it(as_, feed) -> None:
    result = as_("admin").post(f"{API}/schedules", json=body()).json()
    path = f"{API}/schedules/{result['id']}"
    assert as_("oncall").patch(path, json={"version": 1, "reason": "x"}).json()["owner"]["name"] == "admin"
    taken = as_("oncall").patch(path, json={"version": 2, "capture": {"plan": "triage"}}).json()
    assert taken["owner"]["name"] == "oncall"


def test_a_scope_sees_its_own(as_, db, feed) -> None:
    ads = make_host(db, "ads-1", {"role": "ads"})
    as_("admin").post(f"{API}/schedules", json=body())
    as_("admin").post(f"{API}/schedules", json=body(name="ads", target={"host_ids": [str(ads)]}))
    both = as_("admin").post(
        f"{API}/schedules", json=body(name="both", target={"host_ids": [str(ads), str(feed)]})
    )
    assert [host["name"] for host in both.json()["hosts"]] == ["ads-1", "feed-1"]
    listed = as_("scoped").get(f"{API}/schedules").json()["items"]
    assert {item["name"]: [host["name"] for host in item["hosts"]] for item in listed} == {
        "both": ["feed-1"], "nightly baseline": [],
    }  # fmt: skip
    refused = as_("scoped").post(f"{API}/schedules", json=body(name="x", target={"host_ids": [str(ads)]}))
    assert refused.status_code == 404
    mine = (
        as_("scoped")
        .post(f"{API}/schedules", json=body(name="mine", target={"labels": {"dc": "ix1"}}))
        .json()
    )
    assert mine["matching"] == 0


def test_schedule_preview_shows_due_times(as_, feed) -> None:
    end = datetime.now(UTC) + timedelta(days=80)
    window = {
        "starts_at": datetime.now(UTC).isoformat(),
        "ends_at": end.isoformat(),
        "reason": "moving house",
    }
    assert as_("oncall").post(f"{API}/maintenance-windows", json=window).status_code == 201
    requested = {
        "cadence": NIGHTLY | {"cron": "30 2 * * mon-fri"},
        "count": 3,
        "target": {"labels": {"role": "feed"}},
    }
    result = as_("viewer").post(f"{API}/schedules/preview", json=requested).json()
    assert result["cron"] == "30 2 * * mon-fri" and len(result["upcoming"]) == 3
    first = result["upcoming"][0]
    assert first["window"]["reason"] == "moving house"
    assert first["local_time"][11:16] == "02:30" or first["kind"] == "gap"
    assert datetime.fromisoformat(first["local_time"]) == datetime.fromisoformat(first["at"])
    once = {"cadence": {"kind": "once", "local_time": "2031-03-30T02:30:00", "zone": "Europe/Berlin"}}
    [only] = as_("viewer").post(f"{API}/schedules/preview", json=once).json()["upcoming"]
    assert (only["kind"], only["at"], only["local_time"]) == (
        "gap", "2031-03-30T01:00:00Z", "2031-03-30T03:00:00+02:00",
    )  # fmt: skip


def test_what_was_due_before_a_change_is_not_forgotten(as_, db, feed, list_results) -> None:
    result = as_("oncall").post(f"{API}/schedules", json=body(cadence=NIGHTLY | {"cron": "0 * * * *"})).json()
    ago = datetime.now(UTC).replace(minute=0, second=0, microsecond=0) - timedelta(hours=3)
    with unit_of_work(db.sessions) as opened:
        opened.execute(update(Schedule).values(next_due=ago))
    changed = (
        as_("oncall").patch(f"{API}/schedules/{result['id']}", json={"version": 1, "paused": True}).json()
    )
    assert changed["counts"] == {"missed": 4}
    assert list_results(UUID(result["id"])) == [("missed", ago, 4, "schedule.missed_by_change")]


def test_firings_page_by_page(as_, db, feed, make_schedule, fire) -> None:
    night = make_schedule()
    for number in range(5):
        fire(NOON + timedelta(minutes=10 * number))
    first = as_("viewer").get(f"{API}/schedules/{night}/firings?limit=3").json()
    assert [item["state"] for item in first["items"]] == ["started"] * 3
    assert first["items"][0]["capture"]["state"] == "queued"
    rest = as_("viewer").get(f"{API}/schedules/{night}/firings?limit=3&cursor={first['next']}").json()
    assert len(rest["items"]) == 2 and rest["next"] is None
    listed = as_("viewer").get(f"{API}/schedules").json()["items"][0]
    assert listed["counts"] == {"started": 5} and len(listed["recent"]) == 5
    as_("oncall").delete(f"{API}/schedules/{night}")
    with db.sessions() as session:
        assert session.scalars(select(ScheduleFiring)).all() == []


def test_maintenance_is_set_listed_and_ended(as_, db, feed) -> None:
    ads = make_host(db, "ads-1", {"role": "ads"})
    begin = datetime.now(UTC)
    span = {
        "starts_at": begin.isoformat(),
        "ends_at": (begin + timedelta(hours=1)).isoformat(),
        "reason": "disks",
    }
    scoped = as_("scoped")
    assert scoped.post(f"{API}/maintenance-windows", json=span | {"host_id": str(ads)}).status_code == 404
    everywhere = scoped.post(f"{API}/maintenance-windows", json=span)
    assert (everywhere.status_code, everywhere.json()["key"]) == (403, "maintenance.outside_scope")
    mine = scoped.post(f"{API}/maintenance-windows", json=span | {"labels": {"role": "feed"}}).json()
    as_("oncall").post(f"{API}/maintenance-windows", json=span | {"host_id": str(ads)})
    assert [item["id"] for item in scoped.get(f"{API}/maintenance-windows").json()["items"]] == [mine["id"]]
    assert len(as_("viewer").get(f"{API}/maintenance-windows").json()["items"]) == 2
    assert scoped.delete(f"{API}/maintenance-windows/{mine['id']}").status_code == 204
    assert scoped.get(f"{API}/maintenance-windows").json()["items"] == []
    [ended] = scoped.get(f"{API}/maintenance-windows?include_ended=true").json()["items"]
    assert ended["state"] == "ended"
    for wrong in (
        {"ends_at": span["starts_at"]},
        {"reason": ""},
        {"ends_at": (begin + timedelta(days=91)).isoformat()},
    ):
        assert as_("oncall").post(f"{API}/maintenance-windows", json=span | wrong).status_code == 422


def test_maintenance_comes_again_until_it_is_ended(as_, db, feed) -> None:
    begin = datetime.now(UTC)
    supplied = {
        "starts_at": begin.isoformat(),
        "reason": "backup",
        "recurs": {"cron": "@daily", "zone": "Asia/Shanghai", "minutes": 90},
    }
    result = as_("oncall").post(f"{API}/maintenance-windows", json=supplied).json()
    assert result["recurs"] == {"cron": "0 0 * * *", "zone": "Asia/Shanghai", "minutes": 90}
    assert result["ends_at"] is None and result["state"] == "upcoming" and len(result["times"]) == 5
    first = [datetime.fromisoformat(result["times"][0][name]) for name in ("starts_at", "ends_at")]
    assert (first[0].hour, first[0].minute, first[1] - first[0]) == (16, 0, timedelta(minutes=90))
    assert first[0] > begin
    requested = {"cadence": NIGHTLY | {"cron": "30 0 * * *", "zone": "Asia/Shanghai"}, "count": 3}
    target = {"target": {"labels": {"role": "feed"}}}
    upcoming = as_("viewer").post(f"{API}/schedules/preview", json=requested | target).json()["upcoming"]
    assert [item["window"]["reason"] for item in upcoming] == ["backup"] * 3
    assert upcoming[0]["window"]["ends_at"] == result["times"][0]["ends_at"]
    # It has held nothing back yet: it is forgotten, and not listed as one that is over.
    assert as_("oncall").delete(f"{API}/maintenance-windows/{result['id']}").status_code == 204
    assert as_("viewer").get(f"{API}/maintenance-windows?include_ended=true").json()["items"] == []


def test_maintenance_that_has_recurred_is_ended_and_kept(as_, db) -> None:
    ago = datetime.now(UTC) - timedelta(days=30)
    supplied = {
        "starts_at": ago.isoformat(), "reason": "backup",
        "recurs": {"cron": "0 2 * * *", "zone": "UTC", "minutes": 60},
    }  # fmt: skip
    result = as_("oncall").post(f"{API}/maintenance-windows", json=supplied).json()
    assert as_("oncall").delete(f"{API}/maintenance-windows/{result['id']}").status_code == 204
    assert as_("viewer").get(f"{API}/maintenance-windows").json()["items"] == []
    [ended] = as_("viewer").get(f"{API}/maintenance-windows?include_ended=true").json()["items"]
    assert (ended["state"], ended["times"], ended["recurs"]["minutes"]) == ("ended", [], 60)
    again = as_("oncall").delete(f"{API}/maintenance-windows/{result['id']}")
    assert (again.status_code, again.json()["key"]) == (422, "maintenance.over")


@pytest.mark.parametrize(
    ("change", "key"),
    [
        ({"cron": "61 * * * *"}, "schedule.cron_unreadable"),
        ({"cron": "0 0 31 2 *"}, "schedule.cron_unreadable"),
        ({"zone": "Mars/Phobos"}, "schedule.no_such_zone"),
        ({"minutes": 24 * 60}, "maintenance.no_pause"),
        ({"cron": "0 * * * *", "minutes": 61}, "maintenance.no_pause"),
        ({"cron": "0 0 1 1 *", "minutes": 91 * 24 * 60}, None),
        ({"minutes": 0}, None),
        ({"cron": "0 0 1 1 *", "ends": timedelta(minutes=1)}, "maintenance.no_times"),
        ({"ends": -timedelta(days=1)}, "maintenance.no_times"),
    ],
)
def test_a_recurrence_that_makes_no_sense_is_refused(as_, change, key) -> None:
    begin = datetime(2031, 6, 1, tzinfo=UTC)
    rule = {"cron": "0 2 * * *", "zone": "Europe/Berlin", "minutes": 60} | change
    ends = rule.pop("ends", None)
    supplied = {"starts_at": begin.isoformat(), "reason": "backup", "recurs": rule}
    if ends is not None:
        supplied["ends_at"] = (begin + ends).isoformat()
    answer = as_("oncall").post(f"{API}/maintenance-windows", json=supplied)
    assert answer.status_code == 422
    assert key is None or answer.json()["key"] == key


def test_maintenance_window_without_end_is_refused(as_) -> None:
    supplied = {"starts_at": datetime.now(UTC).isoformat(), "reason": "disks"}
    assert as_("oncall").post(f"{API}/maintenance-windows", json=supplied).json()["key"] == "maintenance.span"
