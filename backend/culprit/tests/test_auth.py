"""Login, sessions, CSRF, password guessing, login links and tokens."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest
from culprit.accounts.sessions import issue_login_link
from culprit.accounts.tokens import hash_password, is_password_correct
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

PASSWORD = "correct horse battery"
API = "/api/v1"


@pytest.fixture
def ada(db: Database) -> str:
    with unit_of_work(db.sessions) as session:
        session.add(UserAccount(name="ada", role="admin", password_hash=hash_password(PASSWORD)))
    return "ada"


def log_in(client: TestClient, name: str = "ada", password: str = PASSWORD, **headers: str):
    return client.post(f"{API}/session", json={"name": name, "password": password}, headers=headers)


def test_login_gives_a_cookie_that_scripts_cannot_read(client: TestClient, ada: str) -> None:
    answer = log_in(client)
    assert answer.status_code == 200
    me = answer.json()
    assert me["name"] == ada and me["role"] == "admin" and me["needs_password"] is False
    assert "host.add" in me["permissions"]
    cookie = answer.headers["set-cookie"].lower()
    assert "httponly" in cookie and "samesite=lax" in cookie
    assert client.get(f"{API}/me").json()["csrf"] == me["csrf"]


def test_over_tls_the_cookie_is_bound_to_the_host(config, ada: str) -> None:
    from culprit.server.web import create_app

    secure = config.model_copy(update={"public_url": "https://culprit.example"})
    with TestClient(create_app(secure), base_url="https://culprit.example") as client:
        cookie = log_in(client).headers["set-cookie"]
        assert cookie.startswith("__Host-culprit_session=") and "Secure" in cookie
        assert client.get(f"{API}/me").status_code == 200


def test_each_login_is_a_new_session_and_logout_ends_it(client: TestClient, ada: str) -> None:
    log_in(client)
    first = client.cookies["culprit_session"]
    csrf = log_in(client).json()["csrf"]
    assert client.cookies["culprit_session"] != first
    assert client.delete(f"{API}/session", headers={"X-CSRF-Token": csrf}).status_code == 204
    client.cookies.clear()
    client.cookies.set("culprit_session", first)
    assert client.get(f"{API}/me").status_code == 200  # the other session is still open
    client.cookies.set("culprit_session", "x" * 43)
    assert client.get(f"{API}/me").status_code == 401


def test_an_unsafe_method_needs_the_csrf_token(client: TestClient, ada: str) -> None:
    csrf = log_in(client).json()["csrf"]
    body = {"locale": "zh"}
    for headers in ({}, {"X-CSRF-Token": ""}, {"X-CSRF-Token": csrf[:-1]}, {"X-CSRF-Token": "ü" * 43}):
        raw = {name: value.encode() for name, value in headers.items()}
        answer = client.patch(f"{API}/me", json=body, headers=raw)
        assert answer.status_code == 403 and answer.json()["key"] == "auth.csrf"
    assert client.get(f"{API}/me").json()["locale"] == "en"
    assert client.patch(f"{API}/me", json=body, headers={"X-CSRF-Token": csrf}).json()["locale"] == "zh"


@pytest.mark.parametrize(
    "origin", ["https://evil.example", "null", "http://testserver.evil.example", "http://["]
)
def test_a_foreign_origin_is_refused_even_with_the_token(client: TestClient, ada: str, origin: str) -> None:
    csrf = log_in(client).json()["csrf"]
    answer = client.patch(
        f"{API}/me", json={"locale": "zh"}, headers={"X-CSRF-Token": csrf, "Origin": origin}
    )
    assert answer.status_code == 403 and answer.json()["key"] == "auth.foreign_origin"
    assert log_in(client, Origin=origin).status_code == 403
    assert log_in(client, **{"Sec-Fetch-Site": "cross-site"}).status_code == 403


def test_our_own_origin_passes(client: TestClient, ada: str) -> None:
    assert log_in(client, Origin="http://testserver").status_code == 200


def test_guessing_stops_after_ten_in_a_minute(client: TestClient, ada: str, db: Database) -> None:
    codes = [log_in(client, password=f"guess number {n}").status_code for n in range(12)]
    assert codes == [401] * 10 + [429] * 2
    blocked = log_in(client)
    assert blocked.status_code == 429 and int(blocked.headers["retry-after"]) > 0
    assert log_in(client, name="another user", password="x" * 12).status_code == 401
    with db.sessions() as session:
        refused = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "session.refused").order_by(AuditEntry.seq)
        ).all()
        assert len(refused) == 11
        assert refused[-1].resource_id == "unknown"


def test_guessing_at_once_gains_nothing(app: FastAPI, ada: str) -> None:
    with TestClient(app) as client, ThreadPoolExecutor(8) as pool:
        codes = list(pool.map(lambda n: log_in(client, password=f"guess number {n}").status_code, range(20)))
    assert sorted(codes) == [401] * 10 + [429] * 10


def test_successes_are_not_counted_as_guesses(client: TestClient, ada: str) -> None:
    assert {log_in(client).status_code for _ in range(12)} == {200}


def test_a_login_link_works_once_and_asks_for_a_password(client: TestClient, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        user = UserAccount(name="new", role="viewer")
        session.add(user)
        session.flush()
        token = issue_login_link(session, user)
    me = client.post(f"{API}/session/link", json={"token": token}).json()
    assert me["needs_password"] is True
    assert client.post(f"{API}/session/link", json={"token": token}).status_code == 401
    headers = {"X-CSRF-Token": me["csrf"]}
    short = client.patch(f"{API}/me", json={"password": "short"}, headers=headers)
    assert short.status_code == 422 and "short" not in short.text.replace("too_short", "")
    done = client.patch(f"{API}/me", json={"password": PASSWORD}, headers=headers)
    assert done.json()["needs_password"] is False
    again = client.patch(f"{API}/me", json={"password": "another password"}, headers=headers)
    assert again.status_code == 422 and again.json()["key"] == "auth.current_password_wrong"
    assert log_in(client, "new").status_code == 200


def test_a_new_password_ends_the_other_sessions(app: FastAPI, ada: str) -> None:
    with TestClient(app) as here, TestClient(app) as there:
        csrf = log_in(here).json()["csrf"]
        log_in(there)
        body = {"password": "a new password", "current_password": PASSWORD}
        assert here.patch(f"{API}/me", json=body, headers={"X-CSRF-Token": csrf}).status_code == 200
        assert here.get(f"{API}/me").status_code == 200
        assert there.get(f"{API}/me").status_code == 401


def test_a_disabled_account_is_out_at_once(client: TestClient, ada: str, db: Database, session_as) -> None:
    log_in(client)
    admin = session_as("admin")
    users = {user["name"]: user for user in admin.get(f"{API}/users").json()["items"]}
    assert admin.patch(f"{API}/users/{users['ada']['id']}", json={"disabled": True}).status_code == 200
    assert client.get(f"{API}/me").status_code == 401
    assert log_in(client).status_code == 401
    with db.sessions() as session:
        of_ada = select(LoginSession).join(UserAccount, UserAccount.id == LoginSession.user_id)
        assert session.scalars(of_ada.where(UserAccount.name == ada)).all() == []


def test_the_last_admin_stays(session_as, people) -> None:
    admin = session_as("admin")
    own = f"{API}/users/{people['admin'].id}"
    for body in ({"role": "viewer"}, {"disabled": True}):
        answer = admin.patch(own, json=body)
        assert answer.status_code == 409 and answer.json()["key"] == "user.last_admin"


def test_admin_creates_account_with_login_link(session_as, client: TestClient) -> None:
    body = {"name": "bob", "role": "oncall", "label_scope": {"role": ["feed"]}}
    assert session_as("oncall").post(f"{API}/users", json=body).status_code == 403
    result = session_as("admin").post(f"{API}/users", json=body)
    assert result.status_code == 201
    token = result.json()["login_link"].split("#token=")[1]
    assert client.post(f"{API}/session/link", json={"token": token}).json()["role"] == "oncall"
    assert session_as("admin").post(f"{API}/users", json=body).json()["key"] == "user.name_taken"


def test_tokens_narrow_and_never_widen(session_as, client: TestClient, people) -> None:
    oncall = session_as("oncall")
    above = oncall.post(f"{API}/tokens", json={"name": "up", "role": "admin"})
    assert above.status_code == 403 and above.json()["key"] == "auth.token_above_role"
    result = oncall.post(f"{API}/tokens", json={"name": "read only", "role": "viewer"}).json()
    header = {"Authorization": f"Bearer {result['token']}"}
    assert client.get(f"{API}/me", headers=header).json()["role"] == "viewer"
    assert "token" not in str(oncall.get(f"{API}/tokens").json()["items"][0].get("token"))
    assert session_as("viewer").delete(f"{API}/tokens/{result['id']}").status_code == 404
    assert oncall.delete(f"{API}/tokens/{result['id']}").status_code == 204
    assert client.get(f"{API}/me", headers=header).status_code == 401


def test_a_token_follows_its_owner_down(as_, people, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.name == "oncall").values(role="viewer"))
    assert as_("oncall").get(f"{API}/me").json()["role"] == "viewer"


@pytest.mark.parametrize(
    "header", ["Bearer", "Bearer ", "Basic YTpi", "Bearer culprit_", "Bearer culprit_\x00", "bearer x" * 500]
)
def test_invalid_token_is_unauthenticated(client: TestClient, header: str) -> None:
    answer = client.get(f"{API}/me", headers={"Authorization": header.encode()})
    assert answer.status_code == 401
    assert answer.headers["content-type"].startswith("application/problem+json")


def test_passwords_are_argon2id_and_unknown_hashes_match_nothing() -> None:
    stored = hash_password(PASSWORD)
    assert stored.startswith("$argon2id$")
    assert is_password_correct(stored, PASSWORD) and not is_password_correct(stored, "else")
    assert not is_password_correct(None, PASSWORD) and not is_password_correct("!", PASSWORD)
