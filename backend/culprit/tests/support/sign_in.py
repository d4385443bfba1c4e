"""Fixtures and helpers of tests that sign in with an identity provider."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest
from culprit.accounts import sessions
from culprit.accounts.tokens import hash_password
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.accounts.login_session import LoginSession
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.accounts.user_identity import UserIdentity
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.tests.support.idp import CLIENT, SECRET, Provider, provider, way_back
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
    """Run an identity provider."""
    with provider() as result:
        yield result


@pytest.fixture
def setup(db: Database, as_: AsPerson, session_as: AsPerson, people, idp: Provider) -> Callable[..., Any]:
    """Return a function that sets the provider up as an admin does; keywords replace default values."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
    admin = session_as("admin")
    with unit_of_work(db.sessions) as session:
        session.execute(
            update(UserAccount)
            .where(UserAccount.name == "admin")
            .values(password_hash=hash_password("x" * 10))
        )

    def put(**supplied: Any) -> Any:
        before = as_("admin").get(f"{API}/oidc-provider").json()["provider"]
        body = {"name": "Example", "issuer": idp.issuer, "client_id": CLIENT, "client_secret": SECRET, "roles": ROLES,
                "version": before["version"] if before else 0} | supplied  # fmt: skip
        return admin.put(f"{API}/oidc-provider", json=body)

    assert put().status_code == 200
    return put


@pytest.fixture
def often(monkeypatch: pytest.MonkeyPatch) -> None:
    """Allow more attempts per minute than the limit."""
    monkeypatch.setattr(sessions, "PER_ACCOUNT_AND_ADDRESS", 1000)


def select_linked_sessions() -> Select[Any]:
    """Select the sessions of accounts with single sign-on."""
    return select(LoginSession).join(UserIdentity, UserIdentity.user_id == LoginSession.user_id)


def start_sign_in(client: TestClient, requested: str = "/incidents") -> str:
    """Return the address at the provider."""
    answer = client.post(f"{API}/session/oidc", json={"next": requested})
    assert answer.status_code == 200, answer.text
    return answer.json()["url"]


def follow_callback(client: TestClient, parameters: dict[str, str]) -> str:
    """Follow the redirect of the provider; return where the platform redirects to."""
    answer = client.get(way_back(parameters), follow_redirects=False)
    assert answer.status_code == 303 and answer.headers["cache-control"] == "no-store"
    return answer.headers["location"]


def sign_in(client: TestClient, idp: Provider, requested: str = "/incidents") -> str:
    """Sign in; return where the platform redirects to."""
    return follow_callback(client, idp.approve(start_sign_in(client, requested)))


def list_refusals(db: Database) -> list[str]:
    """Return the refusals of the audit log, oldest first."""
    with db.sessions() as session:
        rows = session.scalars(
            select(AuditEntry).where(AuditEntry.action == "session.refused").order_by(AuditEntry.seq)
        )
        return [f"{row.detail['why']}: {row.detail['detail']}" for row in rows]


def get_refusal(db: Database, location: str) -> str:
    """Return the reason for the redirect to the login page, with the entry of the audit log."""
    assert location.startswith("/login?refused=")
    with db.sessions() as session:
        assert session.scalars(select_linked_sessions()).all() == []
    return list_refusals(db)[-1]
