"""Signing in with an identity provider: accounts, roles, tokens and settings."""

from __future__ import annotations

from datetime import timedelta
from urllib.parse import parse_qs, urlsplit

from culprit.accounts import dependencies
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.login_flow import LoginFlow
from culprit.infra.models.accounts.oidc_provider import OidcProvider
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity
from culprit.tests.support.idp import CLIENT, SECRET, Provider, curve, rsa
from culprit.tests.support.sign_in import (
    API,
    AsPerson,
    follow_callback,
    get_refusal,
    idp,
    select_linked_sessions,
    setup,
    sign_in,
)
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import select, update

__all__ = ["idp", "setup"]


def test_a_first_sign_in_makes_an_account_with_the_role_of_its_group(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    assert client.get(f"{API}/session/methods").json() == {"provider": "Example"}
    assert sign_in(client, idp, "/incidents?state=open") == "/incidents?state=open"
    me = client.get(f"{API}/me").json()
    assert (me["name"], me["role"], me["needs_password"], me["uses_single_sign_on"]) == (
        "lena",
        "oncall",
        False,
        True,
    )
    with db.sessions() as session:
        identity = session.scalars(select(UserIdentity)).one()
        assert (identity.issuer, identity.subject, identity.groups) == (idp.issuer, "u-1", ["sre"])
        login = session.scalars(select_linked_sessions()).one()
        assert login.expires_at - login.created_at == timedelta(hours=12)
        assert session.scalars(select(LoginFlow)).all() == []
    end = client.get(f"{API}/session/oidc/end").json()["url"]
    assert end.startswith(
        f"{idp.issuer}/logout?client_id={CLIENT}&post_logout_redirect_uri=http%3A%2F%2Ftestserver%2Flogin"
    )
    assert client.delete(f"{API}/session", headers={"X-CSRF-Token": me["csrf"]}).status_code == 204
    assert client.get(f"{API}/me").status_code == 401


def test_roles_follow_the_groups_at_the_next_sign_in(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    def role() -> str:
        assert sign_in(client, idp) == "/incidents"
        return client.get(f"{API}/me").json()["role"]

    assert role() == "oncall"
    idp.claims["groups"] = ["dev", "root", 7, None, {"x": 1}]
    assert role() == "admin"
    idp.claims["groups"] = "dev"
    assert role() == "investigator"
    with db.sessions() as session:
        assert len(session.scalars(select(UserIdentity)).all()) == 1
        changes = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "user.changed_by_groups")
        ).all()
        assert [change.detail["role"] for change in changes] == [
            ["oncall", "admin"],
            ["admin", "investigator"],
        ]


