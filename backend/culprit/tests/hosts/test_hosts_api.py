"""Hosts over HTTP, against a real sshd: adding, names, lists, imports and network rules."""

from __future__ import annotations

import pytest
from culprit.infra.db.session import Database
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.models.hosts.preflight import Preflight
from culprit.tests.support.host_requests import API, build_host_body, get_login_name
from culprit.tests.support.sshd import Sshd
from sqlalchemy import select

pytestmark = pytest.mark.long(25)


def test_add_host_stores_confirmed_key(admin, server: Sshd, db: Database) -> None:
    displayed = admin.post(
        f"{API}/host-key-scans", json={"address": server.address, "port": server.port}
    ).json()
    assert displayed == {
        "type": "ssh-ed25519", "fingerprint": server.host_key.fingerprint, "public_key": server.host_key.line,
    }  # fmt: skip
    result = admin.post(
        f"{API}/hosts", json=build_host_body(server, host_key_fingerprint=displayed["fingerprint"])
    )
    assert result.status_code == 201, result.text
    host = result.json()
    assert host["host_key"]["fingerprint"] == server.host_key.fingerprint
    assert host["credential"]["kind"] == "key" and host["last_run"] is None and host["captures"] == 0
    assert admin.get(f"{API}/hosts/{host['id']}").json() == host
    assert get_login_name(db, host["id"]) == "root"


def test_add_host_repeated_with_idempotency_key_does_not_connect(admin, server: Sshd, monkeypatch) -> None:
    headers = {"Idempotency-Key": "one"}
    first = admin.post(f"{API}/hosts", json=build_host_body(server), headers=headers)
    assert first.status_code == 201
    monkeypatch.delattr("culprit.hosts.service._scan_key")
    again = admin.post(f"{API}/hosts", json=build_host_body(server), headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())


@pytest.mark.parametrize(
    ("address", "port"),
    [("169.254.169.254", 22), ("10.0.0.1", 23), ("192.0.2.1", 22), ("0", 22), ("no-such-name.invalid", 22)],
)
def test_add_host_refuses_disallowed_address(admin, server: Sshd, address: str, port: int) -> None:
    body = build_host_body(server, address=address, port=port, host_key=server.host_key.line)
    answer = admin.post(f"{API}/hosts", json=body)
    assert answer.status_code == 422
    assert answer.json()["key"] in {"ssh.not_allowed", "ssh.dns"}
    scan = admin.post(f"{API}/host-key-scans", json={"address": address, "port": port})
    assert scan.status_code == 422 and scan.json()["key"] in {"ssh.not_allowed", "ssh.dns"}


def test_add_host_refuses_loopback_without_network_rules(as_, server: Sshd) -> None:
    answer = as_("admin").post(f"{API}/hosts", json=build_host_body(server))
    assert answer.status_code == 422 and answer.json()["key"] == "ssh.not_allowed"


def test_host_name_is_free_after_retirement(admin, server: Sshd) -> None:
    host = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    assert admin.post(f"{API}/hosts", json=build_host_body(server)).json()["key"] == "host.name_taken"
    assert admin.delete(f"{API}/hosts/{host['id']}").status_code == 204
    assert admin.get(f"{API}/hosts").json()["items"] == []
    assert admin.get(f"{API}/hosts", params={"state": "retired"}).json()["items"][0]["id"] == host["id"]
    assert admin.post(f"{API}/hosts", json=build_host_body(server)).status_code == 201
    assert admin.post(f"{API}/hosts/{host['id']}/check").json()["key"] == "host.not_active"


def test_scope_hides_hosts_from_lists_and_addresses(admin, server: Sshd, as_) -> None:
    feed = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    ads = admin.post(f"{API}/hosts", json=build_host_body(server, name="ads1", labels={"role": "ads"})).json()
    scoped = as_("scoped")
    assert [item["name"] for item in scoped.get(f"{API}/hosts").json()["items"]] == ["web1"]
    assert scoped.get(f"{API}/hosts/{feed['id']}").status_code == 200
    for method, path in (("GET", ""), ("GET", "/preflight"), ("POST", "/check"), ("DELETE", "")):
        answer = scoped.request(method, f"{API}/hosts/{ads['id']}{path}")
        assert answer.status_code == 404 and answer.json()["key"] == "host.not_found"


def test_list_hosts_searches_filters_and_pages(admin, db: Database) -> None:
    with unit_of_work(db.sessions) as session:
        credential = Credential(name="c", kind="agent")
        session.add(credential)
        session.flush()
        for n in range(7):
            session.add(
                Host(name=f"h{n}_x", address=f"10.0.0.{n}", username="u", credential_id=credential.id,
                     labels={"role": "feed" if n % 2 else "ads", "dc": "a:b"})
            )  # fmt: skip
    names = []
    cursor = None
    for _ in range(4):
        page = admin.get(f"{API}/hosts", params={"limit": 2, **({"cursor": cursor} if cursor else {})}).json()
        names += [item["name"] for item in page["items"]]
        cursor = page["next"]
    assert names == [f"h{n}_x" for n in range(6, -1, -1)] and cursor is None
    items = admin.get(f"{API}/hosts", params={"label": ["role:feed", "dc:a:b"]}).json()["items"]
    assert len(items) == 3
    assert len(admin.get(f"{API}/hosts", params={"q": "H3_"}).json()["items"]) == 1
    assert admin.get(f"{API}/hosts", params={"q": "%"}).json()["items"] == []
    assert admin.get(f"{API}/hosts", params={"label": "nocolon"}).status_code == 422
    for bad in ("x", "bnVsbA", "e30", "MQ", "A" * 300):
        assert admin.get(f"{API}/hosts", params={"cursor": bad}).json()["key"] == "request.cursor_unreadable"


