"""A fresh platform: who may come in first, and this machine as the first host."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from culprit.auth import audit
from culprit.config import REPOSITORY, Settings
from culprit.hosts.access import hops_to, rules
from culprit.infra.db import Database
from culprit.infra.ssh import Patience, connect
from culprit.models import Host, NetworkRule
from culprit.tests.support.sshd import Sshd, sshd
from fastapi.testclient import TestClient
from sqlalchemy import select

pytestmark = pytest.mark.long(30)


def bootstrap(*options: str) -> dict[str, str | None]:
    done = subprocess.run(
        [sys.executable, "-m", "culprit.bootstrap", *options],
        cwd=REPOSITORY / "backend", env=None, capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def options(server: Sshd) -> list[str]:
    return [
        "--host-port", str(server.port), "--host-user", server.username,
        "--host-key-file", str(server.directory / "client"),
        "--host-public-key-file", str(server.directory / "host.pub"),
    ]  # fmt: skip


@pytest.fixture(autouse=True)
def path(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PYTHONPATH", f"{REPOSITORY / 'backend'}:{REPOSITORY}")


def test_the_first_admin_comes_in_by_link_and_only_once(config: Settings, client: TestClient) -> None:
    said = bootstrap()
    assert said["host_id"] is None and said["login_url"].startswith("http://testserver/login#token=")
    token = said["login_url"].split("#token=")[1]
    me = client.post("/api/v1/session/link", json={"token": token}).json()
    assert me["role"] == "admin" and me["needs_password"] and me["this_host"] is None
    assert client.post("/api/v1/session/link", json={"token": token}).status_code == 401
    again = bootstrap()
    assert again["login_url"] not in {None, said["login_url"]}
    headers = {"X-CSRF-Token": me["csrf"]}
    client.patch("/api/v1/me", json={"password": "a long password"}, headers=headers)
    assert bootstrap()["login_url"] is None


def test_a_lost_password_is_answered_by_a_link(config: Settings, client: TestClient, db: Database) -> None:
    token = str(bootstrap()["login_url"]).split("#token=")[1]
    me = client.post("/api/v1/session/link", json={"token": token}).json()
    headers = {"X-CSRF-Token": me["csrf"]}
    client.patch("/api/v1/me", json={"password": "a long password"}, headers=headers)

    def login_link(name: str) -> subprocess.CompletedProcess[str]:
        command = [sys.executable, "-m", "culprit.bootstrap", "--login-link", name]
        return subprocess.run(
            command, cwd=REPOSITORY / "backend", capture_output=True, text=True, check=False
        )

    done = login_link("admin")
    assert (done.returncode, done.stdout[:32]) == (0, "http://testserver/login#token=" + done.stdout[30:32])
    assert client.get("/api/v1/me").status_code == 401, "its sessions have ended"
    body = {"name": "admin", "password": "a long password"}
    assert client.post("/api/v1/session", json=body).status_code == 401
    token = done.stdout.strip().split("#token=")[1]
    assert client.post("/api/v1/session/link", json={"token": token}).json()["needs_password"] is True
    unknown = login_link("nobody-of-that-name")
    assert unknown.returncode == 2 and "nobody-of-that-name" in unknown.stderr
    with db.sessions() as session:
        assert audit.verify(session).broken_at is None


def test_the_command_line_finds_a_token_that_nobody_else_may_read(
    config: Settings, client: TestClient
) -> None:
    first = Path(bootstrap()["cli_file"])
    assert first == config.home / "cli.json" and first.stat().st_mode & 0o777 == 0o600
    old = json.loads(first.read_text())
    bootstrap()
    new = json.loads(first.read_text())
    assert new["url"] == "http://testserver" and new["token"] != old["token"]
    for token, status in ((old["token"], 401), (new["token"], 200)):
        header = {"Authorization": f"Bearer {token}"}
        assert client.get("/api/v1/me", headers=header).status_code == status


def test_this_machine_is_enrolled_and_really_answers(
    config: Settings, client: TestClient, db: Database, tmp_path: Path
) -> None:
    with sshd(tmp_path / "one") as server:
        said = bootstrap(*options(server))
        with db.sessions() as session:
            host = session.get_one(Host, said["host_id"])
            allowed = rules(session)
            assert [(rule.cidr, rule.port_from, rule.port_to) for rule in allowed] == [
                ("127.0.0.1/32", server.port, server.port)
            ]
            connection = connect(hops_to(session, host), allowed, Patience(10, 20))
            connection.close()
    with sshd(tmp_path / "two") as server:
        again = bootstrap(*options(server))
        assert again["host_id"] == said["host_id"]
        with db.sessions() as session:
            assert len(session.scalars(select(NetworkRule)).all()) == 1
            host = session.get_one(Host, again["host_id"])
            assert host.port == server.port
            connect(hops_to(session, host), rules(session), Patience(10, 20)).close()
            assert audit.verify(session).broken_at is None
    token = json.loads((config.home / "cli.json").read_text())["token"]
    header = {"Authorization": f"Bearer {token}"}
    assert client.get("/api/v1/me", headers=header).json()["this_host"] == said["host_id"]
    bootstrap()
    assert client.get("/api/v1/me", headers=header.copy()).status_code == 401


def test_half_a_host_is_refused(config: Settings) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "culprit.bootstrap", "--host-port", "22"],
        cwd=REPOSITORY / "backend", capture_output=True, text=True, check=False,
    )  # fmt: skip
    assert done.returncode == 2 and "belong together" in done.stderr