def test_who_has_no_group_any_more_loses_sessions_and_tokens_until_it_is_back(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    sign_in(client, idp)
    csrf = client.get(f"{API}/me").json()["csrf"]
    token = client.post(f"{API}/tokens", json={"name": "t"}, headers={"X-CSRF-Token": csrf}).json()["token"]
    bearer = {"Authorization": f"Bearer {token}"}
    with TestClient(app) as script:
        assert script.get(f"{API}/me", headers=bearer).status_code == 200
        idp.claims["groups"] = ["Sre", "sre "]  # other groups
        assert sign_in(client, idp) == "/login?refused=no_role"
        assert client.get(f"{API}/me").status_code == 401
        assert script.get(f"{API}/me", headers=bearer).status_code == 401
        idp.claims["groups"] = ["sre"]
        assert sign_in(client, idp) == "/incidents"
        assert script.get(f"{API}/me", headers=bearer).status_code == 200


def test_whom_an_admin_has_disabled_no_group_lets_in(
    client: TestClient, setup, idp: Provider, db: Database, as_: AsPerson, session_as: AsPerson
) -> None:
    sign_in(client, idp)
    lena = next(item for item in as_("admin").get(f"{API}/users").json()["items"] if item["name"] == "lena")
    assert lena["uses_single_sign_on"] is True
    path = f"{API}/users/{lena['id']}"
    admin = session_as("admin")
    assert admin.patch(path, json={"disabled": True}).status_code == 200
    assert sign_in(client, idp) == "/login?refused=withdrawn"
    for body in ({"role": "admin"}, {"new_login_link": True}):
        answer = admin.patch(path, json=body)
        assert (answer.status_code, answer.json()["key"]) == (409, "user.uses_single_sign_on")


def test_sign_in_without_group_needs_default_role(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    idp.claims["groups"] = []
    assert get_refusal(db, sign_in(client, idp)) == "no_role: no group"
    del idp.claims["groups"]
    assert get_refusal(db, sign_in(client, idp)) == "no_role: no group"
    with db.sessions() as session:
        assert session.scalars(select(UserIdentity)).all() == []
    assert setup(default_role="viewer").status_code == 200
    assert sign_in(client, idp) == "/incidents"
    assert client.get(f"{API}/me").json()["role"] == "viewer"


def test_sign_in_ignores_name_and_address(client: TestClient, setup, idp: Provider, as_: AsPerson) -> None:
    """The provider's `admin` is not ours, in upper or lower case; another subject with the same e-mail is another person."""
    idp.claims |= {"preferred_username": "Admin", "email": "a@example.com"}
    sign_in(client, idp)
    me = client.get(f"{API}/me").json()
    assert (me["name"], me["role"]) == ("Admin-2", "oncall")
    idp.claims["sub"] = "u-2"
    sign_in(client, idp)
    assert client.get(f"{API}/me").json()["id"] != me["id"]


def test_groups_may_come_from_userinfo(client: TestClient, setup, idp: Provider, db: Database) -> None:
    del idp.claims["groups"]
    idp.userinfo = {"groups": ["root"], "sub": "another user"}
    assert get_refusal(db, sign_in(client, idp)) == "claims: userinfo describes another user"
    idp.userinfo = {"groups": ["root"]}
    sign_in(client, idp)
    assert client.get(f"{API}/me").json()["role"] == "admin"


def test_new_keys_are_read_once_a_minute_at_most(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    at = [1000.0]
    app.state.single_sign_on._clock = lambda: at[0]
    sign_in(client, idp)
    sign_in(client, idp)
    assert idp.paths.count("/jwks") == 1 and idp.paths.count("/.well-known/openid-configuration") == 1
    idp.rotate(rsa("second"))
    assert sign_in(client, idp) == "/login?refused=token"
    at[0] += 61
    assert sign_in(client, idp) == "/incidents"
    assert idp.paths.count("/jwks") == 2
    old, idp.keys = idp.keys, [curve("made up")]
    token = idp.signed
    idp.keys, idp.sign = old, token
    at[0] += 3600
    assert sign_in(client, idp) == "/incidents"
    assert idp.paths.count("/.well-known/openid-configuration") == 2  # cached metadata expires


def test_a_local_admin_always_gets_in(
    client: TestClient, setup, idp: Provider, db: Database, session_as: AsPerson, people
) -> None:
    idp.gone = True
    assert client.post(f"{API}/session/oidc", json={}).json()["key"] == "sign_in.away"
    assert client.post(f"{API}/session", json={"name": "admin", "password": "x" * 10}).status_code == 200
    idp.gone = False
    idp.claims["groups"] = ["root"]
    sign_in(client, idp)
    assert client.get(f"{API}/me").json()["role"] == "admin"
    # An admin of the provider's making does not count: the last one of our own stays.
    answer = session_as("admin").patch(f"{API}/users/{people['admin'].id}", json={"role": "viewer"})
    assert (answer.status_code, answer.json()["key"]) == (409, "user.last_admin")
    with unit_of_work(db.sessions) as session:
        session.execute(update(UserAccount).where(UserAccount.name == "admin").values(password_hash=None))
    # An admin without a password has no proof to give either, so the settings stay as they are.
    assert setup().json()["key"] == "auth.password_first"


def test_password_is_refused_for_single_sign_on_account(client: TestClient, setup, idp: Provider) -> None:
    sign_in(client, idp)
    csrf = client.get(f"{API}/me").json()["csrf"]
    answer = client.patch(f"{API}/me", json={"password": "y" * 12}, headers={"X-CSRF-Token": csrf})
    assert (answer.status_code, answer.json()["key"]) == (409, "user.uses_single_sign_on")


def test_tokens_rest_when_their_owner_is_not_seen_any_more(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    sign_in(client, idp)
    csrf = client.get(f"{API}/me").json()["csrf"]
    token = client.post(f"{API}/tokens", json={"name": "t"}, headers={"X-CSRF-Token": csrf}).json()["token"]
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserIdentity).values(
                seen_at=utc_now() - dependencies.TOKEN_SUSPENSION_AFTER - timedelta(seconds=1)
            )
        )
    with TestClient(app) as script:
        answer = script.get(f"{API}/me", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["key"]) == (401, "auth.token_rests")
        sign_in(client, idp)
        assert script.get(f"{API}/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_settings(
    client: TestClient, setup, idp: Provider, db: Database, as_: AsPerson, session_as: AsPerson
) -> None:
    state = as_("admin").get(f"{API}/oidc-provider").json()
    assert state["redirect_uri"] == state["provider"]["redirect_uri"] == idp.redirect_uri
    assert state["provider"]["has_secret"] is True and SECRET not in str(state)
    tried = as_("admin").post(f"{API}/oidc-provider/check").json()
    assert tried == {"ok": True, "failure": None, "detail": "", "algorithms": ["RS256", "ES256"], "keys": 1,
                     "end_session": True}  # fmt: skip
    assert setup(version=7).json()["key"] == "sign_in.changed_meanwhile"
    assert setup(issuer=idp.issuer + "/other", client_secret=None).json()["key"] == "sign_in.needs_secret"
    with db.sessions() as session:
        assert SECRET.encode() not in session.scalars(select(OidcProvider)).one().ciphertext
        assert SECRET not in str([row.detail for row in session.scalars(select(AuditEntry))])
    sign_in(client, idp)
    assert setup(enabled=False).status_code == 200
    assert client.get(f"{API}/me").status_code == 401, "who came from the provider is logged out with it"
    assert client.get(f"{API}/session/methods").json() == {"provider": None}
    assert client.post(f"{API}/session/oidc", json={}).json()["key"] == "sign_in.off"
    assert session_as("admin").delete(f"{API}/oidc-provider").status_code == 204
    assert session_as("admin").delete(f"{API}/oidc-provider").status_code == 404


def test_over_tls_the_cookie_is_bound_to_the_host(config, setup, idp: Provider, monkeypatch) -> None:
    from culprit.infra.settings import get_settings
    from culprit.server.web import create_app

    monkeypatch.setenv("CULPRIT_PUBLIC_URL", "https://culprit.example")
    get_settings.cache_clear()
    idp.redirect_uri = "https://culprit.example/api/v1/session/oidc/callback"
    with TestClient(create_app(get_settings()), base_url="https://culprit.example") as client:
        answer = client.post(f"{API}/session/oidc", json={})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-culprit_sign_in=") and "Secure" in cookie and "HttpOnly" in cookie
        requested = parse_qs(urlsplit(answer.json()["url"]).query)
        assert requested["redirect_uri"] == [idp.redirect_uri]
        assert follow_callback(client, idp.approve(answer.json()["url"])) == "/"
        assert client.get(f"{API}/me").status_code == 200
