"""Secrets appear in no dump, log, answer, audit entry or job message."""

from __future__ import annotations

import base64
import json
import logging
import secrets
import subprocess
from pathlib import Path

import psycopg
import pytest
from culprit.accounts.sealed_columns import rewrap_secrets
from culprit.hosts.access import build_hops, get_sudo_password, open_credential
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.trigger import Trigger
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.models.incidents.incident import Incident
from culprit.infra.models.notifications.channel import Channel
from culprit.infra.models.notifications.notification import Notification
from culprit.infra.models.notifications.rotation import Rotation
from culprit.infra.models.reports.report import Report
from culprit.infra.models.reports.report_share import ReportShare
from culprit.infra.settings import Settings
from culprit.infra.vault import SecretUnreadableError, Vault, get_vault
from culprit.jobs.notifications.fetch_oncall import fetch_oncall
from culprit.jobs.notifications.send_notification import send_notification
from culprit.notifications import destinations
from culprit.tests.support.reports import frozen
from culprit.tests.support.runs import make_host
from redis import Redis
from sqlalchemy import select

API = "/api/v1"


def key_with_canary(path: Path) -> str:
    subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", path, "-C", "c"], check=True)
    return path.read_text()


def forms(secret: str) -> set[bytes]:
    """Return a secret in all its encodings."""
    raw = secret.encode()
    return {raw, base64.b64encode(raw).rstrip(b"="), raw.hex().encode(), json.dumps(secret)[1:-1].encode()}


