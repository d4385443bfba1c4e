"""One-time upload addresses: accepted and rejected uploads, with the remedy."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from culprit.captures.imports.service import EXAMPLE_BUNDLE
from culprit.captures.uploads import locks as claims
from culprit.infra.db.clock import utc_now
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.captures.capture import Capture
from culprit.infra.models.captures.run import Run
from culprit.infra.models.captures.upload_address import UploadAddress
from culprit.infra.models.hosts.host import Host
from culprit.tests.support import runs
from culprit.web.http.rate_limit import RateLimiter
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from starlette.requests import ClientDisconnect

API = "/api/v1/uploads"
BUNDLE = EXAMPLE_BUNDLE.read_bytes()


@pytest.fixture
def host(db) -> object:
    return runs.make_host(db, "feed-7", {"role": "feed"})


@pytest.fixture
def address(as_, host) -> Callable[..., tuple[dict[str, Any], str]]:
    """Return the created upload address and its path."""

    def make(who: str = "investigator", **body: Any) -> tuple[dict[str, Any], str]:
        named = {} if "host_name" in body else {"host_id": str(host)}
        answer = as_(who).post(API, json=named | body)
        assert answer.status_code == 201, answer.text
        result = answer.json()
        return result, result["url"].removeprefix("http://testserver")

    return make


def change(db, upload_id: str, **values: Any) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(UploadAddress).where(UploadAddress.id == UUID(upload_id)).values(**values))


def state(client: TestClient, upload_id: str) -> dict[str, Any]:
    [item] = [each for each in client.get(API).json()["items"] if each["id"] == upload_id]
    return item


def test_a_bundle_becomes_an_ordinary_run_of_its_host(client, as_, session, address, host) -> None:
    result, path = address()
    answer = client.put(path, content=BUNDLE)
    assert answer.status_code == 201, answer.text
    run = session.scalars(select(Run).where(Run.host_id == host)).one()
    assert run.state == "ingesting" and str(run.id) in answer.text
    capture = session.get_one(Capture, run.capture_id)
    maker = session.scalar(select(UserAccount.id).where(UserAccount.name == "investigator"))
    assert (capture.source, capture.requested_by) == ("import", maker)
    reported = state(as_("investigator"), result["id"])
    assert (reported["state"], reported["bytes"], reported["capture_id"]) == (
        "used",
        len(BUNDLE),
        str(capture.id),
    )
    assert reported["used_from"] and "url" in reported and reported["url"] is None
    again = client.put(path, content=BUNDLE)
    assert again.status_code == 409 and "Each takes one bundle" in again.text
    assert session.scalar(select(func.count()).select_from(Run)) == 1
    actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.seq)).all()
    assert actions == ["upload.made", "capture.import", "upload.received"]


def test_import_names_host_that_was_not_added(client, session, address) -> None:
    _, path = address(host_name="console-1")
    assert client.put(path, content=BUNDLE).status_code == 201
    host = session.scalars(select(Host).where(Host.name == "console-1")).one()
    assert (host.state, host.address) == ("imported", "")


def test_upload_token_is_returned_once_and_stored_as_hash(as_, session, address) -> None:
    result, path = address()
    token = path.rpartition("/")[2]
    fetch = f"curl -fsS '{result['url']}' -o culprit.sh && sh culprit.sh"
    assert len(token) >= 43 and result["command"] == f'd=$(mktemp -d) && cd "$d" && {fetch}'
    row = session.scalars(select(UploadAddress)).one()
    assert token.encode() not in row.token_hash and token not in as_("admin").get(API).text
    assert all(token not in str(item.detail) for item in session.scalars(select(AuditEntry)))


def test_the_address_hands_out_its_script(client, address) -> None:
    result, path = address(seconds=2)
    answer = client.get(path)
    assert answer.status_code == 200 and answer.text.startswith("#!/bin/sh")
    assert f"url='{result['url']}'" in answer.text
    for each in (answer, client.put(path, content=b""), client.get("/up/none")):
        assert (each.headers["cache-control"], each.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert client.get(path).status_code == 200, "looking at it uses nothing up"


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"expires_at": utc_now() - timedelta(seconds=1)}, 409, "has expired"),
        ({"revoked_at": utc_now()}, 409, "was revoked"),
        ({"claimed_until": utc_now() + timedelta(days=1)}, 409, "at this moment"),
        ({"attempts": claims.MAX_ATTEMPTS}, 409, "too often"),
    ],
)
def test_closed_upload_address_returns_reason(client, session, db, address, values, status, words) -> None:
    result, path = address()
    change(db, result["id"], **values)
    for answer in (client.put(path, content=BUNDLE), client.get(path)):
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert session.scalar(select(func.count()).select_from(Capture)) == 0


def test_who_began_and_vanished_does_not_hold_it_for_ever(client, as_, db, address) -> None:
    result, path = address()
    long_ago = utc_now() - timedelta(seconds=claims.LEASE_S + 1)
    change(db, result["id"], claimed_at=long_ago, claimed_until=utc_now() - timedelta(seconds=1))
    assert state(as_("investigator"), result["id"])["state"] == "open"
    with unit_of_work(db.sessions) as session:
        assert claims.release_expired(session) == 1
        assert claims.release_expired(session) == 0
    assert state(as_("investigator"), result["id"])["failure"]["key"] == "upload.receiver_lost"
    assert client.put(path, content=BUNDLE).status_code == 201


def test_bytes_that_come_renew_the_claim(client, db, address, monkeypatch) -> None:
    monkeypatch.setattr(claims, "RENEW_EVERY_S", -1)
    result, path = address()

    def pieces() -> Iterator[bytes]:
        change(db, result["id"], claimed_until=utc_now() + timedelta(seconds=5))
        yield BUNDLE[:1000]
        yield BUNDLE[1000:]

    renewed = []
    renew = claims.renew_lease

    def noted(session: Any, ours: claims.UploadLease) -> None:
        renew(session, ours)
        renewed.append(session.get_one(UploadAddress, ours.id).claimed_until)

    monkeypatch.setattr(claims, "renew_lease", noted)
    assert client.put(path, content=pieces()).status_code == 201
    assert len(renewed) >= 2 and min(renewed) > utc_now() + timedelta(seconds=claims.LEASE_S / 2)


@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        ({"revoked_at": utc_now()}, "was revoked"),
        ({"claimed_at": utc_now()}, "given up"),
        ({"used_at": utc_now()}, "was used"),
    ],
)
def test_an_address_that_was_taken_away_meanwhile(client, session, db, address, meanwhile, words) -> None:
    result, path = address()

    def pieces() -> Iterator[bytes]:
        yield BUNDLE
        change(db, result["id"], **meanwhile)

    answer = client.put(path, content=pieces())
    assert (answer.status_code, words in answer.text) == (409, True), answer.text
    assert session.scalar(select(func.count()).select_from(Capture)) == 0


def test_nothing_that_comes_for_too_long_is_cut_off(client, as_, app, address, config, monkeypatch) -> None:
    monkeypatch.setattr(claims, "MAX_PAUSE_S", 0.01)
    result, path = address()
    sent = asyncio.run(_request(app, path, [{"type": "http.request", "body": BUNDLE[:9], "more_body": True}]))
    assert sent[0]["status"] == 422 and b"9 bytes" in sent[1]["body"]
    assert state(as_("investigator"), result["id"])["failure"]["key"] == "upload.cut"
    assert list((config.home / "work").glob("upload-*")) == []


def test_upload_releases_address_when_server_stops(client, as_, app, address, config) -> None:
    result, path = address()

    async def stopped() -> None:
        under_way = asyncio.Event()
        begun = [{"type": "http.request", "body": BUNDLE[:9], "more_body": True}]
        task = asyncio.create_task(_request(app, path, begun, under_way))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    reported = state(as_("investigator"), result["id"])
    assert (reported["state"], reported["failure"]["key"]) == ("open", "upload.receiver_lost")
    assert list((config.home / "work").glob("upload-*")) == []


@pytest.mark.parametrize("stated", [True, False])
def test_more_than_it_takes_is_refused_while_it_comes(client, as_, db, config, address, stated) -> None:
    result, path = address(max_mb=1)
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1 << 20
            yield bytes(1 << 20)

    headers = {"Content-Length": "100"} if stated else {}
    answer = client.put(path, content=pieces(), headers=headers)
    assert answer.status_code == 413 and "1 MiB" in answer.text
    reported = state(as_("investigator"), result["id"])
    assert (reported["state"], reported["failure"]["key"], reported["attempts"]) == (
        "open",
        "upload.too_large",
        1,
    )
    assert list((config.home / "work").glob("upload-*")) == []
    assert client.put(path, content=BUNDLE[: 1 << 19]).status_code in {201, 422}


@pytest.mark.parametrize("body", [b"", b"no bundle at all\n", b"CULPRIT1 part x" + bytes(500)])
def test_what_is_no_bundle_leaves_the_address_open(client, as_, session, address, body) -> None:
    result, path = address()
    answer = client.put(path, content=body)
    assert answer.status_code == 422 and len(answer.text) > 20
    reported = state(as_("investigator"), result["id"])
    assert reported["state"] == "open" and reported["failure"]
    assert "upload.refused" in session.scalars(select(AuditEntry.action)).all()
    assert client.put(path, content=BUNDLE).status_code == 201


def test_a_line_that_breaks_leaves_the_address_open(client, as_, app, address, config) -> None:
    result, path = address()
    received = [
        {"type": "http.request", "body": BUNDLE[:1000], "more_body": True},
        {"type": "http.disconnect"},
    ]
    sent = asyncio.run(_request(app, path, received))
    assert sent[0]["status"] == 422
    reported = state(as_("investigator"), result["id"])
    assert (reported["state"], reported["failure"]["key"]) == ("open", "upload.cut")
    assert list((config.home / "work").glob("upload-*")) == []
    assert client.put(path, content=BUNDLE).status_code == 201


async def _request(
    app, path: str, received: list[dict[str, Any]], under_way: asyncio.Event | None = None
) -> list[dict[str, Any]]:
    """Send a request whose body ends after `received`; set `under_way` when all of it was read."""
    coming = iter(received)
    sent: list[dict[str, Any]] = []

    async def receive() -> dict[str, Any]:
        message = next(coming, None)
        if message is not None:
            return message
        if under_way is not None:
            under_way.set()
        return await asyncio.Future()

    async def send(message: Any) -> None:
        sent.append(dict(message))

    scope = {
        "type": "http", "method": "PUT", "path": path, "raw_path": path.encode(), "query_string": b"",
        "headers": [(b"host", b"testserver")], "client": ("192.0.2.7", 1), "server": ("testserver", 80),
        "scheme": "http", "http_version": "1.1", "asgi": {"version": "3.0"}, "root_path": "", "app": app,
    }  # fmt: skip
    try:
        await app(scope, receive, send)
    except ClientDisconnect:
        raise AssertionError("a client that goes away is no error of ours") from None
    return sent


def test_upload_checks_its_creator_again(client, db, address) -> None:
    result, path = address()
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.name == "investigator").values(role="viewer"))
    refused = client.put(path, content=BUNDLE)
    assert refused.status_code == 403
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserAccount).where(UserAccount.name == "investigator").values(disabled_at=utc_now())
        )
    assert "account that made" in client.put(path, content=BUNDLE).text
    assert result["attempts"] == 0


def test_upload_address_creation_requires_permission(as_, host) -> None:
    for body, who, status, key in (
        ({}, "investigator", 422, "upload.one_host"),
        ({"host_id": str(host), "host_name": "x"}, "investigator", 422, "upload.one_host"),
        ({"host_id": str(host), "plan": "sched"}, "investigator", 403, "auth.role_too_low"),
        ({"host_id": str(host), "plan": "nothing"}, "investigator", 422, "capture.plan_unknown"),
        ({"host_id": str(host)}, "viewer", 403, "auth.role_too_low"),
    ):
        answer = as_(who).post(API, json=body)
        assert (answer.status_code, answer.json()["key"]) == (status, key)


def test_revoking(client, as_, address) -> None:
    result, path = address()
    assert as_("investigator").delete(f"{API}/{result['id']}").status_code == 204
    assert client.put(path, content=BUNDLE).status_code == 409
    assert as_("investigator").delete(f"{API}/{result['id']}").status_code == 204
    assert state(as_("investigator"), result["id"])["state"] == "revoked"


def test_guessing_is_held_back(client, app) -> None:
    app.state.upload_rate_limiter = RateLimiter(2, "upload.too_often")
    states = [client.put("/up/guess", content=b"x").status_code for _ in range(3)]
    assert states == [404, 404, 429]
    assert int(client.get("/up/guess").headers["retry-after"]) > 0
