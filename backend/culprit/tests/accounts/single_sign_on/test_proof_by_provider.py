"""People of an identity provider prove who they are by signing in there again."""

from __future__ import annotations

from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from culprit.accounts.proof import PROOF_VALID
from culprit.infra.db.clock import utc_now
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.tests.support.idp import Provider, way_back
from culprit.tests.support.sign_in import idp, select_linked_sessions, setup, sign_in
from fastapi.testclient import TestClient
from sqlalchemy import select, update

__all__ = ["idp", "setup"]
API = "/api/v1"


@pytest.fixture
def lena(client: TestClient, setup: Any, idp: Provider, db: Database) -> dict[str, str]:
    """The CSRF header of a person of the provider whose session was proved too long ago."""
    sign_in(client, idp)
    with unit_of_work(db.sessions) as session:
        session.execute(update(LoginSession).values(proved_at=utc_now() - 2 * PROOF_VALID))
    return {"X-CSRF-Token": client.get(f"{API}/me").json()["csrf"]}


def make_token(client: TestClient, headers: dict[str, str]) -> Any:
    return client.post(f"{API}/tokens", json={"name": "t"}, headers=headers)


def prove(client: TestClient, idp: Provider, headers: dict[str, str]) -> str:
    url = client.post(f"{API}/session/oidc/proof", json={"next": "/proved"}, headers=headers).json()["url"]
    requested = parse_qs(urlsplit(url).query)
    assert (requested["prompt"], requested["max_age"]) == (["login"], ["0"])
    return client.get(way_back(idp.approve(url)), follow_redirects=False).headers["location"]


def test_a_fresh_round_is_a_proof(
    client: TestClient, idp: Provider, db: Database, lena: dict[str, str]
) -> None:
    refused = make_token(client, lena).json()
    assert (refused["type"], refused["params"]["how"]) == ("urn:culprit:problem:proof-needed", "provider")
    cookie = client.cookies["culprit_session"]
    assert prove(client, idp, lena) == "/proved"
    assert client.cookies["culprit_session"] == cookie, "the same session"
    assert make_token(client, lena).status_code == 201
    with db.sessions() as session:
        proved = session.scalars(select(AuditEntry).where(AuditEntry.action == "session.proved")).one()
        assert (proved.actor_name, proved.detail["way"]) == ("lena", "provider")


def test_another_person_or_an_old_sign_in_is_none(
    client: TestClient, idp: Provider, db: Database, lena: dict[str, str]
) -> None:
    known = dict(idp.claims)
    idp.claims["sub"] = "u-2"
    assert prove(client, idp, lena) == "/login?refused=other_person"
    with db.sessions() as session:
        assert session.scalars(select(UserAccount).where(UserAccount.name == "lena-2")).all() == []
    idp.claims = known
    idp.token_claims = lambda claims: claims | {"auth_time": claims["iat"] - 3600}
    assert prove(client, idp, lena) == "/login?refused=not_fresh"
    assert make_token(client, lena).status_code == 403
    idp.token_claims = lambda claims: {name: claims[name] for name in claims if name != "auth_time"}
    assert prove(client, idp, lena) == "/proved"


def test_who_lost_all_groups_proves_nothing(
    client: TestClient, idp: Provider, db: Database, lena: dict[str, str]
) -> None:
    idp.claims["groups"] = []
    assert prove(client, idp, lena) == "/login?refused=no_role"
    assert client.get(f"{API}/me").status_code == 401


def test_proof_starts_at_provider_auth_time(
    client: TestClient, setup: Any, idp: Provider, db: Database
) -> None:
    for auth_time, proved in ((-3600, False), (None, False), (-60, True), (10**6, True)):
        idp.token_claims = lambda claims, ago=auth_time: (
            claims | {"auth_time": claims["iat"] + ago}
            if ago is not None
            else {name: claims[name] for name in claims if name != "auth_time"}
        )
        with unit_of_work(db.sessions) as session:
            session.execute(update(LoginSession).values(expires_at=utc_now()))
        sign_in(client, idp)
        headers = {"X-CSRF-Token": client.get(f"{API}/me").json()["csrf"]}
        assert (make_token(client, headers).status_code == 201) is proved, auth_time
        with db.sessions() as session:
            at = [
                item.proved_at
                for item in session.scalars(select_linked_sessions())
                if item.expires_at > utc_now()
            ]
            assert all(item is None or item <= utc_now() for item in at), "never in the future"


def test_a_token_begins_no_round(client: TestClient, setup: Any, people: Any) -> None:
    answer = client.post(f"{API}/session/oidc/proof", json={}, headers=people["oncall"].headers)
    assert (answer.status_code, answer.json()["key"]) == (403, "auth.session_needed")
