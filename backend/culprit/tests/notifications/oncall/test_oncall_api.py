"""Rotations, overrides, calendars and PagerDuty over HTTP, and what is fetched for them."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from datetime import UTC, datetime, timedelta
from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from culprit.accounts import sealed_columns
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.notifications.oncall_shift import OncallShift
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.vault import get_vault
from culprit.jobs.notifications.fetch_oncall import fetch_oncall
from culprit.notifications.oncall import assignments
from culprit.tests.support.web import reply, web
from sqlalchemy import func, select, update

API = "/api/v1"
CANARY = "canary-7f3a"


@pytest.fixture
def admin(as_, db):
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    return as_("admin")


def days_ago(days: float) -> datetime:
    return datetime.now(UTC).replace(microsecond=0) - timedelta(days=days)


def ics(*events: str) -> bytes:
    lines = "\r\n".join(events)
    return f"BEGIN:VCALENDAR\r\nVERSION:2.0\r\nPRODID:-//test\r\n{lines}\r\nEND:VCALENDAR\r\n".encode()


def event(start: datetime, days: float, *more: str) -> str:
    form = "%Y%m%dT%H%M%SZ"
    lines = (f"DTSTART:{start:{form}}", f"DTEND:{start + timedelta(days=days):{form}}", *more)
    return "\r\n".join(("BEGIN:VEVENT", f"UID:{hash(more)}", *lines, "END:VEVENT"))


def simple(people, *names: str, **more: Any) -> dict[str, Any]:
    first = days_ago(3).date().isoformat()
    return {
        "name": "primary",
        "source": {"kind": "simple", "people": [str(people[name].id) for name in names], "first_day": first, "days": 7, "handover": "00:00"} | more,
    }  # fmt: skip


def test_rotation_returns_current_and_next_shift(as_, people, session) -> None:
    result = as_("admin").post(f"{API}/rotations", json=simple(people, "oncall", "viewer")).json()
    [now] = as_("viewer").get(f"{API}/oncall").json()
    assert (now["rotation"]["name"], now["now"][0]["who"], now["next"]["who"]) == (
        "primary",
        "oncall",
        "viewer",
    )
    assert now["now"][0]["person"]["role"] == "oncall" and now["next"]["start"] == now["now"][0]["end"]
    assert [shift["who"] for shift in result["shifts"][:3]] == ["oncall", "viewer", "oncall"]
    assert as_("oncall").post(f"{API}/rotations", json=simple(people, "oncall")).status_code == 403
    assert as_("admin").post(f"{API}/rotations", json=simple(people, "oncall")).status_code == 409
    at = datetime.now(UTC)
    assert assignments.list_on_call_users(session, at) == [people["oncall"].id]
    assert assignments.list_on_call_users(session, at + timedelta(days=7)) == [people["viewer"].id]


def test_override_replaces_shift(as_, people, session) -> None:
    result = as_("admin").post(f"{API}/rotations", json=simple(people, "admin")).json()
    at = datetime.now(UTC)
    span = {
        "starts_at": (at - timedelta(hours=1)).isoformat(),
        "ends_at": (at + timedelta(hours=1)).isoformat(),
    }
    path = f"{API}/rotations/{result['id']}/overrides"
    requested = {"user_id": str(people["oncall"].id), **span, "reason": "ill"}
    assert as_("investigator").post(path, json=requested).status_code == 403
    taken = as_("oncall").post(path, json=requested).json()
    assert (taken["now"][0]["who"], taken["now"][0]["source"], taken["next"]["who"]) == (
        "oncall",
        "override",
        "admin",
    )
    [over] = taken["overrides"]
    assert as_("oncall").delete(f"{path}/{over['id']}").status_code == 204
    assert as_("oncall").delete(f"{path}/{over['id']}").status_code == 404
    assert as_("viewer").get(f"{API}/oncall").json()[0]["now"][0]["who"] == "admin"
    backwards = {**requested, "starts_at": requested["ends_at"], "ends_at": requested["starts_at"]}
    assert as_("oncall").post(path, json=backwards).json()["key"] == "oncall.override_span"
    no_user = {**requested, "user_id": result["id"]}
    assert as_("oncall").post(path, json=no_user).json()["key"] == "oncall.no_such_account"
    actions = list(session.scalars(select(AuditEntry.action).where(AuditEntry.resource_kind == "rotation")))
    assert actions == ["oncall.created", "oncall.overridden", "oncall.override_removed"]


def test_a_calendar_is_uploaded_and_read(as_, people) -> None:
    supplied = {
        "name": "cal",
        "source": {"kind": "calendar", "zone": "Europe/Berlin"},
        "accounts": {"Zed": str(people["viewer"].id)},
    }
    result = as_("admin").post(f"{API}/rotations", json=supplied).json()
    path = f"{API}/rotations/{result['id']}/calendar"
    weekly = event(days_ago(1), 2, "SUMMARY:Zed", "RRULE:FREQ=WEEKLY;COUNT=4")
    attended = event(days_ago(1), 2, "SUMMARY:On call", "ATTENDEE;CN=Somebody:mailto:oncall@example.org")
    canceled = event(days_ago(1), 2, "SUMMARY:Not me", "STATUS:CANCELLED")
    whole_day = f"BEGIN:VEVENT\r\nUID:d\r\nDTSTART;VALUE=DATE:{days_ago(-10):%Y%m%d}\r\nSUMMARY:Day\\, shift\r\nEND:VEVENT"
    data = ics(weekly, attended, canceled, whole_day)
    read = as_("admin").put(path, files={"file": ("duty.ics", data)}).json()
    assert {(item["who"], item["person"] and item["person"]["name"]) for item in read["now"]} == {
        ("viewer", "viewer"), ("oncall", "oncall"),
    }  # fmt: skip
    assert len([shift for shift in read["shifts"] if shift["who"] == "viewer"]) == 4
    [day] = [shift for shift in read["shifts"] if shift["who"] == "Day, shift"]
    assert day["person"] is None and datetime.fromisoformat(day["start"]).hour in {22, 23}
    assert read["source"] == {"file": "duty.ics", "bytes": len(data)} and read["failure"] is None
    assert as_("oncall").put(path, files={"file": ("x", data)}).status_code == 403


@pytest.mark.parametrize(
    ("data", "key"),
    [
        (b"hello", "oncall.no_calendar"),
        (ics("BEGIN:VEVENT", "DTSTART:nonsense", "END:VEVENT"), "oncall.calendar_unreadable"),
        (ics(event(days_ago(1), 1, "SUMMARY:x", "RRULE:FREQ=SEC\r\n ONDLY")), "oncall.calendar_restless"),
        (ics(*["BEGIN:VEVENT\r\nEND:VEVENT"] * 5001), "oncall.calendar_too_long"),
        (ics(event(days_ago(9), 1, "SUMMARY:x", "RRULE:FREQ=DAILY;BYHOUR=" + ",".join(map(str, range(24))))), "oncall.too_many_shifts"),
        (b"BEGIN:VCALENDAR\r\n" * 4000, None),
        (b"BEGIN:VCALENDAR\r\n\x00\xff\xfe\r\nEND:VCALENDAR", None),
    ],
)  # fmt: skip
def test_a_hostile_calendar_is_refused(as_, session, data: bytes, key: str | None) -> None:
    result = (
        as_("admin").post(f"{API}/rotations", json={"name": "cal", "source": {"kind": "calendar"}}).json()
    )
    answer = as_("admin").put(f"{API}/rotations/{result['id']}/calendar", files={"file": ("x.ics", data)})
    assert answer.status_code == 422 if key else answer.status_code in {200, 422}, answer.text
    assert key is None or answer.json()["key"] == key
    assert session.scalar(select(func.count(OncallShift.id))) == 0


def test_a_calendar_is_fetched_and_its_address_stays_secret(admin, db, session, people) -> None:
    data = ics(event(days_ago(1), 2, "SUMMARY:oncall"))
    with web(reply(200, data)) as server:
        url = f"{server.url}/private/{CANARY}/feed.ics?key={CANARY}"
        answer = admin.post(
            f"{API}/rotations", json={"name": "cal", "source": {"kind": "calendar", "url": url}}
        )
        result = answer.json()
        assert (
            result["has_secret"] and result["source"] == {"server": server.url} and CANARY not in answer.text
        )
        assert fetch_oncall(result["id"]) is True
        assert fetch_oncall(result["id"]) is None, "not before its time"
        assert server.requests == [(f"/private/{CANARY}/feed.ics?key={CANARY}", None)]
    displayed = admin.get(f"{API}/rotations/{result['id']}")
    assert displayed.json()["now"][0]["who"] == "oncall" and CANARY not in displayed.text
    assert admin.post(f"{API}/rotations/{result['id']}/fetch").status_code == 200
    assert fetch_oncall(result["id"]) is False
    stale = admin.get(f"{API}/oncall").json()[0]
    assert stale["failure"]["key"] == "outgoing.unreachable" and stale["now"][0]["who"] == "oncall"
    row = session.get_one(Rotation, result["id"])
    assert CANARY not in str(row.source) and CANARY.encode() not in (row.ciphertext or b"")
    assert sealed_columns.open_secret(row, get_vault()) == url
    log = " ".join(str(item.detail) for item in session.scalars(select(AuditEntry)))
    assert CANARY not in log


@pytest.mark.parametrize(
    "url",
    ["https://10.1.2.3/x.ics", "http://169.254.169.254/latest", "file:///etc/passwd", "http://u:p@127.0.0.1/x", "http://127.0.0.1/x#y", "gopher://127.0.0.1/"],
)  # fmt: skip
def test_calendar_from_forbidden_network_is_refused(admin, url: str) -> None:
    supplied = {"name": "cal", "source": {"kind": "calendar", "url": url}}
    answer = admin.post(f"{API}/rotations", json=supplied)
    assert answer.status_code == 422 and "10.1.2.3/x" not in answer.text


Pages = Callable[[BaseHTTPRequestHandler], None]


def oncalls(*rows: dict[str, Any], more: bool = False) -> bytes:
    return json.dumps({"oncalls": rows, "more": more, "limit": 100, "offset": 0}).encode()


def duty_of(name: str, level: int = 1, **more: Any) -> dict[str, Any]:
    times = {"start": days_ago(1).isoformat(), "end": days_ago(-1).isoformat()}
    user = {"id": "P1", "type": "user", "name": name, "summary": name, "email": f"{name}@example.org"}
    return {"user": user, "escalation_level": level, "schedule": {"id": "PS1"}, **times, **more}


@pytest.fixture
def pager() -> Iterator[tuple[Any, list[bytes]]]:
    """A server that answers with the pages in the list, one after another."""
    pages: list[bytes] = []

    def answer(handler: BaseHTTPRequestHandler) -> None:
        reply(200, pages.pop(0))(handler)

    with web(answer) as server:
        yield server, pages


def test_pagerduty_is_read_page_by_page(admin, people, pager, session) -> None:
    server, pages = pager
    source = {"kind": "pagerduty", "url": server.url, "token": CANARY, "schedules": ["PS1"]}
    answer = admin.post(f"{API}/rotations", json={"name": "pd", "source": source})
    result = answer.json()
    assert CANARY not in answer.text and result["source"]["schedules"] == ["PS1"]
    pages += [
        oncalls(duty_of("Second", 2), {"user": "?"}, {"user": {"name": "\x00"}}, more=True),
        oncalls(duty_of("oncall", 1), duty_of("Always", 3, start=None, end=None)),
    ]
    assert fetch_oncall(result["id"]) is True
    assert [token for _, token in server.requests] == [f"Token token={CANARY}"] * 2
    assert "schedule_ids%5B%5D=PS1" in server.requests[0][0] and "offset=100" in server.requests[1][0]
    displayed = admin.get(f"{API}/rotations/{result['id']}").json()
    assert [(item["who"], item["level"]) for item in displayed["now"]] == [
        ("oncall", 1),
        ("Second", 2),
        ("Always", 3),
    ]
    assert displayed["now"][2]["end"] is None
    assert assignments.list_on_call_users(session, datetime.now(UTC)) == [people["oncall"].id]
    # A token stays with the server that it was given for.
    elsewhere = {"kind": "pagerduty", "url": "http://127.0.0.1:9"}
    moved = admin.patch(f"{API}/rotations/{result['id']}", json={"version": 1, "source": elsewhere})
    assert moved.json()["key"] == "oncall.needs_token"
    same = {"kind": "pagerduty", "url": server.url, "policies": ["PP1"]}
    assert admin.patch(f"{API}/rotations/{result['id']}", json={"version": 1, "source": same}).json()[
        "has_secret"
    ]


@pytest.mark.parametrize("page", [b"[]", b"{", b'{"oncalls": 7}', b"[" * 100_000, b""])
def test_what_is_not_pagerduty_leaves_the_turns_as_they_were(admin, db, pager, page: bytes) -> None:
    server, pages = pager
    source = {"kind": "pagerduty", "url": server.url, "token": CANARY}
    result = admin.post(f"{API}/rotations", json={"name": "pd", "source": source}).json()
    pages += [oncalls(duty_of("Anna")), page]
    fetch_oncall(result["id"])
    with unit_of_work(db.sessions) as session:
        session.execute(update(Rotation).values(fetch_after=func.now()))
    assert fetch_oncall(result["id"]) is False
    [now] = admin.get(f"{API}/oncall").json()
    assert (now["failure"]["key"], now["now"][0]["who"]) == ("oncall.pagerduty_garbled", "Anna")
