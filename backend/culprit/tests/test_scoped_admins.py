"""No admin has a label scope: admin actions affect the whole platform."""

from __future__ import annotations

from collections.abc import Callable

import pytest
from culprit.accounts.actor import Actor, rank_role
from culprit.accounts.authorization import ACTIONS, is_allowed
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.settings import Settings
from culprit.tests.support.route_requests import ask, seed
from culprit.tests.support.route_table import API, SESSIONS, TABLE
from fastapi.testclient import TestClient
from sqlalchemy import select, text
from sqlalchemy.exc import IntegrityError

AsPerson = Callable[..., TestClient]
SCOPE = {"role": ["feed"]}


def users(db: Database) -> dict[str, tuple[str, object]]:
    with db.sessions() as session:
        return {item.name: (item.role, item.label_scope) for item in session.scalars(select(UserAccount))}


def test_admin_role_and_label_scope_exclude_each_other(session_as: AsPerson, people, db: Database) -> None:
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


def test_database_refuses_scoped_admin(db: Database) -> None:
    with pytest.raises(IntegrityError, match="admin_unscoped"), unit_of_work(db.sessions) as session:
        session.add(UserAccount(name="x", role="admin", label_scope=SCOPE))


def test_existing_scoped_admin_has_no_admin_permissions(
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
    actor = Actor(new_uuid7(), "x", "admin", SCOPE)
    assert [
        item
        for item, lowest in ACTIONS.items()
        if is_allowed(actor, item) and rank_role(lowest) == rank_role("admin")
    ] == []
