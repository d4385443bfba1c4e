"""Secrets that were put in come out nowhere: no dump, log, answer, audit entry or task message has them."""

from __future__ import annotations

import base64
import json
import logging
import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest
from culprit.auth.sealed import rewrap_all
from culprit.config import Settings
from culprit.hosts.access import hops_to, open_secret, sudo_password
from culprit.infra.db import Database
from culprit.infra.secrets import SecretUnreadable, Vault, vault
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    Channel,
    Credential,
    Host,
    Incident,
    NetworkRule,
    Notice,
    Report,
    ReportShare,
    Rotation,
    Trigger,
)
from culprit.notices import leads
from culprit.tests.support.reports import frozen
from culprit.tests.support.runs import make_host
from culprit.workflows.fetch_oncall import fetch_oncall
from culprit.workflows.send_notice import send_notice
from redis import Redis
from sqlalchemy import select

API = "/api/v1"


def key_with_canary(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", "c"], check=True)
    return path.read_text()


def forms(secret: str) -> set[bytes]:
    """A secret in the spellings in which it could lie about."""
    raw = secret.encode()
    return {raw, base64.b64encode(raw).rstrip(b"="), raw.hex().encode(), json.dumps(secret)[1:-1].encode()}


def dump(url: str) -> bytes:
    """Every row of every table, as text and with bytes in hex."""
    out = []
    with psycopg.connect(url) as connection:
        names = connection.execute("SELECT tablename FROM pg_tables WHERE schemaname = 'public'").fetchall()
        for (name,) in names:
            for (row,) in connection.execute(f'SELECT t::text FROM "{name}" t').fetchall():
                out.append(row)
    return "\n".join(out).encode()


def test_no_canary_comes_out(
    as_, session_as, client, db: Database, config: Settings, tmp_path: Path, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    admin = as_("admin")
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="10.0.0.0/8"))
    private = key_with_canary(tmp_path / "key")
    body_line = private.splitlines()[2]
    canaries = {
        "host password": "canary-" + secrets.token_urlsafe(18),
        "sudo password": "canary-" + secrets.token_urlsafe(18),
        "account password": "canary-" + secrets.token_urlsafe(18),
        "wrong password": "canary-" + secrets.token_urlsafe(18),
        "passphrase": "canary-" + secrets.token_urlsafe(18),
        "service token": "canary-" + secrets.token_urlsafe(18),
        "private key": body_line,
        "key-encryption key": base64.b64encode(config.key_ring()[1]).decode(),
    }
    answers = []

    def ask(who, method: str, path: str, **more):
        answer = who.request(method, API + path, **more)
        answers.append(answer.text + str(dict(answer.headers)))
        return answer

    host = {
        "name": "h", "address": "10.0.0.1", "username": "root", "sudo": "password",
        "sudo_password": canaries["sudo password"],
        "credential": {"kind": "password", "password": canaries["host password"]},
    }  # fmt: skip
    once = {"Idempotency-Key": "k"}
    made = ask(admin, "POST", "/hosts", json=host, headers=once)
    assert made.status_code == 201
    ask(admin, "POST", "/hosts", json=host, headers=once)
    ask(admin, "POST", "/hosts", json=host | {"port": "x"})
    ask(admin, "POST", "/credentials", json={"name": "k", "kind": "key", "private_key": private})
    bad = {"name": "p", "kind": "key", "private_key": private + "x", "passphrase": canaries["passphrase"]}
    ask(admin, "POST", "/credentials", json=bad)
    ask(
        admin, "POST", "/credentials", json={"name": "p", "kind": "agent", "password": canaries["passphrase"]}
    )
    asked = {"rate": "r", "errors": "e", "latency": "$quantile"}
    source = {"kind": "prometheus", "url": "http://10.0.0.9:22", "queries": asked}
    service = {"name": "s", "selector": {"a": "b"}, "source": source, "token": canaries["service token"]}
    assert ask(admin, "POST", "/services", json=service, headers={"Idempotency-Key": "s"}).status_code == 201
    ask(admin, "POST", "/services", json=service | {"source": {"kind": "none"}, "name": "s2"})
    ask(admin, "POST", "/services", json=service | {"token": canaries["service token"] + " "})
    user = {"name": "bob", "role": "viewer", "password": canaries["account password"]}
    browser = session_as("admin")
    ask(browser, "POST", "/users", json=user)
    for password in (canaries["account password"], canaries["wrong password"]):
        ask(client, "POST", "/session", json={"name": "bob", "password": password})
        ask(client, "POST", "/session", json={"name": password, "password": password})
    token = ask(browser, "POST", "/tokens", json={"name": "t"}).json()["token"]
    answers.pop()
    canaries["api token"] = token
    for path in (
        "/hosts",
        "/credentials",
        "/users",
        "/tokens",
        "/audit",
        "/network-rules",
        "/services",
        "/me",
    ):
        ask(admin, "GET", path)
    ask(admin, "POST", f"/hosts/{made.json()['id']}/check")
    assert host["credential"]["password"] and len(answers) > 15

    with db.sessions() as session:
        stored = session.get_one(Host, made.json()["id"])
        hop = hops_to(session, stored)[0]
        assert hop.login.secret == canaries["host password"]
        assert sudo_password(stored) == canaries["sudo password"]
        shown = repr((hop, hop.login, stored, session.get_one(Credential, stored.credential_id)))

    with Redis.from_url(config.redis_url) as redis:
        queued = b"".join(
            b"".join(redis.lrange(key, 0, -1)) for key in redis.keys("*") if redis.type(key) == b"list"
        )
    output = capfd.readouterr()
    places = {
        "database": dump(config.database_url),
        "answers": "\n".join(answers).encode(),
        "logs": (caplog.text + output.out + output.err).encode(),
        "messages": queued,
        "repr": shown.encode() + repr(config).encode(),
    }
    hits = [
        (what, where)
        for what, secret in canaries.items()
        for where, content in places.items()
        if any(form in content for form in forms(secret))
    ]
    assert hits == []
    assert b"check_host" in queued, "the message was really sent"


