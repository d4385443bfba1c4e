"""A real server process, accounts with sessions, and readers of live streams."""

from __future__ import annotations

import os
import socket
import threading
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from functools import lru_cache
from pathlib import Path
from uuid import UUID

import httpx2
from culprit.accounts.tokens import API_PREFIX, generate_token, hash_password, hash_token
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.tests.support.command_line import PYTHON
from culprit.tests.support.product_process import ProductProcess
from culprit.tests.support.web import free_port


@dataclass
class Server:
    """A running API process."""

    url: str
    process: ProductProcess

    @property
    def rss_kb(self) -> int:
        """Return the resident memory."""
        with Path(f"/proc/{self.process.pid}/status").open(encoding="ascii") as status:
            return next(int(line.split()[1]) for line in status if line.startswith("VmRSS"))


@contextmanager
def server(*options: str, **environment: str) -> Iterator[Server]:
    """Run uvicorn on the database of the test, without a limit on its graceful shutdown."""
    port = free_port()
    process = ProductProcess(
        "api", "--port", str(port), "--log-level", "warning", *options,
        environment={**os.environ, **PYTHON, **environment},
    )  # fmt: skip
    try:
        end = time.monotonic() + 180
        while time.monotonic() < end:
            assert process.poll() is None
            with socket.socket() as probe:
                if probe.connect_ex(("127.0.0.1", port)) == 0:
                    break
            time.sleep(0.05)
        else:
            raise AssertionError("the server did not start")
        yield Server(f"http://127.0.0.1:{port}", process)
    finally:
        process.stop(timeout=10)


PASSWORD = "correct horse battery"


@lru_cache(maxsize=1)
def hash_of_password() -> str:
    """Return the hash of PASSWORD; computing it takes a while."""
    return hash_password(PASSWORD)


@dataclass
class Login:
    """An account with a browser session and an API token."""

    user_id: UUID
    session_id: UUID
    token_id: UUID
    cookie: dict[str, str]
    bearer: dict[str, str]


def make_login(
    db: Database, name: str, role: str = "viewer", scope: Mapping[str, list[str]] | None = None
) -> Login:
    """Create an account that is logged in."""
    cookie, csrf, token = generate_token(), generate_token(), generate_token(API_PREFIX)
    with unit_of_work(db.sessions) as session:
        user = UserAccount(
            name=name, role=role, label_scope=dict(scope or {}), password_hash=hash_of_password()
        )
        session.add(user)
        session.flush()
        login = LoginSession(
            user_id=user.id, token_hash=hash_token(cookie), csrf_token=csrf, created_at=utc_now(),
            expires_at=utc_now() + timedelta(hours=1), last_seen_at=utc_now(), proved_at=utc_now(),
        )  # fmt: skip
        api = ApiToken(user_id=user.id, name="t", token_hash=hash_token(token), prefix="x", role=role)
        session.add_all([login, api])
        session.flush()
        return Login(
            user.id,
            login.id,
            api.id,
            {"Cookie": f"culprit_session={cookie}", "X-CSRF-Token": csrf},
            {"Authorization": f"Bearer {token}"},
        )


def add_session(db: Database, user_id: UUID) -> dict[str, str]:
    """Create another browser session of an account, just proved; return the headers of its requests."""
    cookie, csrf = generate_token(), generate_token()
    with unit_of_work(db.sessions) as session:
        session.add(
            LoginSession(
                user_id=user_id, token_hash=hash_token(cookie), csrf_token=csrf, created_at=utc_now(),
                expires_at=utc_now() + timedelta(hours=1), last_seen_at=utc_now(), proved_at=utc_now(),
            )
        )  # fmt: skip
    return {"Cookie": f"culprit_session={cookie}", "X-CSRF-Token": csrf}


class StreamReader:
    """Read one live stream in a thread, and record when it ended."""

    def __init__(self, url: str, headers: Mapping[str, str]) -> None:
        self.status: int | None = None
        self.problem: dict[str, object] = {}
        self.headers: Mapping[str, str] = {}
        self.ready = threading.Event()
        self.ended_at: float | None = None
        self.thread = threading.Thread(target=self._read, args=(url, dict(headers)), daemon=True)
        self.thread.start()

    def _read(self, url: str, headers: dict[str, str]) -> None:
        try:
            # Plain HTTP: without `verify=False` each reader would load the certificates of the machine.
            with httpx2.stream("GET", url, headers=headers, timeout=60, verify=False) as answer:
                self.status, self.headers = answer.status_code, answer.headers
                if answer.status_code != 200:
                    self.problem = httpx2.Response(answer.status_code, content=answer.read()).json()
                    self.ready.set()
                    return
                for line in answer.iter_lines():
                    if line.startswith("event"):
                        self.ready.set()
        except httpx2.HTTPError:
            pass
        finally:
            self.ended_at = time.monotonic()
            self.ready.set()

    def wait_ended(self, since: float, limit_s: float = 12.0) -> float | None:
        """Return the seconds from `since` to the end, or None if it continues."""
        self.thread.join(max(0.0, since + limit_s - time.monotonic()))
        return None if self.ended_at is None else self.ended_at - since