def test_check_request_is_queued_once(admin, server: Sshd, db: Database, as_) -> None:
    host = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    assert admin.get(f"{API}/hosts/{host['id']}/preflight").json()["key"] == "host.no_preflight"
    assert as_("viewer").post(f"{API}/hosts/{host['id']}/check").status_code == 403
    first = as_("investigator").post(f"{API}/hosts/{host['id']}/check")
    assert first.status_code == 202 and first.json()["state"] == "queued"
    assert admin.post(f"{API}/hosts/{host['id']}/check").json()["id"] == first.json()["id"]
    assert admin.get(f"{API}/hosts/{host['id']}/preflight").json()["id"] == first.json()["id"]
    with db.sessions() as session:
        assert len(session.scalars(select(Preflight)).all()) == 1


def test_import_hosts_returns_verdict_for_each(admin, server: Sshd, other: Sshd, db: Database) -> None:
    credential = admin.post(f"{API}/credentials", json={"name": "c", "kind": "agent"}).json()
    admin.post(f"{API}/hosts", json=build_host_body(server, name="there"))
    text = f"""name,address,port,user,jump,fingerprint,host_key
good,127.0.0.1,{other.port},root,,,{other.host_key.line}
behind,10.0.0.9,22,root,good,,
there,10.0.0.1,22,root,,,
same,127.0.0.1,{server.port},root,,,
far,192.0.2.1,22,root,,,
nouser,10.0.0.2,22,,,,
badname;x,10.0.0.3,22,root,,,
lost,10.0.0.4,22,root,nowhere,,
a,10.0.0.5,22,root,b,,
b,10.0.0.6,22,root,a,,
good,10.0.0.7,22,root,,,
"""
    body = {"format": "csv", "text": text, "defaults": {"credential_id": credential["id"]}}
    dry = admin.post(f"{API}/hosts/import", json=body).json()
    verdicts = [row["verdict"] for row in dry["rows"]]
    assert verdicts == [
        "ok", "ok", "exists", "exists", "refused", "incomplete", "refused", "incomplete", "refused",
        "refused", "exists",
    ]  # fmt: skip
    assert dry["added"] == 0 and len(admin.get(f"{API}/hosts").json()["items"]) == 1
    assert dry["rows"][0]["fingerprint"] == other.host_key.fingerprint
    assert dry["rows"][1]["reason"]["key"] == "import.key_to_confirm"
    assert dry["rows"][4]["reason"]["key"] == "ssh.not_allowed"
    done = admin.post(f"{API}/hosts/import", json=body | {"dry_run": False}).json()
    assert done["added"] == 2 and [row["verdict"] for row in done["rows"]][:2] == ["added", "added"]
    hosts = {item["name"]: item for item in admin.get(f"{API}/hosts").json()["items"]}
    assert hosts["good"]["host_key"]["fingerprint"] == other.host_key.fingerprint
    assert hosts["behind"]["jump_host"]["name"] == "good" and hosts["behind"]["host_key"] is None
    again = admin.post(f"{API}/hosts/import", json=body | {"dry_run": False}).json()
    assert again["added"] == 0


def test_deleted_network_rule_blocks_connections(admin, server: Sshd, db: Database) -> None:
    host = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    for rule in admin.get(f"{API}/network-rules").json()["items"]:
        assert admin.delete(f"{API}/network-rules/{rule['id']}").status_code == 204
    answer = admin.put(
        f"{API}/hosts/{host['id']}/host-key",
        json={"fingerprint": server.host_key.fingerprint, "reason": "again"},
    )
    assert answer.json()["key"] == "ssh.not_allowed"


@pytest.mark.parametrize(
    "cidr", ["", "10.0.0.1/8", "10.0.0.0/33", "host", "10.0.0.0/8; DROP", "0x0/0", "::1/129"]
)
def test_create_network_rule_refuses_invalid_cidr(admin, cidr: str) -> None:
    answer = admin.post(f"{API}/network-rules", json={"cidr": cidr})
    assert answer.status_code == 422


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("name", "-rf"), ("name", "a b"), ("name", "a\nb"), ("name", "x" * 300), ("address", "-oX=y"),
        ("address", "a b"), ("address", "a;b"), ("address", "[::1]"), ("address", "fe80::1%eth0"),
        ("username", "-l"), ("username", "a b"), ("username", "$(id)"), ("port", 0), ("port", 65536),
        ("labels", {"a b": "c"}), ("labels", {"a": "c\x1b[0m"}), ("labels", {"a": ""}), ("max_silence_s", 1),
        ("host_key_fingerprint", "MD5:aa"), ("host_key", "ssh-rsa"), ("unknown", 1), ("sudo", "yes"),
    ],
)  # fmt: skip
def test_add_host_refuses_invalid_fields(admin, server: Sshd, field: str, value: object) -> None:
    answer = admin.post(f"{API}/hosts", json=build_host_body(server) | {field: value})
    assert answer.status_code == 422 and answer.json()["key"] == "request.invalid"
    assert server.client_key not in answer.text
