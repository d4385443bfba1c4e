"""Signing in with an identity provider, and everything that must not let anybody in."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.auth import dependencies, sessions
from culprit.auth.tokens import hash_password
from culprit.infra.db import Database
from culprit.kit.clock import now
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import (
    AuditEntry,
    LoginFlow,
    LoginSession,
    NetworkRule,
    OidcProvider,
    UserAccount,
    UserIdentity,
)
from culprit.tests.support.idp import CLIENT, SECRET, Provider, curve, provider, rsa, way_back
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import Select, select, update

API = "/api/v1"
AsPerson = Callable[[str], TestClient]
ROLES = [
    {"group": "sre", "role": "oncall"},
    {"group": "dev", "role": "investigator"},
    {"group": "root", "role": "admin"},
]


@pytest.fixture
def idp() -> Iterator[Provider]:
    with provider() as made:
        yield made


@pytest.fixture
def setup(db: Database, as_: AsPerson, session_as: AsPerson, people, idp: Provider) -> Callable[..., Any]:
    """Sets the provider up as an admin does; what is given differs from the usual."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
    admin = session_as("admin")
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserAccount)
            .where(UserAccount.name == "admin")
            .values(password_hash=hash_password("x" * 10))
        )

    def put(**given: Any) -> Any:
        before = as_("admin").get(f"{API}/oidc-provider").json()["provider"]
        body = {"name": "Example", "issuer": idp.issuer, "client_id": CLIENT, "client_secret": SECRET, "roles": ROLES,
                "version": before["version"] if before else 0} | given  # fmt: skip
        return admin.put(f"{API}/oidc-provider", json=body)

    assert put().status_code == 200
    return put


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """More tries in a minute than anybody may have."""
    monkeypatch.setattr(sessions, "PER_ACCOUNT_AND_ADDRESS", 1000)


def of_people() -> Select[Any]:
    """Return the sessions of people who came from the provider."""
    return select(LoginSession).join(UserIdentity, UserIdentity.user_id == LoginSession.user_id)


def leave(client: TestClient, wanted: str = "/incidents") -> str:
    answer = client.post(f"{API}/session/oidc", json={"next": wanted})
    assert answer.status_code == 200, answer.text
    return answer.json()["url"]


def come_back(client: TestClient, parameters: dict[str, str]) -> str:
    """Where the way back leads."""
    answer = client.get(way_back(parameters), follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["cache-control"] == "no-store"
    return answer.headers["location"]


def sign_in(client: TestClient, idp: Provider, wanted: str = "/incidents") -> str:
    return come_back(client, idp.approve(leave(client, wanted)))


def why(db: Database) -> list[str]:
    """What the audit log says about the refusals, the oldest first."""
    with db.sessions() as session:
        rows = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "session.refused").order_by(AuditEntry.seq)
        )
        return [f"{row.detail['why']}: {row.detail['detail']}" for row in rows]


def refused(db: Database, location: str) -> str:
    """Why somebody ended on the login page, and what the audit log says about it."""
    assert location.startswith("/login?refused=")
    with db.sessions() as session:
        assert session.scalars(of_people()).all() == []
    return why(db)[-1]


