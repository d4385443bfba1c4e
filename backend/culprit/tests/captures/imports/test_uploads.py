"""Addresses that take one bundle: what is taken, what is refused with what to do, and that each is used once."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from uuid import UUID

import pytest
from culprit.imports import upload_claims
from culprit.imports.service import EXAMPLE
from culprit.kit.clock import now
from culprit.kit.gate import Gate
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import AuditEntry, Capture, Host, Run, UploadAddress, UserAccount
from culprit.tests.support import runs
from fastapi.testclient import TestClient
from sqlalchemy import func, select, update
from starlette.requests import ClientDisconnect

API = "/api/v1/uploads"
BUNDLE = EXAMPLE.read_bytes()


@pytest.fixture
def host(db) -> object:
    return runs.make_host(db, "feed-7", {"role": "feed"})


@pytest.fixture
def address(as_, host) -> Callable[..., tuple[dict[str, Any], str]]:
    """(what was made, its path)."""

    def make(who: str = "investigator", **body: Any) -> tuple[dict[str, Any], str]:
        named = {} if "host_name" in body else {"host_id": str(host)}
        answer = as_(who).post(API, json=named | body)
        assert answer.status_code == 201, answer.text
        made = answer.json()
        return made, made["url"].removeprefix("http://testserver")

    return make


def change(db, upload_id: str, **values: Any) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(UploadAddress).where(UploadAddress.id == UUID(upload_id)).values(**values))


def state(client: TestClient, upload_id: str) -> dict[str, Any]:
    [one] = [each for each in client.get(API).json()["items"] if each["id"] == upload_id]
    return one


def test_a_bundle_becomes_an_ordinary_run_of_its_host(client, as_, session, address, host) -> None:
    made, path = address()
    answer = client.put(path, content=BUNDLE)
    assert answer.status_code == 201, answer.text
    run = session.scalars(select(Run).where(Run.host_id == host)).one()
    assert run.state == "ingesting" and str(run.id) in answer.text
    capture = session.get_one(Capture, run.capture_id)
    maker = session.scalar(select(UserAccount.id).where(UserAccount.name == "investigator"))
    assert (capture.source, capture.requested_by) == ("import", maker)
    told = state(as_("investigator"), made["id"])
    assert (told["state"], told["bytes"], told["capture_id"]) == ("used", len(BUNDLE), str(capture.id))
    assert told["used_from"] and "url" in told and told["url"] is None
    again = client.put(path, content=BUNDLE)
    assert again.status_code == 409 and "Each takes one bundle" in again.text
    assert session.scalar(select(func.count()).select_from(Run)) == 1
    actions = session.scalars(select(AuditEntry.action).order_by(AuditEntry.seq)).all()
    assert actions == ["upload.made", "capture.import", "upload.received"]


def test_a_host_that_nobody_enrolled_gets_a_name(client, session, address) -> None:
    _, path = address(host_name="console-1")
    assert client.put(path, content=BUNDLE).status_code == 201
    host = session.scalars(select(Host).where(Host.name == "console-1")).one()
    assert (host.state, host.address) == ("imported", "")


def test_the_token_is_shown_once_and_kept_as_a_hash(as_, session, address) -> None:
    made, path = address()
    token = path.rpartition("/")[2]
    fetch = f"curl -fsS '{made['url']}' -o culprit.sh && sh culprit.sh"
    assert len(token) >= 43 and made["command"] == f'd=$(mktemp -d) && cd "$d" && {fetch}'
    row = session.scalars(select(UploadAddress)).one()
    assert token.encode() not in row.token_hash and token not in as_("admin").get(API).text
    assert all(token not in str(one.detail) for one in session.scalars(select(AuditEntry)))


def test_the_address_hands_out_its_script(client, address) -> None:
    made, path = address(seconds=2)
    answer = client.get(path)
    assert answer.status_code == 200 and answer.text.startswith("#!/bin/sh")
    assert f"url='{made['url']}'" in answer.text
    for each in (answer, client.put(path, content=b""), client.get("/up/none")):
        assert (each.headers["cache-control"], each.headers["referrer-policy"]) == ("no-store", "no-referrer")
    assert client.get(path).status_code == 200, "looking at it uses nothing up"


@pytest.mark.parametrize(
    ("values", "status", "words"),
    [
        ({"expires_at": now() - timedelta(seconds=1)}, 409, "has expired"),
        ({"revoked_at": now()}, 409, "was revoked"),
        ({"claimed_until": now() + timedelta(days=1)}, 409, "at this moment"),
        ({"attempts": upload_claims.MOST_ATTEMPTS}, 409, "too often"),
    ],
)
def test_an_address_that_takes_nothing_says_why(client, session, db, address, values, status, words) -> None:
    made, path = address()
    change(db, made["id"], **values)
    for answer in (client.put(path, content=BUNDLE), client.get(path)):
        assert (answer.status_code, words in answer.text) == (status, True), answer.text
        assert answer.headers["content-type"] == "text/plain; charset=utf-8"
    assert session.scalar(select(func.count()).select_from(Capture)) == 0


def test_who_began_and_vanished_does_not_hold_it_for_ever(client, as_, db, address) -> None:
    made, path = address()
    long_ago = now() - timedelta(seconds=upload_claims.LEASE_S + 1)
    change(db, made["id"], claimed_at=long_ago, claimed_until=now() - timedelta(seconds=1))
    assert state(as_("investigator"), made["id"])["state"] == "open"
    with unit_of_work(db.sessions) as session:
        assert upload_claims.free_lapsed(session) == 1
        assert upload_claims.free_lapsed(session) == 0
    assert state(as_("investigator"), made["id"])["failure"]["key"] == "upload.receiver_lost"
    assert client.put(path, content=BUNDLE).status_code == 201


def test_bytes_that_come_renew_the_claim(client, db, address, monkeypatch) -> None:
    monkeypatch.setattr(upload_claims, "RENEW_EVERY_S", -1)
    made, path = address()

    def pieces() -> Iterator[bytes]:
        change(db, made["id"], claimed_until=now() + timedelta(seconds=5))
        yield BUNDLE[:1000]
        yield BUNDLE[1000:]

    renewed = []
    renew = upload_claims.renew

    def noted(session: Any, ours: upload_claims.Claim) -> None:
        renew(session, ours)
        renewed.append(session.get_one(UploadAddress, ours.id).claimed_until)

    monkeypatch.setattr(upload_claims, "renew", noted)
    assert client.put(path, content=pieces()).status_code == 201
    assert len(renewed) >= 2 and min(renewed) > now() + timedelta(seconds=upload_claims.LEASE_S / 2)


@pytest.mark.parametrize(
    ("meanwhile", "words"),
    [
        ({"revoked_at": now()}, "was revoked"),
        ({"claimed_at": now()}, "given up"),
        ({"used_at": now()}, "was used"),
    ],
)
def test_an_address_that_was_taken_away_meanwhile(client, session, db, address, meanwhile, words) -> None:
    made, path = address()

    def pieces() -> Iterator[bytes]:
        yield BUNDLE
        change(db, made["id"], **meanwhile)

    answer = client.put(path, content=pieces())
    assert (answer.status_code, words in answer.text) == (409, True), answer.text
    assert session.scalar(select(func.count()).select_from(Capture)) == 0


def test_nothing_that_comes_for_too_long_is_cut_off(client, as_, app, address, config, monkeypatch) -> None:
    monkeypatch.setattr(upload_claims, "QUIET_S", 0.01)
    made, path = address()
    sent = asyncio.run(_request(app, path, [{"type": "http.request", "body": BUNDLE[:9], "more_body": True}]))
    assert sent[0]["status"] == 422 and b"9 bytes" in sent[1]["body"]
    assert state(as_("investigator"), made["id"])["failure"]["key"] == "upload.cut"
    assert list((config.home / "work").glob("upload-*")) == []


def test_a_server_that_is_told_to_stop_gives_the_address_back(client, as_, app, address, config) -> None:
    made, path = address()

    async def stopped() -> None:
        under_way = asyncio.Event()
        begun = [{"type": "http.request", "body": BUNDLE[:9], "more_body": True}]
        task = asyncio.create_task(_request(app, path, begun, under_way))
        await under_way.wait()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(stopped())
    told = state(as_("investigator"), made["id"])
    assert (told["state"], told["failure"]["key"]) == ("open", "upload.receiver_lost")
    assert list((config.home / "work").glob("upload-*")) == []


@pytest.mark.parametrize("stated", [True, False])
def test_more_than_it_takes_is_refused_while_it_comes(client, as_, db, config, address, stated) -> None:
    made, path = address(max_mb=1)
    sent = 0

    def pieces() -> Iterator[bytes]:
        nonlocal sent
        for _ in range(64):
            sent += 1 << 20
            yield bytes(1 << 20)

    headers = {"Content-Length": "100"} if stated else {}
    answer = client.put(path, content=pieces(), headers=headers)
    assert answer.status_code == 413 and "1 MiB" in answer.text
    told = state(as_("investigator"), made["id"])
    assert (told["state"], told["failure"]["key"], told["attempts"]) == ("open", "upload.too_large", 1)
    assert list((config.home / "work").glob("upload-*")) == []
    assert client.put(path, content=BUNDLE[: 1 << 19]).status_code in {201, 422}


@pytest.mark.parametrize("body", [b"", b"no bundle at all\n", b"CULPRIT1 part x" + bytes(500)])
def test_what_is_no_bundle_leaves_the_address_open(client, as_, session, address, body) -> None:
    made, path = address()
    answer = client.put(path, content=body)
    assert answer.status_code == 422 and len(answer.text) > 20
    told = state(as_("investigator"), made["id"])
    assert told["state"] == "open" and told["failure"]
    assert "upload.refused" in session.scalars(select(AuditEntry.action)).all()
    assert client.put(path, content=BUNDLE).status_code == 201


def test_a_line_that_breaks_leaves_the_address_open(client, as_, app, address, config) -> None:
    made, path = address()
    heard = [{"type": "http.request", "body": BUNDLE[:1000], "more_body": True}, {"type": "http.disconnect"}]
    sent = asyncio.run(_request(app, path, heard))
    assert sent[0]["status"] == 422
    told = state(as_("investigator"), made["id"])
    assert (told["state"], told["failure"]["key"]) == ("open", "upload.cut")
    assert list((config.home / "work").glob("upload-*")) == []
    assert client.put(path, content=BUNDLE).status_code == 201


async def _request(
    app, path: str, heard: list[dict[str, Any]], under_way: asyncio.Event | None = None
) -> list[dict[str, Any]]:
    """One request of which no more comes than was `heard`; `under_way` is set once all of that was read."""
    coming = iter(heard)
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


def test_its_maker_is_looked_at_again(client, db, address) -> None:
    made, path = address()
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.name == "investigator").values(role="viewer"))
    refused = client.put(path, content=BUNDLE)
    assert refused.status_code == 403
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserAccount).where(UserAccount.name == "investigator").values(disabled_at=now())
        )
    assert "account that made" in client.put(path, content=BUNDLE).text
    assert made["attempts"] == 0


def test_who_may_make_one_and_for_what(as_, host) -> None:
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
    made, path = address()
    assert as_("investigator").delete(f"{API}/{made['id']}").status_code == 204
    assert client.put(path, content=BUNDLE).status_code == 409
    assert as_("investigator").delete(f"{API}/{made['id']}").status_code == 204
    assert state(as_("investigator"), made["id"])["state"] == "revoked"


def test_guessing_is_held_back(client, app) -> None:
    app.state.upload_gate = Gate(2, "upload.too_often")
    states = [client.put("/up/guess", content=b"x").status_code for _ in range(3)]
    assert states == [404, 404, 429]
    assert int(client.get("/up/guess").headers["retry-after"]) > 0
