"""A repeated request is executed once, also concurrently, and again after a failure."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest
from culprit.infra.db.session import Database
from culprit.infra.models.accounts.api_token import ApiToken
from culprit.infra.models.accounts.idempotency_key import IdempotencyKey
from culprit.infra.models.hosts.network_rule import NetworkRule
from sqlalchemy import func, select

RULES, TOKENS = "/api/v1/network-rules", "/api/v1/tokens"
RULE = {"cidr": "10.0.0.0/8"}


@pytest.fixture
def admin(session_as):
    return session_as("admin")


def count(db: Database, table: type) -> int:
    with db.sessions() as session:
        return session.scalars(select(func.count()).select_from(table)).one()


def test_a_repetition_gets_the_first_answer(admin, db: Database) -> None:
    key = {"Idempotency-Key": str(uuid4())}
    first = admin.post(RULES, json=RULE, headers=key)
    again = admin.post(RULES, json=RULE, headers=key)
    assert first.status_code == again.status_code == 201 and first.json() == again.json()
    assert "idempotent-replayed" not in first.headers and again.headers["idempotent-replayed"] == "true"
    assert count(db, NetworkRule) == 1
    assert admin.post(RULES, json=RULE).status_code == 201
    assert count(db, NetworkRule) == 2


def test_idempotency_key_belongs_to_a_request(admin, db: Database) -> None:
    key = {"Idempotency-Key": "k"}
    admin.post(RULES, json=RULE, headers=key)
    for path, body in ((RULES, RULE | {"port_to": 23}), (TOKENS, {"name": "t"})):
        answer = admin.post(path, json=body, headers=key)
        assert answer.status_code == 409 and answer.json()["key"] == "request.key_reused"
    assert count(db, NetworkRule) == 1


def test_idempotency_key_belongs_to_an_account(admin, session_as, db: Database) -> None:
    key = {"Idempotency-Key": "k"}
    assert admin.post(TOKENS, json={"name": "t"}, headers=key).status_code == 201
    assert session_as("viewer").post(TOKENS, json={"name": "t"}, headers=key).status_code == 201


def test_at_once_is_still_once(admin, db: Database) -> None:
    key = {"Idempotency-Key": "k"}
    with ThreadPoolExecutor(8) as pool:
        answers = list(pool.map(lambda _: admin.post(RULES, json=RULE, headers=key), range(12)))
    assert {answer.status_code for answer in answers} == {201} and len(
        {answer.json()["id"] for answer in answers}
    ) == 1
    assert count(db, NetworkRule) == 1


def test_what_failed_may_be_tried_again(admin, db: Database) -> None:
    key = {"Idempotency-Key": "k"}
    assert admin.post(RULES, json={"cidr": "nonsense"}, headers=key).status_code == 422
    assert count(db, IdempotencyKey) == 0
    assert admin.post(RULES, json=RULE, headers=key).status_code == 201


def test_secret_is_neither_stored_nor_returned_twice(admin, db: Database) -> None:
    key = {"Idempotency-Key": "k"}
    token = admin.post(TOKENS, json={"name": "t"}, headers=key).json()["token"]
    again = admin.post(TOKENS, json={"name": "t"}, headers=key)
    assert again.status_code == 409 and again.json()["key"] == "request.answered_once"
    with db.sessions() as session:
        row = session.scalars(select(IdempotencyKey)).one()
        assert row.body is None and token not in str(vars(row))
        names = session.scalars(select(ApiToken.name).where(ApiToken.name == "t")).all()
    assert names == ["t"]