def test_a_first_sign_in_makes_an_account_with_the_role_of_its_group(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    assert client.get(f"{API}/session/ways").json() == {"provider": "Example"}
    assert sign_in(client, idp, "/incidents?state=open") == "/incidents?state=open"
    me = client.get(f"{API}/me").json()
    assert (me["name"], me["role"], me["needs_password"], me["signs_in_elsewhere"]) == (
        "lena",
        "oncall",
        False,
        True,
    )
    with db.sessions() as session:
        identity = session.scalars(select(UserIdentity)).one()
        assert (identity.issuer, identity.subject, identity.groups) == (idp.issuer, "u-1", ["sre"])
        login = session.scalars(of_people()).one()
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
        assert [one.detail["role"] for one in changes] == [["oncall", "admin"], ["admin", "investigator"]]


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
    lena = next(one for one in as_("admin").get(f"{API}/users").json()["items"] if one["name"] == "lena")
    assert lena["signs_in_elsewhere"] is True
    path = f"{API}/users/{lena['id']}"
    admin = session_as("admin")
    assert admin.patch(path, json={"disabled": True}).status_code == 200
    assert sign_in(client, idp) == "/login?refused=withdrawn"
    for body in ({"role": "admin"}, {"new_login_link": True}):
        answer = admin.patch(path, json=body)
        assert (answer.status_code, answer.json()["key"]) == (409, "user.signs_in_elsewhere")


def test_least_role_or_nobody(client: TestClient, setup, idp: Provider, db: Database) -> None:
    idp.claims["groups"] = []
    assert refused(db, sign_in(client, idp)) == "no_role: no group"
    del idp.claims["groups"]
    assert refused(db, sign_in(client, idp)) == "no_role: no group"
    with db.sessions() as session:
        assert session.scalars(select(UserIdentity)).all() == []
    assert setup(otherwise="viewer").status_code == 200
    assert sign_in(client, idp) == "/incidents"
    assert client.get(f"{API}/me").json()["role"] == "viewer"


def test_a_name_or_an_address_is_nobody(client: TestClient, setup, idp: Provider, as_: AsPerson) -> None:
    """The provider's `admin` is not ours, in whatever case; another subject with the same e-mail is another person."""
    idp.claims |= {"preferred_username": "Admin", "email": "a@example.com"}
    sign_in(client, idp)
    me = client.get(f"{API}/me").json()
    assert (me["name"], me["role"]) == ("Admin-2", "oncall")
    idp.claims["sub"] = "u-2"
    sign_in(client, idp)
    assert client.get(f"{API}/me").json()["id"] != me["id"]


def test_groups_may_come_from_userinfo(client: TestClient, setup, idp: Provider, db: Database) -> None:
    del idp.claims["groups"]
    idp.userinfo = {"groups": ["root"], "sub": "somebody else"}
    assert refused(db, sign_in(client, idp)) == "claims: userinfo is about somebody else"
    idp.userinfo = {"groups": ["root"]}
    sign_in(client, idp)
    assert client.get(f"{API}/me").json()["role"] == "admin"


WRONG: dict[str, tuple[Callable[[dict[str, Any]], dict[str, Any]], str]] = {
    "another audience": (lambda c: c | {"aud": "another"}, "another audience"),
    "no audience": (lambda c: {n: v for n, v in c.items() if n != "aud"}, "another audience"),
    "two audiences, no party": (lambda c: c | {"aud": [CLIENT, "x"]}, "another authorized party"),
    "another party": (lambda c: c | {"azp": "x"}, "another authorized party"),
    "another issuer": (lambda c: c | {"iss": c["iss"] + "/"}, "another issuer"),
    "another nonce": (lambda c: c | {"nonce": "A" * 43}, "another nonce"),
    "no nonce": (lambda c: {n: v for n, v in c.items() if n != "nonce"}, "another nonce"),
    "run out": (lambda c: c | {"exp": c["iat"] - 61}, "run out"),
    "no end": (lambda c: {n: v for n, v in c.items() if n != "exp"}, "run out"),
    "end is text": (lambda c: c | {"exp": "9999999999"}, "run out"),
    "endless": (lambda c: c | {"exp": 10**400}, "run out"),
    "old": (lambda c: c | {"iat": c["iat"] - 3600}, "not made now"),
    "from tomorrow": (lambda c: c | {"iat": c["iat"] + 86400}, "not made now"),
    "not yet": (lambda c: c | {"nbf": c["iat"] + 3600}, "not valid yet"),
    "no subject": (lambda c: c | {"sub": ""}, "no subject"),
    "long subject": (lambda c: c | {"sub": "x" * 256}, "no subject"),
    "subject is a number": (lambda c: c | {"sub": 1}, "no subject"),
    "another access token": (lambda c: c | {"at_hash": "A" * 22}, "another access token"),
}


def test_a_token_about_something_else_is_refused(
    client: TestClient, setup, idp: Provider, db: Database, often
) -> None:
    for case, (wrong, reason) in WRONG.items():
        idp.token_claims = wrong
        assert refused(db, sign_in(client, idp)) == f"token: {reason}", case


def test_signatures_that_prove_nothing(client: TestClient, setup, idp: Provider, db: Database) -> None:
    stranger = curve("first")  # the right name, another key

    def flipped(claims: dict[str, Any]) -> str:
        head, body, signature = idp.signed(claims).split(".")
        return ".".join((head, body, signature[:-4] + ("AAAA" if signature[-4:] != "AAAA" else "BBBB")))

    def stranger_signed(claims: dict[str, Any]) -> str:
        own, idp.keys = idp.keys, [stranger]
        try:
            return idp.signed(claims)
        finally:
            idp.keys = own

    agreed = "token: signed in a way that was not agreed"
    for sign, expected in (
        (idp.unsigned, agreed),
        (idp.hmac_signed, agreed),
        (
            lambda claims: idp.unsigned(claims).replace(
                idp.unsigned(claims).split(".")[0], "eyJhbGciOiJOb05lIn0"
            ),
            agreed,
        ),
        (stranger_signed, "token: BadSignatureError"),
        (flipped, "token: BadSignatureError"),
        (lambda _: "not.a.token", "token: no JWT"),
        (lambda _: "", "token: no JWT"),
        (lambda _: "a." * 60_000, "token: too long, or no ASCII"),
    ):
        idp.sign = sign
        assert refused(db, sign_in(client, idp)) == expected


def test_new_keys_are_read_once_a_minute_at_most(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    at = [1000.0]
    app.state.signon._clock = lambda: at[0]
    sign_in(client, idp)
    sign_in(client, idp)
    assert idp.asked.count("/jwks") == 1 and idp.asked.count("/.well-known/openid-configuration") == 1
    idp.rotate(rsa("second"))
    assert sign_in(client, idp) == "/login?refused=token"
    at[0] += 61
    assert sign_in(client, idp) == "/incidents"
    assert idp.asked.count("/jwks") == 2
    old, idp.keys = idp.keys, [curve("made up")]
    token = idp.signed
    idp.keys, idp.sign = old, token
    at[0] += 3600
    assert sign_in(client, idp) == "/incidents"
    assert idp.asked.count("/.well-known/openid-configuration") == 2  # what is known is not known for ever


def test_the_way_back_works_once_and_in_one_browser(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    back = idp.approve(leave(client))
    with TestClient(app) as thief:
        assert refused(db, come_back(thief, back)) == "state: "
    assert refused(db, come_back(client, back)) == "state: "  # it was used up by the thief, and helped nobody
    back = idp.approve(leave(client))
    cookie = client.cookies["culprit_signon"]
    assert come_back(client, back) == "/incidents"
    client.cookies.clear()
    client.cookies.set("culprit_signon", cookie)
    assert come_back(client, back) == "/login?refused=state"
    first, second = idp.approve(leave(client)), idp.approve(leave(client))
    assert come_back(client, first) == "/login?refused=state"  # its cookie was replaced
    with TestClient(app) as victim:  # somebody else's code under one's own state
        leave(victim)
        assert come_back(victim, second) == "/login?refused=state"
    for parameters in (
        {},
        {"state": ""},
        {"state": "x" * 43, "code": "y"},
        {"state": "x" * 43, "error": "access_denied"},
    ):
        assert come_back(client, parameters) == "/login?refused=state"


def test_a_sign_in_runs_out(client: TestClient, setup, idp: Provider, db: Database) -> None:
    back = idp.approve(leave(client))
    with unit_of_work(db.sessions) as session:
        session.execute(update(LoginFlow).values(expires_at=now()))
    assert refused(db, come_back(client, back)) == "state: "


def test_other_answers_are_refused(client: TestClient, setup, idp: Provider, db: Database) -> None:
    back = idp.approve(leave(client))
    assert refused(db, come_back(client, back | {"iss": "https://evil.example"})) == (
        "issuer: the answer is from another issuer"
    )
    back = idp.approve(leave(client))
    del back["iss"]
    assert refused(db, come_back(client, back)).startswith("issuer:")
    back = idp.approve(leave(client))
    assert refused(db, come_back(client, back | {"code": "made up"})) == "code: invalid_grant"
    back = idp.approve(leave(client))
    assert (
        refused(db, come_back(client, {"state": back["state"], "error": "access_denied"}))
        == "denied: access_denied"
    )
    back = idp.approve(leave(client))
    assert setup(name="Renamed", client_secret=None).status_code == 200
    assert refused(db, come_back(client, back)) == "over: "
    assert setup(client_secret="wrong").status_code == 200
    assert refused(db, sign_in(client, idp)) == "code: invalid_client"


ELSEWHERE = [
    "https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "/%0a", "/\n/evil.example",
    "\\\\evil.example", "javascript:alert(1)", "", "login", "/login?next=//evil.example", "/api/v1/session", "/ä",
    "/" + "x" * 1999 + "/",
]  # fmt: skip


def test_next_leads_nowhere_else(client: TestClient, setup, idp: Provider, often) -> None:
    for wanted in ELSEWHERE:
        answer = client.post(f"{API}/session/oidc", json={"next": wanted})
        if answer.status_code == 422:
            continue
        place = come_back(client, idp.approve(answer.json()["url"]))
        assert place == ("/%0a" if wanted == "/%0a" else "/"), wanted


def test_a_local_admin_always_gets_in(
    client: TestClient, setup, idp: Provider, db: Database, session_as: AsPerson, people
) -> None:
    idp.gone = True
    assert client.post(f"{API}/session/oidc", json={}).json()["key"] == "signon.away"
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


def test_no_password_beside_the_provider(client: TestClient, setup, idp: Provider) -> None:
    sign_in(client, idp)
    csrf = client.get(f"{API}/me").json()["csrf"]
    answer = client.patch(f"{API}/me", json={"password": "y" * 12}, headers={"X-CSRF-Token": csrf})
    assert (answer.status_code, answer.json()["key"]) == (409, "user.signs_in_elsewhere")


def test_tokens_rest_when_their_owner_is_not_seen_any_more(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    sign_in(client, idp)
    csrf = client.get(f"{API}/me").json()["csrf"]
    token = client.post(f"{API}/tokens", json={"name": "t"}, headers={"X-CSRF-Token": csrf}).json()["token"]
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserIdentity).values(seen_at=now() - dependencies.TOKENS_REST_AFTER - timedelta(seconds=1))
        )
    with TestClient(app) as script:
        answer = script.get(f"{API}/me", headers={"Authorization": f"Bearer {token}"})
        assert (answer.status_code, answer.json()["key"]) == (401, "auth.token_rests")
        sign_in(client, idp)
        assert script.get(f"{API}/me", headers={"Authorization": f"Bearer {token}"}).status_code == 200


def test_only_what_is_on_the_allow_list_is_dialled(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    assert setup(issuer="http://169.254.169.254").json()["key"] == "outgoing.not_allowed"
    assert setup(issuer="http://10.1.2.3", client_secret="x").json()["key"] == "outgoing.not_allowed"
    assert setup(issuer=idp.issuer + "?x=1").json()["key"] == "outgoing.url"
    # What the provider names is bounded as well: its token endpoint leads elsewhere.
    idp.document = {"token_endpoint": "https://127.0.0.2:9/token"}
    assert refused(db, sign_in(client, idp)) == "away: not_allowed"


UNSAFE: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example"}, "signon.issuer"),
    ({"token_endpoint": "http://idp.example/token"}, "signon.discovery"),
    ({"jwks_uri": None}, "signon.discovery"),
    ({"authorization_endpoint": "javascript:alert(1)"}, "signon.discovery"),
    ({"code_challenge_methods_supported": ["plain"]}, "signon.discovery"),
    ({"id_token_signing_alg_values_supported": ["HS256", "none"]}, "signon.discovery"),
]


def test_a_provider_that_says_something_unsafe(
    client: TestClient, setup, idp: Provider, as_: AsPerson
) -> None:
    for document, key in UNSAFE:
        idp.document = document
        assert client.post(f"{API}/session/oidc", json={}).json()["key"] == key
        tried = as_("admin").post(f"{API}/oidc-provider/check").json()
        assert tried["ok"] is False and tried["failure"]["key"] == key


def test_settings(
    client: TestClient, setup, idp: Provider, db: Database, as_: AsPerson, session_as: AsPerson
) -> None:
    state = as_("admin").get(f"{API}/oidc-provider").json()
    assert state["redirect_uri"] == state["provider"]["redirect_uri"] == idp.redirect_uri
    assert state["provider"]["has_secret"] is True and SECRET not in str(state)
    tried = as_("admin").post(f"{API}/oidc-provider/check").json()
    assert tried == {"ok": True, "failure": None, "detail": "", "algorithms": ["RS256", "ES256"], "keys": 1,
                     "end_session": True}  # fmt: skip
    assert setup(version=7).json()["key"] == "signon.changed_meanwhile"
    assert setup(issuer=idp.issuer + "/other", client_secret=None).json()["key"] == "signon.needs_secret"
    with db.sessions() as session:
        assert SECRET.encode() not in session.scalars(select(OidcProvider)).one().ciphertext
        assert SECRET not in str([row.detail for row in session.scalars(select(AuditEntry))])
    sign_in(client, idp)
    assert setup(enabled=False).status_code == 200
    assert client.get(f"{API}/me").status_code == 401, "who came from the provider is logged out with it"
    assert client.get(f"{API}/session/ways").json() == {"provider": None}
    assert client.post(f"{API}/session/oidc", json={}).json()["key"] == "signon.off"
    assert session_as("admin").delete(f"{API}/oidc-provider").status_code == 204
    assert session_as("admin").delete(f"{API}/oidc-provider").status_code == 404


def test_another_site_cannot_begin_a_sign_in(client: TestClient, setup) -> None:
    answer = client.post(f"{API}/session/oidc", json={}, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.foreign_origin")


def test_leaving_too_often_is_bounded(client: TestClient, setup, idp: Provider) -> None:
    answers = [client.post(f"{API}/session/oidc", json={}).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]


def test_over_tls_the_cookie_is_bound_to_the_host(config, setup, idp: Provider, monkeypatch) -> None:
    from culprit.config import settings
    from culprit.main import create_app

    monkeypatch.setenv("CULPRIT_PUBLIC_URL", "https://culprit.example")
    settings.cache_clear()
    idp.redirect_uri = "https://culprit.example/api/v1/session/oidc/callback"
    with TestClient(create_app(settings()), base_url="https://culprit.example") as client:
        answer = client.post(f"{API}/session/oidc", json={})
        cookie = answer.headers["set-cookie"]
        assert cookie.startswith("__Host-culprit_signon=") and "Secure" in cookie and "HttpOnly" in cookie
        asked = parse_qs(urlsplit(answer.json()["url"]).query)
        assert asked["redirect_uri"] == [idp.redirect_uri]
        assert come_back(client, idp.approve(answer.json()["url"])) == "/"
        assert client.get(f"{API}/me").status_code == 200
