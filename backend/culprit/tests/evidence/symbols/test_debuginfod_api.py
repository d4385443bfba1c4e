"""An admin allows debuginfod servers: addresses, duplicates, the audit log."""

from __future__ import annotations

import pytest
from culprit.evidence.symbols.debuginfod import MAX_SERVERS
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.models.evidence.debug_file import DebugFile
from culprit.infra.models.evidence.debuginfod_server import DebuginfodServer
from culprit.infra.models.hosts.network_rule import NetworkRule
from sqlalchemy import func, select

API = "/api/v1/debuginfod-servers"


@pytest.fixture
def admin(as_, db):
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=8002, port_to=8002))
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=443, port_to=443))
    return as_("admin")


def allow(admin, url: str) -> str:
    answer = admin.post(API, json={"url": url})
    assert answer.status_code == 201, answer.text
    return answer.json()["url"]


def refuse(admin, url: str) -> str:
    answer = admin.post(API, json={"url": url})
    assert answer.status_code in {409, 422}
    return answer.json()["key"]


def test_the_list_is_empty_at_first_and_has_the_order_of_requests(admin):
    assert admin.get(API).json()["items"] == []
    urls = ["http://127.0.0.1:8002/b", "https://127.0.0.1", "http://127.0.0.1:8002/a"]
    assert [allow(admin, url) for url in urls] == urls
    assert [item["url"] for item in admin.get(API).json()["items"]] == urls


@pytest.mark.parametrize(
    ("url", "key"),
    [
        ("http://10.0.0.1:8002", "outgoing.not_allowed"),
        ("https://169.254.169.254", "outgoing.not_allowed"),
        ("http://127.0.0.1", "outgoing.not_allowed"),
        ("http://no-such-name.invalid", "outgoing.dns"),
        ("ftp://127.0.0.1:8002", "outgoing.url"),
        ("127.0.0.1:8002", "outgoing.url"),
        ("http://user:secret@127.0.0.1:8002", "outgoing.url"),
        ("http://127.0.0.1:8002/?x=1", "outgoing.url"),
        ("http://127.0.0.1:8002/\r\nX: y", "outgoing.url"),
    ],
)
def test_an_address_must_be_a_url_on_the_allow_list(admin, db, url, key):
    assert refuse(admin, url) == key
    with db.sessions() as session:
        assert session.scalar(select(func.count(DebuginfodServer.id))) == 0


def test_spellings_of_an_address_are_the_same_server(admin):
    assert allow(admin, " HTTPS://127.0.0.1:443/ ") == "https://127.0.0.1"
    assert refuse(admin, "https://127.0.0.1") == "debuginfod.exists"


def test_the_number_of_servers_is_limited(admin):
    for number in range(MAX_SERVERS):
        allow(admin, f"http://127.0.0.1:8002/{number}")
    assert refuse(admin, "http://127.0.0.1:8002/more") == "debuginfod.too_many"


def test_a_removed_server_takes_its_answers_along_and_both_changes_are_in_the_audit_log(admin, db):
    allow(admin, "http://127.0.0.1:8002")
    [server] = admin.get(API).json()["items"]
    with unit_of_work(db.sessions) as session:
        [row] = session.scalars(select(DebuginfodServer))
        session.add(
            DebugFile(
                server_id=row.id, build_id="ab" * 20, state="absent", blocks=[], checked_at=row.created_at
            )
        )
    assert admin.delete(f"{API}/{server['id']}").status_code == 204
    assert admin.delete(f"{API}/{server['id']}").status_code == 404
    with db.sessions() as session:
        assert session.scalar(select(func.count(DebugFile.id))) == 0
        entries = session.scalars(select(AuditEntry).where(AuditEntry.action.startswith("debuginfod.")))
        assert [(entry.action, entry.detail["url"]) for entry in entries] == [
            ("debuginfod.allowed", "http://127.0.0.1:8002"),
            ("debuginfod.disallowed", "http://127.0.0.1:8002"),
        ]
