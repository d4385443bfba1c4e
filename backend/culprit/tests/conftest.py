"""Real engines for all tests: one PostgreSQL and one Valkey per test process, a fresh database per test.

The migrated template is cloned with STRATEGY file_copy, which takes about 20 ms. `CULPRIT_TEST_POSTGRES`
names another server (a superuser's URL), to test other versions of PostgreSQL.
"""

from __future__ import annotations

import base64
import contextlib
import importlib
import json
import os
import secrets
import shutil
import tempfile
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
import structlog
from alembic import command
from alembic.config import Config
from culprit.accounts.actor import Actor, build_actor
from culprit.accounts.tokens import API_PREFIX, generate_token, hash_password, hash_token
from culprit.domain.messages.collector_messages import register_collector_messages
from culprit.evidence.parsing import parse_run
from culprit.infra.artifacts.store import artifact_store
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database, get_database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.sandbox.process import SandboxExit
from culprit.infra.settings import REPOSITORY, Settings, get_settings
from culprit.infra.task_queue import get_celery
from culprit.infra.vault import get_vault
from culprit.jobs import registry
from culprit.launcher.engines import Postgres, Valkey
from culprit.server.web import create_app, install_state
from fastapi import FastAPI
from fastapi.testclient import TestClient
from redis import Redis
from sqlalchemy import create_engine
from sqlalchemy.engine import Engine
from sqlalchemy.orm import Session
from starlette.datastructures import State

# From this version on PostgreSQL can let the kernel copy files, which takes less CPU time.
CLONES_FILES = 180000
# The server of each test process takes about 75 MiB. A container may have only 64 MiB there.
MEMORY, NEEDED_BYTES = Path("/dev/shm"), 4 << 30
PASSWORD = "correct horse battery"
ROLES = ("viewer", "investigator", "oncall", "admin")
PER_PROCESS = (
    get_settings,
    get_database,
    get_vault,
    get_celery,
    artifact_store,
)  # caches over the environment

# Without this, a logged exception is drawn with colors and source lines, for 4 % of the CPU time of all tests.
structlog.configure(
    processors=[
        *structlog.get_config()["processors"][:-1],
        structlog.dev.ConsoleRenderer(exception_formatter=structlog.dev.plain_traceback),
    ]
)

# As each process of the platform does when it starts.
registry.install_routes()
register_collector_messages()


