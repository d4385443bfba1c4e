"""Cost of unauthenticated requests, and the structure limit of bodies."""

from __future__ import annotations

import json
import time
from collections.abc import Callable

import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.automation.trigger import Trigger
from culprit.server.web import ANONYMOUS_LIMIT
from culprit.tests.support.route_table import API, PUBLIC
from culprit.web.http.json_limit import MAX_DEPTH, MAX_VALUES, is_too_complex
from fastapi.testclient import TestClient

JSON = {"Content-Type": "application/json"}
UNKNOWN = json.dumps({"name": "x", "password": "y", **{f"k{n}": n for n in range(100_000)}}).encode()


def cost(act: Callable[[], object], times: int = 3) -> float:
    """Return the CPU seconds of one call, the minimum of some."""
    results = []
    for _ in range(times):
        began = time.process_time()
        act()
        results.append(time.process_time() - began)
    return min(results)


def test_a_large_body_costs_less_than_a_login(client: TestClient) -> None:
    url = f"{API}/session"
    login = cost(lambda: client.post(url, json={"name": "x", "password": "y"}))
    small = json.dumps({f"k{n}": n for n in range(1_200)}).encode()
    assert len(small) < ANONYMOUS_LIMIT
    for body, status in ((UNKNOWN, 413), (small, 422)):
        answer = client.post(url, content=body, headers=JSON)
        assert answer.status_code == status and len(answer.content) < 2000
        ratio = cost(lambda body=body: client.post(url, content=body, headers=JSON)) / login
        assert ratio < 1, f"{len(body)} bytes cost {ratio:.2f} logins"


@pytest.mark.parametrize("headers", [{}, {"Authorization": "Bearer x"}, {"Cookie": "culprit_session=x"}])
def test_public_routes_take_little_whatever_comes_with_it(
    client: TestClient, headers: dict[str, str]
) -> None:
    for method, path in PUBLIC:
        if method == "POST" and path.startswith("/session"):
            answer = client.post(API + path, content=UNKNOWN, headers=JSON | headers)
            assert answer.status_code == 413, path


def test_routes_limit_body_of_unauthenticated_requests(client: TestClient) -> None:
    def drip():
        for at in range(0, len(UNKNOWN), 4096):
            yield UNKNOWN[at : at + 4096]

    for path in ("/users", "/network-rules", "/imports", "/incidents/import", "/none"):
        for body in (UNKNOWN, drip()):
            assert client.post(API + path, content=body, headers=JSON).status_code == 413, path


def test_deeply_structured_body_is_a_single_error(session_as) -> None:
    admin = session_as("admin")
    for body in (UNKNOWN, b"[" * (MAX_DEPTH + 1), b"[]," * MAX_VALUES):
        answer = admin.post(f"{API}/network-rules", content=body, headers=JSON)
        assert (answer.status_code, answer.json()["key"]) == (422, "request.too_complex")
    wide = json.dumps({f"k{n}": n for n in range(MAX_VALUES - 10)}).encode()
    answer = admin.post(f"{API}/network-rules", content=wide, headers=JSON)
    assert answer.status_code == 422 and [error["key"] for error in answer.json()["errors"]] == [
        "request.too_many_fields"
    ]
    utf16 = '{"cidr": "10.0.0.0/8"}'.encode("utf-16-le")
    assert admin.post(f"{API}/network-rules", content=utf16, headers=JSON).json()["key"] == "request.not_utf8"
    text = json.dumps({"cidr": "10.0.0.0/8", "note": '[{,"\\' * 20}).encode()
    assert admin.post(f"{API}/network-rules", content=text, headers=JSON).status_code in {201, 422}


def test_text_is_no_structure() -> None:
    assert not is_too_complex(json.dumps({"text": '[{,"\\' * MAX_VALUES}).encode())
    assert not is_too_complex(b"[" * MAX_DEPTH + b"]" * MAX_DEPTH)
    assert is_too_complex(b"[" * (MAX_DEPTH + 1))
    assert is_too_complex(b"]" * (MAX_VALUES + 1))
    for body in (b'"' + b'\\"' * 1_000_000, b'"' * 2_000_000, b'"\\'):
        began = time.process_time()
        assert not is_too_complex(body)
        assert time.process_time() - began < 5, "linear in the bytes"


def test_alerts_may_still_be_large(client: TestClient, db: Database, people) -> None:
    with unit_of_work(db.sessions) as session:
        row = Trigger(
            name="t", kind="generic", proof="token", owner_id=people["admin"].id, token_hash=b"x" * 32
        )
        row.options = {}
        session.add(row)
        session.flush()
    large = json.dumps({"title": "x" * 100_000}).encode()
    assert client.post(f"{API}/triggers/{row.id}/alerts", content=large, headers=JSON).status_code == 401
