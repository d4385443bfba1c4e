"""Changes of permissions need a session that was proved recently."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta

import pytest
from culprit.accounts.proof import PROOF_VALID, get_proven_actor
from culprit.accounts.sessions import issue_login_link
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.login_attempt import LoginAttempt
from culprit.infra.models.accounts.login_link import LoginLink
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.tests.conftest import PASSWORD
from culprit.tests.support.route_table import API, SESSIONS, TABLE
from fastapi import FastAPI
from fastapi.dependencies.models import Dependant
from fastapi.routing import APIRoute
from fastapi.testclient import TestClient
from sqlalchemy import select, update

PROVEN = SESSIONS - {("POST", "/session/proof"), ("POST", "/session/oidc/proof")}
STALE = PROOF_VALID + timedelta(seconds=1)
Browser = Callable[..., TestClient]


def asks(client: TestClient, route: tuple[str, str]):
    method, path = route
    url = API + path.replace("{user_id}", "0" * 32).replace("{token_id}", "0" * 32)
    body = TABLE[route][1]
    return client.request(method, url, **({} if body is None else {"json": body}))


def needs_proof(dependant: Dependant) -> bool:
    return dependant.call is get_proven_actor or any(
        needs_proof(dependency) for dependency in dependant.dependencies
    )


def api_routes(routes: object) -> Iterator[APIRoute]:
    for route in routes:  # type: ignore[attr-defined]
        if isinstance(route, APIRoute):
            yield route
        elif nested := getattr(getattr(route, "original_router", None), "routes", None):
            yield from api_routes(nested)


def test_the_routes_that_need_a_proof_are_these(app: FastAPI) -> None:
    methods = {
        (method, route.path.removeprefix(API))
        for route in api_routes(app.routes)
        for method in route.methods
        if needs_proof(route.dependant)
    }
    assert methods == PROVEN


@pytest.mark.parametrize("name", ["viewer", "admin"])
def test_no_token_sets_a_password(as_, people, db: Database, name: str) -> None:
    answer = as_(name).patch(f"{API}/me", json={"password": "a new password"})
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.session_needed")
    with db.sessions() as session:
        assert session.get_one(UserAccount, people[name].id).password_hash is None
    assert as_(name).patch(f"{API}/me", json={"locale": "zh"}).status_code == 200


def test_a_token_changes_nothing_that_outlives_it(as_) -> None:
    for route in sorted(PROVEN):
        answer = asks(as_("admin"), route)
        assert (answer.status_code, answer.json()["key"]) == (403, "auth.session_needed"), route


def test_session_without_recent_proof_must_reauthenticate(session_as: Browser) -> None:
    for proved_at in (None, utc_now() - STALE):
        client = session_as("admin", proved_at=proved_at)
        for route in sorted(PROVEN):
            problem = asks(client, route).json()
            assert problem["type"] == "urn:culprit:problem:proof-needed", route
            assert (problem["status"], problem["key"]) == (403, "auth.proof_needed")
            assert problem["params"] == {"how": "password", "minutes": 15}
    wrong = client.post(f"{API}/session/proof", json={"password": "guess"})
    assert (wrong.status_code, wrong.json()["key"]) == (422, "auth.current_password_wrong")
    assert asks(client, ("POST", "/users")).status_code == 403
    assert client.post(f"{API}/session/proof", json={"password": PASSWORD}).status_code == 204
    assert asks(client, ("POST", "/users")).status_code == 201


def test_another_session_stays_as_it_was(session_as: Browser) -> None:
    here, there = (session_as("admin", proved_at=None) for _ in range(2))
    here.post(f"{API}/session/proof", json={"password": PASSWORD})
    assert asks(here, ("POST", "/tokens")).status_code == 201
    assert asks(there, ("POST", "/tokens")).status_code == 403


def test_wrong_passwords_are_throttled_and_audited(
    session_as: Browser, client: TestClient, db: Database, people
) -> None:
    browser = session_as("oncall", proved_at=None)
    bodies = [{"password": "a new password", "current_password": f"guess {n}"} for n in range(6)]
    answers = [browser.patch(f"{API}/me", json=body) for body in bodies]
    answers += [browser.post(f"{API}/session/proof", json={"password": f"guess {n}"}) for n in range(6)]
    assert [answer.status_code for answer in answers] == [422] * 10 + [429] * 2
    assert int(answers[-1].headers["retry-after"]) > 0
    # One counter for all methods of guessing.
    login = client.post(f"{API}/session", json={"name": "oncall", "password": PASSWORD})
    assert login.status_code == 429
    with db.sessions() as session:
        query = select(AuditEntry).where(AuditEntry.action == "user.password_refused")
        entries = session.scalars(query).all()
        assert len(entries) == 10
        assert {(entry.resource_id, entry.address) for entry in entries} == {
            (str(people["oncall"].id), "testclient")
        }
        assert len(session.scalars(select(LoginAttempt)).all()) == 10


def enter(client: TestClient, db: Database, name: str = "new") -> dict[str, str]:
    with unit_of_work(db.sessions) as session:
        user = session.scalars(select(UserAccount).where(UserAccount.name == name)).first()
        if user is None:
            user = UserAccount(name=name, role="admin")
            session.add(user)
            session.flush()
        token = issue_login_link(session, user)
    me = client.post(f"{API}/session/link", json={"token": token}).json()
    return {"X-CSRF-Token": me["csrf"]}


def test_a_login_link_proves_the_first_password_and_nothing_else(client: TestClient, db: Database) -> None:
    headers = enter(client, db)
    refused = client.post(f"{API}/users", json={"name": "x", "role": "admin"}, headers=headers)
    assert (refused.status_code, refused.json()["key"]) == (403, "auth.password_first")
    with unit_of_work(db.sessions) as session:
        unused = issue_login_link(session, session.scalars(select(UserAccount)).one())
    assert client.patch(f"{API}/me", json={"password": PASSWORD}, headers=headers).status_code == 200
    assert (
        client.post(f"{API}/users", json={"name": "x", "role": "admin"}, headers=headers).status_code == 201
    )
    assert client.post(f"{API}/session/link", json={"token": unused}).status_code == 401
    with db.sessions() as session:
        of_new = select(LoginLink).join(UserAccount).where(UserAccount.name == "new")
        assert all(item.used_at is not None for item in session.scalars(of_new))


def test_the_first_password_is_set_soon_after_the_link_or_not_at_all(
    client: TestClient, db: Database
) -> None:
    headers = enter(client, db)
    with unit_of_work(db.sessions) as session:
        session.execute(update(LoginSession).values(proved_at=utc_now() - STALE))
    late = client.patch(f"{API}/me", json={"password": PASSWORD}, headers=headers)
    assert (late.status_code, late.json()["key"]) == (403, "auth.link_window_over")
    headers = enter(client, db)
    assert client.patch(f"{API}/me", json={"password": PASSWORD}, headers=headers).status_code == 200
