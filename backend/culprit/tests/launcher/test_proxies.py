"""Trusted proxies: a real server process, with the options and the environment that `up` gives it."""

from __future__ import annotations

import os
import signal
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from culprit.infra.db.session import Database
from culprit.infra.models.accounts.login_attempt import LoginAttempt
from culprit.infra.settings import Settings
from culprit.launcher import services
from culprit.tests.support.product_process import ProductProcess
from pydantic import ValidationError
from sqlalchemy import select

pytestmark = pytest.mark.long(40)


@contextmanager
def server(monkeypatch: pytest.MonkeyPatch, proxies: str | None) -> Iterator[httpx2.Client]:
    if proxies is None:
        monkeypatch.delenv("CULPRIT_TRUSTED_PROXIES", raising=False)
    else:
        monkeypatch.setenv("CULPRIT_TRUSTED_PROXIES", proxies)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = services.build_api_service("127.0.0.1", port).command
    options = command[command.index("culprit.server.web:create_app") + 1 :]
    # uvicorn's own variables must not allow what the option forbids.
    env = services.build_process_environment(
        os.environ, FORWARDED_ALLOW_IPS="*", UVICORN_FORWARDED_ALLOW_IPS="*"
    )
    process = ProductProcess("api", *options, environment=env)
    try:
        with httpx2.Client(base_url=f"http://127.0.0.1:{port}", timeout=60) as client:
            for _ in range(1200):
                try:
                    client.get("/healthz", timeout=5)
                    break
                except httpx2.HTTPError:
                    assert process.poll() is None, "the server ended"
                    time.sleep(0.1)
            yield client
    finally:
        process.stop(signal.SIGKILL)


def guess(client: httpx2.Client, *forwarded: str) -> int:
    headers = [("X-Forwarded-For", item) for item in forwarded]
    headers += [
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Real-IP", "6.6.6.6"),
    ]
    body = {"name": "admin", "password": "guess"}
    return client.post("/api/v1/session", json=body, headers=headers).status_code


def addresses(db: Database) -> list[str]:
    with db.sessions() as session:
        return list(session.scalars(select(LoginAttempt.address).order_by(LoginAttempt.at)))


def test_a_forged_address_moves_no_throttle(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, None) as client:
        statuses = [guess(client, f"203.0.113.{n}") for n in range(11)]
        forged_host = {"Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}
        answer = client.post("/api/v1/session", json={"name": "x", "password": "y"}, headers=forged_host)
    assert statuses == [401] * 10 + [429]
    assert set(addresses(db)) == {"127.0.0.1"}
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.foreign_origin")


def test_a_configured_proxy_is_believed_up_to_the_first_address_that_is_none(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, "127.0.0.1, 10.0.0.0/8") as client:
        guess(client, "203.0.113.9")
        guess(client, "6.6.6.6, 203.0.113.10, 10.0.0.5")
        guess(client, "6.6.6.6", "203.0.113.11, 10.0.0.5, 10.2.0.1")
        guess(client, "6.6.6.6, 203.0.113.12:4711")
    assert addresses(db) == [f"203.0.113.{n}" for n in (9, 10, 11, 12)]


def test_another_proxy_is_not_believed(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, "10.0.0.5") as client:
        guess(client, "203.0.113.9")
    assert addresses(db) == ["127.0.0.1"]


@pytest.mark.parametrize("value", ["*", "proxy.example", "10.0.0.0/8 10.0.0.1", "10.0.0.1/8"])
def test_the_setting_takes_addresses_and_networks(value: str) -> None:
    with pytest.raises(ValidationError, match="CULPRIT_TRUSTED_PROXIES"):
        Settings(trusted_proxies=value)
    assert Settings(trusted_proxies="10.0.0.5,10.1.0.0/24, ::1").trusted_proxies