def test_no_canary_of_alerts_messages_and_reports_comes_out(
    as_, client, db: Database, config: Settings, people, caplog: pytest.LogCaptureFixture,
    capfd: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    caplog.set_level(logging.DEBUG)
    caplog.set_level(logging.WARNING, "httpx2")  # the reader of a link, who writes down where it went
    admin = as_("admin")
    host_id = make_host(db, "feed-1", {"role": "feed"})
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
    names = (
        "trigger secret", "wrong token", "webhook address", "webhook secret", "slack address", "mail password",
        "calendar address", "pager token",
    )  # fmt: skip
    canaries = {name: "canary-" + secrets.token_urlsafe(18) for name in names}
    answers: list[str] = []

    def ask(who, method: str, path: str, *, told_once: str = "", **more):
        answer = who.request(method, path if path.startswith("/r/") else API + path, **more)
        text = answer.text
        if told_once:
            made = answer.json()[told_once]
            canaries[f"{told_once} of {path}"] = made.rsplit("/r/", 1)[-1]
            text = text.replace(made, "")
        answers.append(text + str(dict(answer.headers)))
        return answer

    signs = {"name": "signs", "kind": "pagerduty", "proof": "hmac", "secret": canaries["trigger secret"]}
    assert admin.post(f"{API}/triggers", json=signs, headers={"Idempotency-Key": "t"}).status_code == 201
    ask(admin, "POST", "/triggers", json=signs | {"kind": "none"})
    carries = {"name": "carries", "kind": "generic"}
    made = ask(admin, "POST", "/triggers", json=carries, told_once="secret").json()
    bearer = {"Authorization": f"Bearer {made['secret']}"}
    alert = {"title": "slow", "host": "feed-1"}
    taken = ask(client, "POST", f"/triggers/{made['id']}/alerts", json=alert, headers=bearer)
    assert taken.json()["fired"] == 1
    wrong = {"Authorization": f"Bearer {canaries['wrong token']}"}
    ask(client, "POST", f"/triggers/{made['id']}/alerts", json=alert, headers=wrong)
    hook = f"http://127.0.0.1:9/{canaries['webhook address']}"
    body = {"name": "w", "kind": "webhook", "url": hook, "secret": canaries["webhook secret"]}
    channel = admin.post(f"{API}/channels", json=body, headers={"Idempotency-Key": "c"}).json()
    ask(admin, "POST", "/channels", json=body | {"name": "bad", "url": hook + "#x"})
    slack = f"http://127.0.0.1:9/services/{canaries['slack address']}"
    ask(admin, "POST", "/channels", json={"name": "s", "kind": "slack", "url": slack})
    mail = {
        "host": "127.0.0.1", "username": "u", "password": canaries["mail password"], "sender": "a@example.org",
        "to": ["b@example.org"],
    }  # fmt: skip
    ask(admin, "POST", "/channels", json={"name": "m", "kind": "email", "mail": mail})
    ask(admin, "POST", "/channels", json={"name": "m2", "kind": "email", "mail": mail | {"port": 0}})
    ask(admin, "POST", f"/channels/{channel['id']}/test")
    feed = f"http://127.0.0.1:9/{canaries['calendar address']}.ics"
    ask(admin, "POST", "/rotations", json={"name": "c", "origin": {"kind": "calendar", "url": feed}})
    pager = {"kind": "pagerduty", "url": "http://127.0.0.1:9", "token": canaries["pager token"]}
    ask(admin, "POST", "/rotations", json={"name": "p", "origin": pager}, headers={"Idempotency-Key": "p"})
    ask(admin, "POST", "/rotations", json={"name": "p2", "origin": pager | {"policies": ["?"]}})
    with db.sessions() as session:
        rotations, channels = (
            session.scalars(select(Rotation.id)).all(),
            session.scalars(select(Notice.id)).all(),
        )
    assert (len(rotations), len(channels)) == (2, 1)
    for one in rotations:
        ask(admin, "POST", f"/rotations/{one}/fetch")
        fetch_oncall(one)
    for one in channels:
        send_notice(one)
    with unit_of_work(db.sessions) as session:
        incident = Incident(title="i", window_from=now(), created_by=people["admin"].id)
        session.add(incident)
        session.flush()
        report = Report(incident_id=incident.id, title="r", kinds=[], words=[], follow_ups=[])
        session.add(report)
        session.flush()
        version = frozen(report.id, [str(host_id)], created_by=people["oncall"].id)
        session.add(version)
    ask(admin, "POST", f"/report-versions/{version.id}/approve")
    link = ask(
        admin,
        "POST",
        f"/report-versions/{version.id}/shares",
        json={},
        headers={"Idempotency-Key": "s"},
        told_once="url",
    )
    path = "/r/" + link.json()["url"].rsplit("/r/", 1)[1]
    assert ask(client, "GET", path).status_code == 200
    ask(client, "GET", path + "/markdown")
    for path in (
        "/triggers", "/alerts", "/channels", "/notices", "/rotations", "/oncall", "/audit", f"/reports/{report.id}",
        f"/report-versions/{version.id}", f"/report-shares/{link.json()['id']}/visits",
    ):  # fmt: skip
        assert ask(admin, "GET", path).status_code == 200, path
    with db.sessions() as session:
        rows = [
            *session.scalars(select(Trigger)), *session.scalars(select(Channel)), *session.scalars(select(Rotation)),
            *session.scalars(select(ReportShare)), leads.opened(session.get_one(Channel, channel["id"]), vault()),
        ]  # fmt: skip
        shown = "\n".join(str(vars(row) if hasattr(row, "__tablename__") else repr(row)) for row in rows)
    with Redis.from_url(config.redis_url) as redis:
        queued = b"".join(
            b"".join(redis.lrange(key, 0, -1)) for key in redis.keys("*") if redis.type(key) == b"list"
        )
    output = capfd.readouterr()
    places = {
        "database": dump(config.database_url),
        "answers": "\n".join(answers).encode(),
        "logs": (caplog.text + output.out + output.err).encode(),
        "messages": queued,
        "repr": shown.encode(),
    }
    assert len(canaries) == 10
    hits = [
        (what, where)
        for what, secret in canaries.items()
        for where, content in places.items()
        if any(form in content for form in forms(secret))
    ]
    assert hits == []
    assert b"send_notice" in queued and b"fetch_oncall" in queued, "the messages were really sent"


def test_ten_thousand_would_be_rotated_and_nothing_opens_with_the_old_key_alone(
    as_, db: Database, config: Settings
) -> None:
    admin = as_("admin")
    for n in range(5):
        body = {"name": f"c{n}", "kind": "password", "password": f"secret {n}"}
        assert admin.post(f"{API}/credentials", json=body).status_code == 201
    old, new = config.key_ring()[1], secrets.token_bytes(32)
    with unit_of_work(db.sessions) as session:
        assert rewrap_all(session, Vault({1: old, 2: new}, 2)) == 5
        assert rewrap_all(session, Vault({1: old, 2: new}, 2)) == 0
    with db.sessions() as session:
        rows = session.query(Credential).order_by(Credential.name).all()
        assert [open_secret(row, Vault({2: new}, 2))["secret"] for row in rows] == [
            f"secret {n}" for n in range(5)
        ]
        with pytest.raises(SecretUnreadable, match="version 2"):
            open_secret(rows[0], Vault({1: old}, 1))
