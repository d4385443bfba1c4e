"""Whose X-Forwarded-For counts: a real server process, started as `up` starts it."""

from __future__ import annotations

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx2
import pytest
from culprit.config import Settings
from culprit.infra.db import Database
from culprit.launch import services
from culprit.models import LoginAttempt
from pydantic import ValidationError
from sqlalchemy import select

pytestmark = pytest.mark.long(40)


@contextmanager
def server(monkeypatch: pytest.MonkeyPatch, proxies: str | None) -> Iterator[str]:
    if proxies is None:
        monkeypatch.delenv("CULPRIT_TRUSTED_PROXIES", raising=False)
    else:
        monkeypatch.setenv("CULPRIT_TRUSTED_PROXIES", proxies)
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = services.api("127.0.0.1", port).command
    # uvicorn's own variables must not open what the option closes.
    env = services.environment(os.environ, FORWARDED_ALLOW_IPS="*", UVICORN_FORWARDED_ALLOW_IPS="*")
    child = subprocess.Popen(command, env=env, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    url = f"http://127.0.0.1:{port}"
    try:
        for _ in range(1200):
            try:
                httpx2.get(f"{url}/healthz", timeout=5)
                break
            except httpx2.HTTPError:
                assert child.poll() is None, "the server ended"
                time.sleep(0.1)
        yield url
    finally:
        child.send_signal(signal.SIGKILL)
        child.wait(30)


def guess(url: str, *forwarded: str) -> int:
    headers = [("X-Forwarded-For", one) for one in forwarded]
    headers += [
        ("X-Forwarded-Proto", "https"),
        ("X-Forwarded-Host", "evil.example"),
        ("X-Real-IP", "6.6.6.6"),
    ]
    body = {"name": "admin", "password": "guess"}
    return httpx2.post(f"{url}/api/v1/session", json=body, headers=headers, timeout=60).status_code


def addresses(db: Database) -> list[str]:
    with db.sessions() as session:
        return list(session.scalars(select(LoginAttempt.address).order_by(LoginAttempt.at)))


def test_a_forged_address_moves_no_throttle(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, None) as url:
        statuses = [guess(url, f"203.0.113.{n}") for n in range(11)]
        forged_host = {"Origin": "https://evil.example", "X-Forwarded-Host": "evil.example"}
        answer = httpx2.post(
            f"{url}/api/v1/session", json={"name": "x", "password": "y"}, headers=forged_host, timeout=60
        )
    assert statuses == [401] * 10 + [429]
    assert set(addresses(db)) == {"127.0.0.1"}
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.foreign_origin")


def test_a_configured_proxy_is_believed_up_to_the_first_address_that_is_none(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, "127.0.0.1, 10.0.0.0/8") as url:
        guess(url, "203.0.113.9")
        guess(url, "6.6.6.6, 203.0.113.10, 10.0.0.5")
        guess(url, "6.6.6.6", "203.0.113.11, 10.0.0.5, 10.2.0.1")
        guess(url, "6.6.6.6, 203.0.113.12:4711")
    assert addresses(db) == [f"203.0.113.{n}" for n in (9, 10, 11, 12)]


def test_another_proxy_is_not_believed(
    config: Settings, db: Database, monkeypatch: pytest.MonkeyPatch
) -> None:
    with server(monkeypatch, "10.0.0.5") as url:
        guess(url, "203.0.113.9")
    assert addresses(db) == ["127.0.0.1"]


@pytest.mark.parametrize("value", ["*", "proxy.example", "10.0.0.0/8 10.0.0.1", "10.0.0.1/8"])
def test_the_setting_takes_addresses_and_networks(value: str) -> None:
    with pytest.raises(ValidationError, match="CULPRIT_TRUSTED_PROXIES"):
        Settings(trusted_proxies=value)
    assert Settings(trusted_proxies="10.0.0.5,10.1.0.0/24, ::1").trusted_proxies
