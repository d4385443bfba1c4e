"""No admin has a label scope: admin actions reach the whole platform."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from alembic import command
from culprit.auth import audit
from culprit.auth.actor import Actor, rank
from culprit.auth.policy import ACTIONS, allowed
from culprit.config import Settings
from culprit.infra.db import Database
from culprit.kit.unit_of_work import unit_of_work
from culprit.kit.uuid7 import uuid7
from culprit.models import AuditEntry, UserAccount
from culprit.tests.conftest import alembic_config
from culprit.tests.test_authz import API, SESSIONS, TABLE, ask, seed
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

AsPerson = Callable[..., TestClient]
SCOPE = {"role": ["feed"]}


def users(db: Database) -> dict[str, tuple[str, object]]:
    with db.sessions() as session:
        return {one.name: (one.role, one.label_scope) for one in session.scalars(select(UserAccount))}


def test_no_admin_gets_a_scope_and_nobody_with_a_scope_becomes_admin(
    session_as: AsPerson, people, db: Database
) -> None:
    admin = session_as("admin")
    before = users(db)
    for method, path, body in (
        ("POST", "/users", {"name": "x", "role": "admin", "label_scope": SCOPE}),
        ("PATCH", f"/users/{people['admin'].id}", {"label_scope": SCOPE}),
        ("PATCH", f"/users/{people['scoped'].id}", {"role": "admin"}),
        ("PATCH", f"/users/{people['viewer'].id}", {"role": "admin", "label_scope": SCOPE}),
    ):
        answer = admin.request(method, API + path, json=body)
        assert (answer.status_code, answer.json()["key"]) == (422, "user.admin_unscoped"), body
    assert users(db) == before
    promoted = {"role": "admin", "label_scope": {}}
    assert admin.patch(f"{API}/users/{people['scoped'].id}", json=promoted).status_code == 200


def test_the_database_refuses_one_too(db: Database) -> None:
    with pytest.raises(IntegrityError, match="admin_unscoped"), unit_of_work(db.sessions) as session:
        session.add(UserAccount(name="x", role="admin", label_scope=SCOPE))


def test_one_that_is_there_all_the_same_may_do_nothing_that_only_admins_may(
    config: Settings, db: Database, people, as_: AsPerson, session_as: AsPerson
) -> None:
    seeds = seed(config, db, people["admin"].id, {"role": "feed"})
    browser = session_as("admin")
    with unit_of_work(db.sessions) as session:
        session.execute(text("ALTER TABLE user_account DROP CONSTRAINT ck_user_account_admin_unscoped"))
        session.get_one(UserAccount, people["admin"].id).label_scope = SCOPE
    wrong = {}
    for route in sorted(TABLE):
        if TABLE[route][0] != "admin":
            continue
        status = ask(browser if route in SESSIONS else as_("admin"), seeds, route)
        if status not in {403, 404}:
            wrong[route] = status
    assert wrong == {}
    actor = Actor(uuid7(), "x", "admin", SCOPE)
    assert [
        one for one, lowest in ACTIONS.items() if allowed(actor, one) and rank(lowest) == rank("admin")
    ] == []


@pytest.mark.parametrize("keeper", [True, False])
def test_the_upgrade_separates_admins_from_scopes(make_database, drop_database, keeper: bool) -> None:
    url = make_database(None)
    config = alembic_config(url)
    command.upgrade(config, "0022")
    database = Database(config.attributes["url"])
    insert = text(
        "INSERT INTO user_account (id, name, role, label_scope, locale, password_hash, created_at)"
        " VALUES (gen_random_uuid(), :name, 'admin', CAST(:scope AS jsonb), 'en', :password, now())"
    )
    try:
        with unit_of_work(database.sessions) as session:
            if keeper:
                session.execute(insert, {"name": "keeper", "scope": "{}", "password": "x"})
            session.execute(insert, {"name": "one", "scope": '{"role": ["feed"]}', "password": None})
            session.execute(insert, {"name": "two", "scope": '{"role": ["ads"]}', "password": "x"})
            audit.record(session, None, "x", "user", "x")
        command.upgrade(config, "0023")
        two = ("oncall", {"role": ["ads"]}) if keeper else ("admin", {})
        found = users(database)
        found.pop("keeper", None)
        assert found == {"one": ("oncall", {"role": ["feed"]}), "two": two}
        with unit_of_work(database.sessions) as session:
            told = session.scalars(select(AuditEntry).where(AuditEntry.action == "user.changed")).all()
            assert {one.detail["name"] for one in told} == {"one", "two"}
            audit.record(session, None, "y", "user", "y")
        with database.sessions() as session:
            assert audit.verify(session).broken_at is None
    finally:
        database.close()
        drop_database(url)
