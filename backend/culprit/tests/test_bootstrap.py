"""A fresh platform: the first admin, and this machine as the first host."""

from __future__ import annotations

import json
import subprocess
import tempfile
from pathlib import Path

import pytest
from culprit.accounts import audit
from culprit.accounts.queries.restrictions import load_network_rules
from culprit.hosts.access import build_hops
from culprit.infra.db.session import Database
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import Settings
from culprit.infra.ssh.connection import SshTimeouts, connect_host
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.sshd import Sshd, sshd
from fastapi.testclient import TestClient
from sqlalchemy import select

pytestmark = pytest.mark.long(30)


def run_bootstrap(*options: str) -> subprocess.CompletedProcess[str]:
    with tempfile.TemporaryDirectory() as folder:
        streams = {name: Path(folder, name) for name in ("stdout", "stderr")}
        code = ProductProcess("bootstrap", *options, **streams).wait()
        return subprocess.CompletedProcess(options, code, *(path.read_text() for path in streams.values()))


def bootstrap(*options: str) -> dict[str, str | None]:
    done = run_bootstrap(*options)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def options(server: Sshd) -> list[str]:
    return [
        "--host-port", str(server.port), "--host-user", server.username,
        "--host-key-file", str(server.directory / "client"),
        "--host-public-key-file", str(server.directory / "host.pub"),
    ]  # fmt: skip


def test_the_first_admin_comes_in_by_link_and_only_once(config: Settings, client: TestClient) -> None:
    message = bootstrap()
    assert message["host_id"] is None and message["login_url"].startswith("http://testserver/login#token=")
    token = message["login_url"].split("#token=")[1]
    me = client.post("/api/v1/session/link", json={"token": token}).json()
    assert me["role"] == "admin" and me["needs_password"] and me["this_host"] is None
    assert client.post("/api/v1/session/link", json={"token": token}).status_code == 401
    again = bootstrap()
    assert again["login_url"] not in {None, message["login_url"]}
    headers = {"X-CSRF-Token": me["csrf"]}
    client.patch("/api/v1/me", json={"password": "a long password"}, headers=headers)
    assert bootstrap()["login_url"] is None


def test_a_lost_password_is_answered_by_a_link(config: Settings, client: TestClient, db: Database) -> None:
    token = str(bootstrap()["login_url"]).split("#token=")[1]
    me = client.post("/api/v1/session/link", json={"token": token}).json()
    headers = {"X-CSRF-Token": me["csrf"]}
    client.patch("/api/v1/me", json={"password": "a long password"}, headers=headers)

    done = run_bootstrap("--login-link", "admin")
    assert (done.returncode, done.stdout[:32]) == (0, "http://testserver/login#token=" + done.stdout[30:32])
    assert client.get("/api/v1/me").status_code == 401, "its sessions have ended"
    body = {"name": "admin", "password": "a long password"}
    assert client.post("/api/v1/session", json=body).status_code == 401
    token = done.stdout.strip().split("#token=")[1]
    assert client.post("/api/v1/session/link", json={"token": token}).json()["needs_password"] is True
    unknown = run_bootstrap("--login-link", "nobody-of-that-name")
    assert unknown.returncode == 2 and "nobody-of-that-name" in unknown.stderr
    with db.sessions() as session:
        assert audit.verify_chain(session).broken_at is None


def test_command_line_token_is_readable_by_owner_only(config: Settings, client: TestClient) -> None:
    first = Path(bootstrap()["cli_file"])
    assert first == config.home / "cli.json" and first.stat().st_mode & 0o777 == 0o600
    old = json.loads(first.read_text())
    bootstrap()
    new = json.loads(first.read_text())
    assert new["url"] == "http://testserver" and new["token"] != old["token"]
    for token, status in ((old["token"], 401), (new["token"], 200)):
        header = {"Authorization": f"Bearer {token}"}
        assert client.get("/api/v1/me", headers=header).status_code == status


def test_bootstrap_adds_this_machine_and_connects(
    config: Settings, client: TestClient, db: Database, tmp_path: Path
) -> None:
    with sshd(tmp_path / "one") as server:
        message = bootstrap(*options(server))
        with db.sessions() as session:
            host = session.get_one(Host, message["host_id"])
            allowed = load_network_rules(session)
            assert [(rule.cidr, rule.port_from, rule.port_to) for rule in allowed] == [
                ("127.0.0.1/32", server.port, server.port)
            ]
            connection = connect_host(build_hops(session, host), allowed, SshTimeouts(10, 20))
            connection.close()
    with sshd(tmp_path / "two") as server:
        again = bootstrap(*options(server))
        assert again["host_id"] == message["host_id"]
        with db.sessions() as session:
            assert len(session.scalars(select(NetworkRule)).all()) == 1
            host = session.get_one(Host, again["host_id"])
            assert host.port == server.port
            connect_host(build_hops(session, host), load_network_rules(session), SshTimeouts(10, 20)).close()
            assert audit.verify_chain(session).broken_at is None
    token = json.loads((config.home / "cli.json").read_text())["token"]
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/me", headers=header).json()["this_host"] == message["host_id"]
    bootstrap()
    assert client.get("/api/v1/me", headers=header.copy()).status_code == 401


def test_half_a_host_is_refused(config: Settings) -> None:
    done = run_bootstrap("--host-port", "22")
    assert done.returncode == 2 and "must be used together" in done.stderr
