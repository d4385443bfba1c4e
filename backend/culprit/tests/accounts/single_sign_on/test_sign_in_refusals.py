"""Sign-ins that are refused."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.login_flow import LoginFlow
from culprit.tests.support.idp import CLIENT, Provider, curve
from culprit.tests.support.sign_in import (
    API,
    AsPerson,
    follow_callback,
    get_refusal,
    idp,
    often,
    setup,
    sign_in,
    start_sign_in,
)
from fastapi import FastAPI
from fastapi.testclient import TestClient
from sqlalchemy import update

__all__ = ["idp", "often", "setup"]

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
        assert get_refusal(db, sign_in(client, idp)) == f"token: {reason}", case


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
        assert get_refusal(db, sign_in(client, idp)) == expected


def test_callback_works_once_and_in_same_browser(
    app: FastAPI, client: TestClient, setup, idp: Provider, db: Database
) -> None:
    back = idp.approve(start_sign_in(client))
    with TestClient(app) as thief:
        assert get_refusal(db, follow_callback(thief, back)) == "state: "
    assert get_refusal(db, follow_callback(client, back)) == "state: "  # the refused request used it up
    back = idp.approve(start_sign_in(client))
    cookie = client.cookies["culprit_sign_in"]
    assert follow_callback(client, back) == "/incidents"
    client.cookies.clear()
    client.cookies.set("culprit_sign_in", cookie)
    assert follow_callback(client, back) == "/login?refused=state"
    first, second = idp.approve(start_sign_in(client)), idp.approve(start_sign_in(client))
    assert follow_callback(client, first) == "/login?refused=state"  # its cookie was replaced
    with TestClient(app) as victim:  # another user's code under the victim's state
        start_sign_in(victim)
        assert follow_callback(victim, second) == "/login?refused=state"
    for parameters in (
        {},
        {"state": ""},
        {"state": "x" * 43, "code": "y"},
        {"state": "x" * 43, "error": "access_denied"},
    ):
        assert follow_callback(client, parameters) == "/login?refused=state"


def test_a_sign_in_runs_out(client: TestClient, setup, idp: Provider, db: Database) -> None:
    back = idp.approve(start_sign_in(client))
    with unit_of_work(db.sessions) as session:
        session.execute(update(LoginFlow).values(expires_at=utc_now()))
    assert get_refusal(db, follow_callback(client, back)) == "state: "


def test_other_answers_are_refused(client: TestClient, setup, idp: Provider, db: Database) -> None:
    back = idp.approve(start_sign_in(client))
    assert get_refusal(db, follow_callback(client, back | {"iss": "https://evil.example"})) == (
        "issuer: the answer is from another issuer"
    )
    back = idp.approve(start_sign_in(client))
    del back["iss"]
    assert get_refusal(db, follow_callback(client, back)).startswith("issuer:")
    back = idp.approve(start_sign_in(client))
    assert get_refusal(db, follow_callback(client, back | {"code": "made up"})) == "code: invalid_grant"
    back = idp.approve(start_sign_in(client))
    assert (
        get_refusal(db, follow_callback(client, {"state": back["state"], "error": "access_denied"}))
        == "denied: access_denied"
    )
    back = idp.approve(start_sign_in(client))
    assert setup(name="Renamed", client_secret=None).status_code == 200
    assert get_refusal(db, follow_callback(client, back)) == "over: "
    assert setup(client_secret="wrong").status_code == 200
    assert get_refusal(db, sign_in(client, idp)) == "code: invalid_client"


ELSEWHERE = [
    "https://evil.example", "//evil.example", "/\\evil.example", "/\t/evil.example", "/%0a", "/\n/evil.example",
    "\\\\evil.example", "javascript:alert(1)", "", "login", "/login?next=//evil.example", "/api/v1/session", "/ä",
    "/" + "x" * 1999 + "/",
]  # fmt: skip


def test_next_leads_nowhere_else(client: TestClient, setup, idp: Provider, often) -> None:
    for requested in ELSEWHERE:
        answer = client.post(f"{API}/session/oidc", json={"next": requested})
        if answer.status_code == 422:
            continue
        place = follow_callback(client, idp.approve(answer.json()["url"]))
        assert place == ("/%0a" if requested == "/%0a" else "/"), requested


def test_only_what_is_on_the_allow_list_is_dialled(
    client: TestClient, setup, idp: Provider, db: Database
) -> None:
    assert setup(issuer="http://169.254.169.254").json()["key"] == "outgoing.not_allowed"
    assert setup(issuer="http://10.1.2.3", client_secret="x").json()["key"] == "outgoing.not_allowed"
    assert setup(issuer=idp.issuer + "?x=1").json()["key"] == "outgoing.url"
    # What the provider names is bounded as well: its token endpoint leads elsewhere.
    idp.document = {"token_endpoint": "https://127.0.0.2:9/token"}
    assert get_refusal(db, sign_in(client, idp)) == "away: not_allowed"


UNSAFE: list[tuple[dict[str, Any], str]] = [
    ({"issuer": "https://evil.example"}, "sign_in.issuer"),
    ({"token_endpoint": "http://idp.example/token"}, "sign_in.discovery"),
    ({"jwks_uri": None}, "sign_in.discovery"),
    ({"authorization_endpoint": "javascript:alert(1)"}, "sign_in.discovery"),
    ({"code_challenge_methods_supported": ["plain"]}, "sign_in.discovery"),
    ({"id_token_signing_alg_values_supported": ["HS256", "none"]}, "sign_in.discovery"),
]


def test_unsafe_provider_metadata_is_refused(client: TestClient, setup, idp: Provider, as_: AsPerson) -> None:
    for document, key in UNSAFE:
        idp.document = document
        assert client.post(f"{API}/session/oidc", json={}).json()["key"] == key
        tried = as_("admin").post(f"{API}/oidc-provider/check").json()
        assert tried["ok"] is False and tried["failure"]["key"] == key


def test_another_site_cannot_begin_a_sign_in(client: TestClient, setup) -> None:
    answer = client.post(f"{API}/session/oidc", json={}, headers={"Origin": "https://evil.example"})
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.foreign_origin")


def test_leaving_too_often_is_bounded(client: TestClient, setup, idp: Provider) -> None:
    answers = [client.post(f"{API}/session/oidc", json={}).status_code for _ in range(11)]
    assert answers == [200] * 10 + [429]
