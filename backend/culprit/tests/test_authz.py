"""Every route with every role. A new route must be added to `support.route_table` with its lowest role.

For each route the lowest role is listed: lower roles get 403 (without login 401), this role and higher ones
get any answer except 401 and 403. For a host outside the label scope every answer is 404.
"""

from __future__ import annotations

import itertools
import json
from collections.abc import Callable

import pytest
from culprit.accounts.actor import Actor, rank_role
from culprit.accounts.authorization import ACTIONS, authorize, is_allowed, is_in_scope
from culprit.accounts.queries.visibility import visible_hosts_clause
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.settings import REPOSITORY, Settings
from culprit.tests.support.route_requests import ask, seed
from culprit.tests.support.route_table import API, OPEN, PRINCIPALS, PUBLIC, REFUSALS, SESSIONS, TABLE
from culprit.web.errors import CulpritError
from fastapi import FastAPI
from fastapi.testclient import TestClient

pytestmark = pytest.mark.long(65)


@pytest.fixture
def clients(as_: Callable[[str], TestClient], client: TestClient) -> Callable[[str], TestClient]:
    return lambda name: client if name == "anonymous" else as_(name)


def routes(app: FastAPI) -> set[tuple[str, str]]:
    """Return the routes that the application serves."""
    return {
        (method.upper(), path.removeprefix(API))
        for path, methods in app.openapi()["paths"].items()
        for method in methods
    }


def test_every_route_is_in_the_table(app: FastAPI) -> None:
    listed = set(TABLE) | set(PUBLIC)
    assert routes(app) - listed == set(), "decide who may use these, and add them to TABLE"
    assert listed - routes(app) == set(), "these are not served any more"


def test_roles_of_the_mock_api_are_those_of_the_server() -> None:
    file = REPOSITORY / "frontend" / "mock" / "server" / "actions.json"
    assert json.loads(file.read_text("utf-8")) == dict(ACTIONS), "run make client"


@pytest.mark.parametrize("principal", PRINCIPALS)
def test_who_may_what(
    app: FastAPI,
    config: Settings,
    db: Database,
    people,
    clients: Callable[[str], TestClient],
    session_as: Callable[[str], TestClient],
    principal: str,
) -> None:
    browser = clients(principal) if principal == "anonymous" else session_as(principal)
    seeds = seed(config, db, people["admin"].id, {"role": "feed"})
    wrong = {}
    for route in sorted(TABLE.keys() & routes(app), key=lambda item: (item[0] == "DELETE", item)):
        status = ask(browser if route in SESSIONS else clients(principal), seeds, route)
        lowest = TABLE[route][0]
        if principal == "anonymous":
            right = status == 401
        elif rank_role(principal) < rank_role(lowest):
            right = status == 403
        else:
            right = status not in {401, 403} and status < 500
        if not right:
            wrong[route] = status
    assert wrong == {}


def test_a_scope_hides_everything_that_hangs_on_a_host(
    app: FastAPI, config: Settings, db: Database, people, clients: Callable[[str], TestClient]
) -> None:
    own = seed(config, db, people["admin"].id, {"role": "feed"})
    other = seed(config, db, people["admin"].id, {"role": "ads"})
    scoped = clients("scoped")
    wrong = {}
    for route, (lowest, _, _, about_host) in TABLE.items():
        if not about_host or route not in routes(app) or rank_role(lowest) > rank_role("oncall"):
            continue
        hidden, seen = ask(scoped, other, route), ask(scoped, own, route)
        if hidden != 404 or seen in {401, 403} or seen >= 500:
            wrong[route] = (hidden, seen)
    assert wrong == {}
    for path, names in (("/hosts", ["h-feed"]), ("/captures", None), ("/profiles", None)):
        items = scoped.get(API + path).json()["items"]
        assert len(items) >= 1
        assert other.ids["host"] not in str(items) and other.ids["run"] not in str(items)
        assert names is None or [item["name"] for item in items] == names


def test_public_routes_ask_for_no_session(client: TestClient) -> None:
    for (method, path), body in PUBLIC.items():
        url = API + path.replace("{trigger_id}", str(new_uuid7())).replace("{token}", "0" * 96)
        answer = client.request(method, url, json=body, follow_redirects=False)
        if (method, path) in OPEN:
            assert answer.status_code == OPEN[method, path]
            continue
        assert answer.status_code in {401, 404} and answer.json()["key"] in REFUSALS


def test_the_table_of_actions_is_deny_by_default() -> None:
    actors = {role: Actor(new_uuid7(), role, role) for role in PRINCIPALS[1:]}
    for actor in actors.values():
        assert not is_allowed(actor, "no.such.action")
        with pytest.raises(CulpritError):
            authorize(actor, "no.such.action")
    for action, (low, high) in itertools.product(ACTIONS, itertools.pairwise(PRINCIPALS[1:])):
        assert not is_allowed(actors[low], action) or is_allowed(actors[high], action), (
            "each may what the lower may"
        )
    expected = {"capture.light": "investigator", "capture.standard": "investigator", "capture.deep": "oncall",
                "capture.ptrace": "admin", "host.add": "admin"}  # fmt: skip
    assert expected.items() <= dict(ACTIONS).items()


SCOPES = [
    {}, {"role": ["feed"]}, {"role": ["feed", "ads"]}, {"role": ["feed"], "dc": ["a"]}, {"missing": ["x"]},
    {"role": ["' OR 1=1 --"]}, {"role'": ["x"]}, {"role": [""]},
]  # fmt: skip


def test_the_list_clause_and_the_function_agree(db: Database) -> None:
    labels = [{}, {"role": "feed"}, {"role": "ads"}, {"role": "feed", "dc": "a"}, {"role": "feed", "dc": "b"},
              {"role": ""}, {"dc": "a"}]  # fmt: skip
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        for n, item in enumerate(labels):
            session.add(
                Host(name=f"h{n}", address="a", username="u", credential_id=credential.id, labels=item)
            )
    with db.sessions() as session:
        for scope in SCOPES:
            actor = Actor(new_uuid7(), "x", "viewer", scope)
            listed = {host.name for host in session.query(Host).where(visible_hosts_clause(actor))}
            assert listed == {f"h{n}" for n, item in enumerate(labels) if is_in_scope(actor, item)}, scope
