"""Signing in with a certified OpenID provider (npm's `oidc-provider`), through its own pages."""

from __future__ import annotations

import json
import re
import shutil
import subprocess
from collections.abc import Callable, Iterator
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import urljoin, urlsplit

import httpx2
import pytest
from culprit.accounts.tokens import hash_password
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.user_account import UserAccount
from culprit.infra.models.hosts.network_rule import NetworkRule
from culprit.infra.settings import REPOSITORY
from culprit.tests.support.idp import CLIENT, SECRET
from culprit.tests.support.web import free_port
from fastapi.testclient import TestClient
from sqlalchemy import update

API = "/api/v1"
REDIRECT = "http://testserver/api/v1/session/oidc/callback"
TOOL = REPOSITORY / "tools" / "oidc"
NODE = REPOSITORY / ".venv" / "bin" / "node"
pytestmark = pytest.mark.skipif(
    not (TOOL / "node_modules").is_dir() or not (NODE.exists() or shutil.which("node")),
    reason="npm --prefix tools/oidc ci was not run",
)


class Form(HTMLParser):
    """The first form of a page."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.action = ""
        self.fields: dict[str, str] = {}
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        result = dict(attrs)
        if tag == "form" and not self.action:
            self.action = result.get("action") or ""
        elif tag == "input" and result.get("name"):
            self.fields[str(result["name"])] = result.get("value") or ""


@pytest.fixture
def groups(tmp_path: Path) -> Callable[..., None]:
    """Set the group members at the provider."""
    file = tmp_path / "groups.json"

    def put(**supplied: list[str]) -> None:
        file.write_text(json.dumps(supplied))

    put()
    return put


@pytest.fixture
def issuer(tmp_path: Path, groups) -> Iterator[str]:
    port = free_port()
    node = shutil.which("node") or str(NODE)
    with subprocess.Popen(
        [node, "provider.mjs", str(port), REDIRECT, str(tmp_path / "groups.json")],
        cwd=TOOL,
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
        text=True,
    ) as child:
        try:
            assert child.stdout is not None
            assert any("ready" in line for line in child.stdout), "the provider did not start"
            yield f"http://127.0.0.1:{port}"
        finally:
            child.terminate()
            child.wait(10)


def through(browser: httpx2.Client, url: str, who: str) -> str:
    """What a person does there: name and password, then consent. Returns the way back."""
    answer = browser.get(url)
    for _ in range(12):
        while answer.is_redirect:
            place = urljoin(str(answer.url), answer.headers["location"])
            if place.startswith(REDIRECT):
                return place
            answer = browser.get(place)
        form = Form(answer.text)
        assert form.action, re.sub(r"<[^>]+>", " ", answer.text)[:500]
        fields = form.fields | ({"login": who, "password": "x"} if "login" in form.fields else {})
        answer = browser.post(urljoin(str(answer.url), form.action), data=fields)
    raise AssertionError("no way back")


def test_there_and_back(
    app, client: TestClient, as_, session_as, db: Database, people, issuer: str, groups
) -> None:
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.1/32", port_from=1, port_to=65535, note=""))
        session.execute(
            update(UserAccount)
            .where(UserAccount.name == "admin")
            .values(password_hash=hash_password("x" * 10))
        )
    body = {
        "name": "Real", "issuer": issuer, "client_id": CLIENT, "client_secret": SECRET, "scopes": ["profile", "groups"],
        "roles": [{"group": "sre", "role": "oncall"}, {"group": "dev", "role": "investigator"}],
    }  # fmt: skip
    assert session_as("admin").put(f"{API}/oidc-provider", json=body).status_code == 200
    tried = as_("admin").post(f"{API}/oidc-provider/check").json()
    assert tried["ok"] is True and tried["keys"] >= 1 and tried["end_session"] is True

    def sign_in(who: str) -> str:
        url = client.post(f"{API}/session/oidc", json={"next": "/fleet"}).json()["url"]
        with httpx2.Client(follow_redirects=False) as browser:
            back = urlsplit(through(browser, url, who))
        return client.get(f"{back.path}?{back.query}", follow_redirects=False).headers["location"]

    groups(lena=["sre", "dev"], mallory=["guests"])
    assert sign_in("lena") == "/fleet"
    me = client.get(f"{API}/me").json()
    assert (me["name"], me["role"]) == ("lena", "oncall"), "its groups came from userinfo"
    groups(lena=["dev"])
    assert sign_in("lena") == "/fleet"
    now = client.get(f"{API}/me").json()
    assert (now["id"], now["role"]) == (me["id"], "investigator")
    assert sign_in("mallory") == "/login?refused=no_role"