def at_database(url: str, name: str) -> str:
    """Return the same URL with another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def alembic_config(url: str) -> Config:
    """Return the configuration of Alembic for a database."""
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


@contextmanager
def memory_directory(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """Create a directory in memory, where a database is created and dropped with less CPU time; on disk if it is small."""
    if not MEMORY.is_dir() or shutil.disk_usage(MEMORY).free < NEEDED_BYTES:
        yield tmp_path_factory.mktemp("postgres")
        return
    with tempfile.TemporaryDirectory(prefix="culprit-test-", dir=MEMORY) as directory:
        Path(directory).chmod(0o755)
        yield Path(directory)


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a PostgreSQL server for this test process."""
    if supplied := os.environ.get("CULPRIT_TEST_POSTGRES"):
        yield supplied
        return
    with memory_directory(tmp_path_factory) as directory, Postgres(directory, durable=False) as server:
        yield server.url


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Run a Valkey server for this test process."""
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server.url


@pytest.fixture(scope="session")
def make_database(postgres_url: str) -> Callable[[str | None], str]:
    """Return a function that creates a database from a template (None: empty) and returns its URL."""

    def make(template: str | None) -> str:
        name = f"t_{secrets.token_hex(6)}"
        how = f"TEMPLATE {template} STRATEGY file_copy" if template else "TEMPLATE template0"
        with psycopg.connect(at_database(postgres_url, "postgres"), autocommit=True) as connection:
            if connection.info.server_version >= CLONES_FILES:
                connection.execute("SET file_copy_method = clone")
            connection.execute(f"CREATE DATABASE {name} {how}")
        return at_database(postgres_url, name)

    return make


@pytest.fixture(scope="session")
def drop_database(postgres_url: str) -> Callable[[str], None]:
    """Return a function that drops a database with open connections."""

    def drop(url: str) -> None:
        with psycopg.connect(at_database(postgres_url, "postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")

    return drop


@pytest.fixture
def empty(
    make_database: Callable[[str | None], str], drop_database: Callable[[str], None]
) -> Iterator[tuple[str, Engine]]:
    """The URL of a database without tables, and its engine."""
    url = make_database(None)
    engine = create_engine(url.replace("postgresql://", "postgresql+psycopg://", 1))
    yield url, engine
    engine.dispose()
    drop_database(url)


@pytest.fixture(scope="session")
def template(make_database: Callable[[str | None], str]) -> str:
    """Return the name of a database that the migrations have created."""
    url = make_database(None)
    command.upgrade(alembic_config(url), "head")
    return urlsplit(url).path[1:]


@pytest.fixture
def database_url(
    template: str, make_database: Callable[[str | None], str], drop_database: Callable[[str], None]
) -> Iterator[str]:
    """Create a migrated database for one test."""
    url = make_database(template)
    yield url
    drop_database(url)


@contextmanager
def environment(database_url: str, redis_url: str, folder: Path) -> Iterator[Settings]:
    """Set the settings in the environment, also for processes that a test starts."""
    home = folder / "home"
    home.mkdir()
    supplied = {
        "CULPRIT_HOME": str(home),
        "DATABASE_URL": database_url,
        "REDIS_URL": redis_url,
        "CULPRIT_SECRET_KEY": base64.b64encode(secrets.token_bytes(32)).decode(),
        "CULPRIT_PUBLIC_URL": "http://testserver",
        "CULPRIT_UI_DIR": str(folder / "ui"),
    }
    with pytest.MonkeyPatch.context() as monkeypatch:
        for name in ("CULPRIT_SECRET_KEY_FILE", "CULPRIT_TOKEN", "CULPRIT_URL", "S3_BUCKET"):
            monkeypatch.delenv(name, raising=False)
        for name, value in supplied.items():
            monkeypatch.setenv(name, value)
        for cached in PER_PROCESS:
            cached.cache_clear()
        yield get_settings()
        if get_database.cache_info().currsize:
            get_database().close()
    for cached in PER_PROCESS:
        cached.cache_clear()


@pytest.fixture
def config(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Settings]:
    """Return the settings of one test."""
    with Redis.from_url(redis_url) as valkey:
        valkey.flushdb()  # rate limits and queues of the test before
    with environment(database_url, redis_url, tmp_path) as supplied:
        yield supplied


@pytest.fixture
def db(config: Settings) -> Iterator[Database]:
    """Return the database of one test."""
    opened = Database(config.sqlalchemy_url)
    yield opened
    opened.close()


@pytest.fixture
def session(db: Database) -> Iterator[Session]:
    """Return a session that is never committed."""
    with db.sessions() as opened:
        yield opened


@pytest.fixture
def parsed_here(monkeypatch: pytest.MonkeyPatch) -> None:
    """Parse the artifacts of runs in this process, for tests of what follows from them.

    A sandboxed child takes half a second of CPU time to start and import the parsers. The tests of `jobs/ingest`,
    `jobs/capture` and `infra` run it.
    """

    def run(module: str, request: dict[str, Any], directory: Path, *_: object, **__: object) -> SandboxExit:
        with contextlib.chdir(directory):
            importlib.import_module(module).main(json.loads(json.dumps(request)))
        return SandboxExit("ok", 0, "")

    monkeypatch.setattr(parse_run, "run_in_sandbox", run)


@dataclass
class Person:
    """An account with an API token."""

    id: object
    name: str
    role: str
    token: str
    actor: Actor
    headers: dict[str, str] = field(default_factory=dict)


def make_people(db: Database) -> dict[str, Person]:
    """Create one account per role, and `scoped`:

    an on-call user who sees only hosts with the label role=feed.
    """
    results = {}
    with unit_of_work(db.sessions) as opened:
        for name, role, scope in [*((r, r, {}) for r in ROLES), ("scoped", "oncall", {"role": ["feed"]})]:
            user = UserAccount(name=name, role=role, label_scope=scope)
            opened.add(user)
            opened.flush()
            text = generate_token(API_PREFIX)
            opened.add(
                ApiToken(user_id=user.id, name="test", token_hash=hash_token(text), prefix="x", role=role)
            )
            headers = {"Authorization": f"Bearer {text}"}
            results[name] = Person(user.id, name, role, text, build_actor(user), headers)
    return results


@pytest.fixture
def people(db: Database) -> dict[str, Person]:
    """See make_people."""
    return make_people(db)


@pytest.fixture(scope="session")
def built() -> FastAPI:
    """Build one application for all tests of this process, because preparing its routes is slow."""
    return create_app(Settings())


@pytest.fixture
def app(built: FastAPI, config: Settings) -> Iterator[FastAPI]:
    """Return the application over the database of the test; its state is new for each test."""
    built.state = State()
    install_state(built, config)
    yield built
    built.state.live.close()
    built.state.database.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """Return a client without authentication."""
    with TestClient(app) as test_client:
        yield test_client


@pytest.fixture
def as_(app: FastAPI, people: dict[str, Person]) -> Iterator[Callable[[str], TestClient]]:
    """Return `as_("admin")`: a client with the token of that account."""
    opened: dict[str, TestClient] = {}

    def client_of(name: str) -> TestClient:
        if name not in opened:
            opened[name] = TestClient(app, headers=people[name].headers)
        return opened[name]

    yield client_of
    for item in opened.values():
        item.close()


@lru_cache(maxsize=1)
def password_hash() -> str:
    """Return the hash of PASSWORD; computing it takes a while."""
    return hash_password(PASSWORD)


@pytest.fixture
def session_as(app: FastAPI, people: dict[str, Person], db: Database) -> Iterator[Callable[..., TestClient]]:
    """Return `session_as("admin")`: a browser in which that account has just logged in with PASSWORD.

    `proved_at` is when the session was proved; None for never.
    """
    opened: list[TestClient] = []

    def client_of(name: str, *, proved_at: datetime | Literal["now"] | None = "now") -> TestClient:
        cookie, csrf, at = generate_token(), generate_token(), utc_now()
        with unit_of_work(db.sessions) as session:
            user = session.get_one(UserAccount, people[name].id)
            user.password_hash = password_hash()
            session.add(
                LoginSession(
                    user_id=user.id,
                    token_hash=hash_token(cookie),
                    csrf_token=csrf,
                    created_at=at,
                    expires_at=at + timedelta(hours=1),
                    last_seen_at=at,
                    proved_at=at if proved_at == "now" else proved_at,
                )
            )
        opened.append(TestClient(app, headers={"X-CSRF-Token": csrf}, cookies={"culprit_session": cookie}))
        return opened[-1]

    yield client_of
    for item in opened:
        item.close()
