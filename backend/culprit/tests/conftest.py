"""Real engines for all tests: one PostgreSQL and one Valkey per test process, a fresh database per test.

The migrated template is cloned with STRATEGY file_copy, which takes some 20 ms. `CULPRIT_TEST_POSTGRES` names
another server to test on (a superuser's URL), for other versions of PostgreSQL.
"""

from __future__ import annotations

import base64
import os
import secrets
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from functools import lru_cache
from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

import psycopg
import pytest
from alembic import command
from alembic.config import Config
from culprit.auth.actor import Actor, actor_of
from culprit.auth.tokens import API_PREFIX, hash_password, new_token, token_hash
from culprit.config import REPOSITORY, Settings, settings
from culprit.infra.artifacts import artifact_store
from culprit.infra.broker import celery
from culprit.infra.db import Database, database
from culprit.infra.secrets import vault
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.launch.engines import Postgres, Valkey
from culprit.main import create_app, furnish
from culprit.models import ApiToken, LoginSession, UserAccount
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy.orm import Session
from starlette.datastructures import State

PASSWORD = "correct horse battery"
ROLES = ("viewer", "investigator", "oncall", "admin")
PER_PROCESS = (settings, database, vault, celery, artifact_store)  # caches over the environment


def at_database(url: str, name: str) -> str:
    """The same server, another database."""
    return urlunsplit(urlsplit(url)._replace(path=f"/{name}"))


def alembic_config(url: str) -> Config:
    """Alembic on a database, as `alembic -c migrations/alembic.ini` would run."""
    config = Config(REPOSITORY / "migrations" / "alembic.ini")
    config.attributes["url"] = url.replace("postgresql://", "postgresql+psycopg://", 1)
    return config


@pytest.fixture(scope="session")
def postgres_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A PostgreSQL server of this test process."""
    if given := os.environ.get("CULPRIT_TEST_POSTGRES"):
        yield given
        return
    with Postgres(tmp_path_factory.mktemp("postgres"), durable=False) as server:
        yield server.url


@pytest.fixture(scope="session")
def redis_url(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """A Valkey server of this test process."""
    with Valkey(tmp_path_factory.mktemp("valkey")) as server:
        yield server.url


@pytest.fixture(scope="session")
def make_database(postgres_url: str) -> Callable[[str | None], str]:
    """Makes a database out of a template (None: an empty one) and returns its URL."""

    def make(template: str | None) -> str:
        name = f"t_{secrets.token_hex(6)}"
        how = f"TEMPLATE {template} STRATEGY file_copy" if template else "TEMPLATE template0"
        with psycopg.connect(at_database(postgres_url, "postgres"), autocommit=True) as connection:
            connection.execute(f"CREATE DATABASE {name} {how}")
        return at_database(postgres_url, name)

    return make


@pytest.fixture(scope="session")
def drop_database(postgres_url: str) -> Callable[[str], None]:
    """Removes a database, whoever is still connected."""

    def drop(url: str) -> None:
        with psycopg.connect(at_database(postgres_url, "postgres"), autocommit=True) as connection:
            connection.execute(f"DROP DATABASE IF EXISTS {urlsplit(url).path[1:]} WITH (FORCE)")

    return drop


@pytest.fixture(scope="session")
def template(make_database: Callable[[str | None], str]) -> str:
    """The name of a database that the real migrations have built."""
    url = make_database(None)
    command.upgrade(alembic_config(url), "head")
    return urlsplit(url).path[1:]


@pytest.fixture
def database_url(
    template: str, make_database: Callable[[str | None], str], drop_database: Callable[[str], None]
) -> Iterator[str]:
    """A fresh, migrated database for one test."""
    url = make_database(template)
    yield url
    drop_database(url)


@contextmanager
def environment(database_url: str, redis_url: str, folder: Path) -> Iterator[Settings]:
    """Settings in the environment, so that processes that a test starts have them too."""
    home = folder / "home"
    home.mkdir()
    given = {
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
        for name, value in given.items():
            monkeypatch.setenv(name, value)
        for cached in PER_PROCESS:
            cached.cache_clear()
        yield settings()
        if database.cache_info().currsize:
            database().close()
    for cached in PER_PROCESS:
        cached.cache_clear()


@pytest.fixture
def config(database_url: str, redis_url: str, tmp_path: Path) -> Iterator[Settings]:
    """The settings of one test."""
    with environment(database_url, redis_url, tmp_path) as given:
        yield given


@pytest.fixture
def db(config: Settings) -> Iterator[Database]:
    """The database of one test."""
    opened = Database(config.sqlalchemy_url)
    yield opened
    opened.close()


@pytest.fixture
def session(db: Database) -> Iterator[Session]:
    """A session that nobody commits: for reading, and for services under test."""
    with db.sessions() as opened:
        yield opened


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
    """One account per role, and `scoped`: an on-call who sees hosts labelled role=feed only."""
    made = {}
    with unit_of_work(db.sessions) as opened:
        for name, role, scope in [*((r, r, {}) for r in ROLES), ("scoped", "oncall", {"role": ["feed"]})]:
            user = UserAccount(name=name, role=role, label_scope=scope)
            opened.add(user)
            opened.flush()
            text = new_token(API_PREFIX)
            opened.add(
                ApiToken(user_id=user.id, name="test", token_hash=token_hash(text), prefix="x", role=role)
            )
            headers = {"Authorization": f"Bearer {text}"}
            made[name] = Person(user.id, name, role, text, actor_of(user), headers)
    return made


@pytest.fixture
def people(db: Database) -> dict[str, Person]:
    """See make_people."""
    return make_people(db)


@pytest.fixture(scope="session")
def built() -> FastAPI:
    """An application for all tests of this process: to prepare some hundred routes takes longer than most of them."""
    return create_app(Settings())


@pytest.fixture
def app(built: FastAPI, config: Settings) -> Iterator[FastAPI]:
    """The application over the test's database. What tests change hangs on its state, which is new for each."""
    built.state = State()
    furnish(built, config)
    yield built
    built.state.live.close()
    built.state.database.close()


@pytest.fixture
def client(app: FastAPI) -> Iterator[TestClient]:
    """A client that is nobody."""
    with TestClient(app) as made:
        yield made


@pytest.fixture
def as_(app: FastAPI, people: dict[str, Person]) -> Iterator[Callable[[str], TestClient]]:
    """`as_("admin")`: a client with that person's token."""
    opened: dict[str, TestClient] = {}

    def client_of(name: str) -> TestClient:
        if name not in opened:
            opened[name] = TestClient(app, headers=people[name].headers)
        return opened[name]

    yield client_of
    for one in opened.values():
        one.close()


@lru_cache(maxsize=1)
def password_hash() -> str:
    """Return the hash of PASSWORD; making one takes a while."""
    return hash_password(PASSWORD)


@pytest.fixture
def session_as(app: FastAPI, people: dict[str, Person], db: Database) -> Iterator[Callable[..., TestClient]]:
    """`session_as("admin")`: a browser in which that person has logged in with PASSWORD just now.

    `proved_at` is when the session was proved; None for never.
    """
    opened: list[TestClient] = []

    def client_of(name: str, *, proved_at: datetime | Literal["now"] | None = "now") -> TestClient:
        cookie, csrf, at = new_token(), new_token(), now()
        with unit_of_work(db.sessions) as session:
            user = session.get_one(UserAccount, people[name].id)
            user.password_hash = password_hash()
            session.add(
                LoginSession(
                    user_id=user.id,
                    token_hash=token_hash(cookie),
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
    for one in opened:
        one.close()