def dump(url: str) -> bytes:
    """Return every row of every table, as text and with bytes in hex."""
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
    result = ask(admin, "POST", "/hosts", json=host, headers=once)
    assert result.status_code == 201
    ask(admin, "POST", "/hosts", json=host, headers=once)
    ask(admin, "POST", "/hosts", json=host | {"port": "x"})
    ask(admin, "POST", "/credentials", json={"name": "k", "kind": "key", "private_key": private})
    bad = {"name": "p", "kind": "key", "private_key": private + "x", "passphrase": canaries["passphrase"]}
    ask(admin, "POST", "/credentials", json=bad)
    ask(
        admin, "POST", "/credentials", json={"name": "p", "kind": "agent", "password": canaries["passphrase"]}
    )
    requested = {"rate": "r", "errors": "e", "latency": "$quantile"}
    source = {"kind": "prometheus", "url": "http://10.0.0.9:22", "queries": requested}
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
    ask(admin, "POST", f"/hosts/{result.json()['id']}/check")
    assert host["credential"]["password"] and len(answers) > 15

    with db.sessions() as session:
        stored = session.get_one(Host, result.json()["id"])
        hop = build_hops(session, stored)[0]
        assert hop.login.secret == canaries["host password"]
        assert get_sudo_password(stored) == canaries["sudo password"]
        displayed = repr((hop, hop.login, stored, session.get_one(Credential, stored.credential_id)))

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
        "repr": displayed.encode() + repr(config).encode(),
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
    caplog.set_level(logging.WARNING, "httpx2")  # the reader of a link; the address of the visit is stored
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

    def ask(who, method: str, path: str, *, secret_field: str = "", **more):
        answer = who.request(method, path if path.startswith("/r/") else API + path, **more)
        text = answer.text
        if secret_field:
            result = answer.json()[secret_field]
            canaries[f"{secret_field} of {path}"] = result.rsplit("/r/", 1)[-1]
            text = text.replace(result, "")
        answers.append(text + str(dict(answer.headers)))
        return answer

    signs = {"name": "signs", "kind": "pagerduty", "proof": "hmac", "secret": canaries["trigger secret"]}
    assert admin.post(f"{API}/triggers", json=signs, headers={"Idempotency-Key": "t"}).status_code == 201
    ask(admin, "POST", "/triggers", json=signs | {"kind": "none"})
    carries = {"name": "carries", "kind": "generic"}
    result = ask(admin, "POST", "/triggers", json=carries, secret_field="secret").json()
    bearer = {"Authorization": f"Bearer {result['secret']}"}
    alert = {"title": "slow", "host": "feed-1"}
    taken = ask(client, "POST", f"/triggers/{result['id']}/alerts", json=alert, headers=bearer)
    assert taken.json()["started"] == 1
    wrong = {"Authorization": f"Bearer {canaries['wrong token']}"}
    ask(client, "POST", f"/triggers/{result['id']}/alerts", json=alert, headers=wrong)
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
    ask(admin, "POST", "/rotations", json={"name": "c", "source": {"kind": "calendar", "url": feed}})
    pager = {"kind": "pagerduty", "url": "http://127.0.0.1:9", "token": canaries["pager token"]}
    ask(admin, "POST", "/rotations", json={"name": "p", "source": pager}, headers={"Idempotency-Key": "p"})
    ask(admin, "POST", "/rotations", json={"name": "p2", "source": pager | {"policies": ["?"]}})
    with db.sessions() as session:
        rotations, channels = (
            session.scalars(select(Rotation.id)).all(),
            session.scalars(select(Notification.id)).all(),
        )
    assert (len(rotations), len(channels)) == (2, 1)
    for rotation in rotations:
        ask(admin, "POST", f"/rotations/{rotation}/fetch")
        fetch_oncall(rotation)
    for rotation in channels:
        send_notification(rotation)
    with unit_of_work(db.sessions) as session:
        incident = Incident(title="i", window_from=utc_now(), created_by=people["admin"].id)
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
        secret_field="url",
    )
    path = "/r/" + link.json()["url"].rsplit("/r/", 1)[1]
    assert ask(client, "GET", path).status_code == 200
    ask(client, "GET", path + "/markdown")
    for path in (
        "/triggers", "/alerts", "/channels", "/notifications", "/rotations", "/oncall", "/audit", f"/reports/{report.id}",
        f"/report-versions/{version.id}", f"/report-shares/{link.json()['id']}/visits",
    ):  # fmt: skip
        assert ask(admin, "GET", path).status_code == 200, path
    with db.sessions() as session:
        rows = [
            *session.scalars(select(Trigger)), *session.scalars(select(Channel)), *session.scalars(select(Rotation)),
            *session.scalars(select(ReportShare)), destinations.open_destination(session.get_one(Channel, channel["id"]), get_vault()),
        ]  # fmt: skip
        displayed = "\n".join(str(vars(row) if hasattr(row, "__tablename__") else repr(row)) for row in rows)
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
        "repr": displayed.encode(),
    }
    assert len(canaries) == 10
    hits = [
        (what, where)
        for what, secret in canaries.items()
        for where, content in places.items()
        if any(form in content for form in forms(secret))
    ]
    assert hits == []
    assert b"send_notification" in queued and b"fetch_oncall" in queued, "the messages were really sent"


def test_ten_thousand_would_be_rotated_and_nothing_opens_with_the_old_key_alone(
    as_, db: Database, config: Settings
) -> None:
    admin = as_("admin")
    for n in range(5):
        body = {"name": f"c{n}", "kind": "password", "password": f"secret {n}"}
        assert admin.post(f"{API}/credentials", json=body).status_code == 201
    old, new = config.key_ring()[1], secrets.token_bytes(32)
    with unit_of_work(db.sessions) as session:
        assert rewrap_secrets(session, Vault({1: old, 2: new}, 2)) == 5
        assert rewrap_secrets(session, Vault({1: old, 2: new}, 2)) == 0
    with db.sessions() as session:
        rows = session.query(Credential).order_by(Credential.name).all()
        assert [open_credential(row, Vault({2: new}, 2))["secret"] for row in rows] == [
            f"secret {n}" for n in range(5)
        ]
        with pytest.raises(SecretUnreadableError, match="version 2"):
            open_credential(rows[0], Vault({1: old}, 1))
