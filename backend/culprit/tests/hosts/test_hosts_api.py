"""Enrolling hosts over HTTP, against a real sshd: keys, pins, addresses, jumps, scopes, lists."""

from __future__ import annotations

import socket
import subprocess
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from culprit.hosts.access import hops_to, sudo_password
from culprit.infra.addresses import Rule
from culprit.infra.db import Database
from culprit.infra.ssh import Patience, connect
from culprit.infra.ssh_errors import SshError
from culprit.kit.unit_of_work import unit_of_work
from culprit.models import AuditEntry, Credential, Host, NetworkRule, Preflight
from culprit.tests.support.sshd import Sshd, sshd
from sqlalchemy import select

pytestmark = pytest.mark.long(25)

API = "/api/v1"
PATIENCE = Patience(connect_s=10, step_s=20)


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("sshd")) as running:
        yield running


@pytest.fixture(scope="module")
def other(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sshd]:
    with sshd(tmp_path_factory.mktemp("other")) as running:
        yield running


@pytest.fixture
def admin(as_, db: Database):
    """An admin, and an allow-list with loopback in it."""
    with unit_of_work(db.sessions) as session:
        session.add(NetworkRule(cidr="127.0.0.0/8", port_from=1, port_to=65535))
        session.add(NetworkRule(cidr="10.0.0.0/8", port_from=22, port_to=22))
    return as_("admin")


def body_of(server: Sshd, **more: object) -> dict[str, object]:
    return {
        "name": "web1",
        "address": server.address,
        "port": server.port,
        "username": server.username,
        "credential": {"kind": "key", "private_key": server.client_key},
        "host_key_fingerprint": server.host_key.fingerprint,
        "labels": {"role": "feed"},
    } | more


def opened(db: Database, host_id: str) -> str:
    """Really connect with what is stored; what `id -un` says."""
    with db.sessions() as session:
        hops = hops_to(session, session.get_one(Host, host_id))
    connection = connect(hops, (Rule("127.0.0.0/8", 1, 65535),), PATIENCE)
    try:
        channel = connection.transport.open_session()
        channel.exec_command("id -un")
        return channel.makefile().read().decode().strip()
    finally:
        connection.close()


def test_a_host_is_enrolled_under_the_key_that_was_confirmed(admin, server: Sshd, db: Database) -> None:
    shown = admin.post(f"{API}/hosts/scan-key", json={"address": server.address, "port": server.port}).json()
    assert shown == {
        "type": "ssh-ed25519", "fingerprint": server.host_key.fingerprint, "public_key": server.host_key.line,
    }  # fmt: skip
    made = admin.post(f"{API}/hosts", json=body_of(server, host_key_fingerprint=shown["fingerprint"]))
    assert made.status_code == 201, made.text
    host = made.json()
    assert host["host_key"]["fingerprint"] == server.host_key.fingerprint
    assert host["credential"]["kind"] == "key" and host["last_run"] is None and host["captures"] == 0
    assert admin.get(f"{API}/hosts/{host['id']}").json() == host
    assert opened(db, host["id"]) == "root"


@pytest.mark.parametrize("what", ["enrol", "scan", "pin"])
def test_a_host_that_never_answers_holds_no_connection_to_the_database(
    admin, app, server: Sshd, what: str
) -> None:
    pool = app.state.database.engine.pool
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as other_thread:
        port = silent.getsockname()[1]
        path, body = f"{API}/hosts", body_of(server, port=port)
        if what == "scan":
            path, body = f"{path}/scan-key", {"address": "127.0.0.1", "port": port}
        if what == "pin":
            made = admin.post(path, json=body | {"host_key_fingerprint": None}).json()
            path, body = (
                f"{path}/{made['id']}/pin",
                {"fingerprint": server.host_key.fingerprint, "reason": "new"},
            )
        headers = {"Idempotency-Key": "one"} if what == "enrol" else {}
        asked = other_thread.submit(admin.post, path, json=body, headers=headers)
        silent.settimeout(20)
        dialled, _ = silent.accept()
        with dialled:
            assert not asked.done()
            assert pool.checkedout() == 0
        assert asked.result(20).status_code == 422


def test_enrolling_again_under_the_same_key_asks_the_host_nothing(admin, server: Sshd, monkeypatch) -> None:
    headers = {"Idempotency-Key": "one"}
    first = admin.post(f"{API}/hosts", json=body_of(server), headers=headers)
    assert first.status_code == 201
    monkeypatch.delattr("culprit.hosts.service.scan")
    again = admin.post(f"{API}/hosts", json=body_of(server), headers=headers)
    assert (again.status_code, again.json()) == (201, first.json())


def test_a_scan_sends_no_word_of_a_login(admin, server: Sshd) -> None:
    before = server.log.count("Connection")
    admin.post(f"{API}/hosts/scan-key", json={"address": server.address, "port": server.port})
    tail = server.log.splitlines()[-3:]
    assert server.log.count("Connection") > before
    assert not any("Failed" in line or "invalid user" in line for line in tail)


def test_another_key_than_the_confirmed_one_is_refused(admin, server: Sshd, other: Sshd) -> None:
    answer = admin.post(f"{API}/hosts", json=body_of(server, host_key_fingerprint=other.host_key.fingerprint))
    assert answer.status_code == 409 and answer.json()["key"] == "host.key_differs"
    assert admin.get(f"{API}/hosts").json()["items"] == []
    whole = body_of(server, host_key=server.host_key.line, host_key_fingerprint=other.host_key.fingerprint)
    assert admin.post(f"{API}/hosts", json=whole).json()["key"] == "host.key_differs"


def test_a_changed_key_stops_everything_until_it_is_pinned_anew(
    admin, server: Sshd, other: Sshd, db: Database
) -> None:
    host = admin.post(f"{API}/hosts", json=body_of(server)).json()
    key = other.host_key.line
    pinned = admin.post(
        f"{API}/hosts/{host['id']}/pin",
        json={"fingerprint": other.host_key.fingerprint, "host_key": key, "reason": "reinstalled"},
    )
    assert pinned.json()["host_key"]["fingerprint"] == other.host_key.fingerprint
    with pytest.raises(SshError, match="host_key_changed"):
        opened(db, host["id"])
    wrong = {"fingerprint": other.host_key.fingerprint, "reason": "a guess"}
    assert admin.post(f"{API}/hosts/{host['id']}/pin", json=wrong).json()["key"] == "host.key_differs"
    right = {"fingerprint": server.host_key.fingerprint, "reason": "checked on the console"}
    assert admin.post(f"{API}/hosts/{host['id']}/pin", json=right).status_code == 200
    assert opened(db, host["id"]) == "root"
    with db.sessions() as session:
        pins = session.scalars(select(AuditEntry).where(AuditEntry.action == "host.pinned")).all()
    assert [entry.detail["reason"] for entry in pins] == ["reinstalled", "checked on the console"]
    assert pins[1].detail["before"] == other.host_key.fingerprint
    assert pins[1].detail["after"] == server.host_key.fingerprint


def test_without_a_confirmed_key_nothing_connects(admin, server: Sshd, db: Database) -> None:
    body = body_of(server)
    del body["host_key_fingerprint"]
    host = admin.post(f"{API}/hosts", json=body).json()
    assert host["host_key"] is None
    before = server.log.count("Accepted")
    with pytest.raises(SshError, match="host_key_missing"):
        opened(db, host["id"])
    assert server.log.count("Accepted") == before


@pytest.mark.parametrize(
    ("address", "port"),
    [("169.254.169.254", 22), ("10.0.0.1", 23), ("192.0.2.1", 22), ("0", 22), ("no-such-name.invalid", 22)],
)
def test_what_is_not_allowed_is_not_enrolled(admin, server: Sshd, address: str, port: int) -> None:
    body = body_of(server, address=address, port=port, host_key=server.host_key.line)
    answer = admin.post(f"{API}/hosts", json=body)
    assert answer.status_code == 422
    assert answer.json()["key"] in {"ssh.not_allowed", "ssh.dns"}
    scan = admin.post(f"{API}/hosts/scan-key", json={"address": address, "port": port})
    assert scan.status_code == 422 and scan.json()["key"] in {"ssh.not_allowed", "ssh.dns"}


def test_without_rules_not_even_this_machine(as_, server: Sshd) -> None:
    answer = as_("admin").post(f"{API}/hosts", json=body_of(server))
    assert answer.status_code == 422 and answer.json()["key"] == "ssh.not_allowed"


def test_a_banner_is_never_repeated(admin, tmp_path: Path) -> None:
    import socket
    import threading

    listener = socket.create_server(("127.0.0.1", 0))

    def speak() -> None:
        peer, _ = listener.accept()
        peer.sendall(b"220 secret internal banner ready\r\n")
        peer.close()

    thread = threading.Thread(target=speak)
    thread.start()
    port = listener.getsockname()[1]
    answer = admin.post(f"{API}/hosts/scan-key", json={"address": "127.0.0.1", "port": port})
    thread.join()
    listener.close()
    assert answer.status_code == 422 and "internal" not in answer.text


CREDENTIALS = [
    ({"kind": "key"}, "credential.wrong_fields"),
    ({"kind": "key", "private_key": "rubbish"}, "credential.key_unreadable"),
    ({"kind": "key", "private_key": "x", "password": "y"}, "credential.wrong_fields"),
    ({"kind": "password"}, "credential.wrong_fields"),
    ({"kind": "generated_key", "password": "x"}, "credential.wrong_fields"),
    ({"kind": "agent", "private_key": "x"}, "credential.wrong_fields"),
]


@pytest.mark.parametrize(("given", "key"), CREDENTIALS)
def test_credentials_that_make_no_sense(admin, given: dict[str, str], key: str) -> None:
    answer = admin.post(f"{API}/credentials", json={"name": "c", **given})
    assert answer.status_code == 422 and answer.json()["key"] == key


def keygen(path: Path, *options: str) -> str:
    subprocess.run(["ssh-keygen", "-q", "-f", path, *options], check=True)
    return path.read_text()


def test_keys_of_all_kinds_and_passphrases(admin, tmp_path: Path) -> None:
    for kind in ("ed25519", "ecdsa", "rsa"):
        plain = keygen(tmp_path / kind, "-t", kind, "-N", "")
        made = admin.post(f"{API}/credentials", json={"name": kind, "kind": "key", "private_key": plain})
        assert made.status_code == 201, made.text
        line = subprocess.run(
            ["ssh-keygen", "-lf", tmp_path / kind], check=True, capture_output=True, text=True
        ).stdout
        assert made.json()["public"]["fingerprint"] in line
    for form in ((), ("-m", "PEM")):
        path = tmp_path / f"locked{len(form)}"
        locked = keygen(path, "-t", "rsa", "-N", "open sesame", *form)
        body = {"name": path.name, "kind": "key", "private_key": locked}
        assert admin.post(f"{API}/credentials", json=body).json()["key"] == "credential.passphrase"
        wrong = admin.post(f"{API}/credentials", json=body | {"passphrase": "wrong"})
        assert wrong.json()["key"] in {"credential.passphrase", "credential.key_unreadable"}
        assert admin.post(f"{API}/credentials", json=body | {"passphrase": "open sesame"}).status_code == 201
    weak = keygen(tmp_path / "weak", "-t", "rsa", "-b", "1024", "-N", "")
    answer = admin.post(f"{API}/credentials", json={"name": "w", "kind": "key", "private_key": weak})
    assert answer.json()["key"] == "credential.key_weak"


def test_a_generated_key_opens_the_host_once_its_line_is_pasted(admin, db: Database, tmp_path: Path) -> None:
    with sshd(tmp_path / "fresh") as running:
        host = admin.post(f"{API}/hosts", json=body_of(running, credential={"kind": "generated_key"})).json()
        with pytest.raises(SshError, match="auth_failed"):
            opened(db, host["id"])
        line = host["credential"]["authorized_keys_line"]
        assert line.startswith("restrict ssh-ed25519 ")
        with (running.directory / "authorized_keys").open("a") as file:
            file.write(line + "\n")
        assert opened(db, host["id"]) == "root"


def test_a_certificate_opens_a_host_that_trusts_its_authority(admin, db: Database, tmp_path: Path) -> None:
    keygen(tmp_path / "ca", "-t", "ed25519", "-N", "")
    key = keygen(tmp_path / "user", "-t", "ed25519", "-N", "")
    other = keygen(tmp_path / "another", "-t", "ed25519", "-N", "")
    subprocess.run(
        [
            "ssh-keygen",
            "-q",
            "-s",
            tmp_path / "ca",
            "-I",
            "joe",
            "-n",
            "root",
            "-V",
            "+1h",
            tmp_path / "user.pub",
        ],
        check=True,
    )
    certificate = (tmp_path / "user-cert.pub").read_text()
    given = {"kind": "certificate", "private_key": key, "certificate": certificate}
    with sshd(tmp_path / "ca-host", options=(f"TrustedUserCAKeys {tmp_path / 'ca.pub'}",)) as running:
        host = admin.post(f"{API}/hosts", json=body_of(running, credential=given))
        assert host.status_code == 201, host.text
        assert opened(db, host.json()["id"]) == "root"
    for bad, reason in (
        (given | {"private_key": other}, "credential.certificate_of_another_key"),
        (given | {"certificate": "rubbish"}, "credential.certificate_unreadable"),
        (given | {"certificate": (tmp_path / "user.pub").read_text()}, "credential.certificate_unreadable"),
    ):
        assert admin.post(f"{API}/credentials", json={"name": "x", **bad}).json()["key"] == reason


def test_a_jump_host_is_gone_over(admin, server: Sshd, other: Sshd, db: Database) -> None:
    jump = admin.post(f"{API}/hosts", json=body_of(other, name="bastion")).json()
    shown = admin.post(
        f"{API}/hosts/scan-key",
        json={"address": server.address, "port": server.port, "jump_host_id": jump["id"]},
    ).json()
    assert shown["fingerprint"] == server.host_key.fingerprint
    behind = admin.post(f"{API}/hosts", json=body_of(server, jump_host_id=jump["id"])).json()
    assert behind["jump_host"] == {"id": jump["id"], "name": "bastion"}
    before = other.log.count("Accepted publickey")
    assert opened(db, behind["id"]) == "root"
    assert other.log.count("Accepted publickey") == before + 1
    circle = admin.patch(f"{API}/hosts/{jump['id']}", json={"jump_host_id": behind["id"]})
    assert circle.json()["key"] == "host.jump_circle"
    itself = admin.patch(f"{API}/hosts/{jump['id']}", json={"jump_host_id": jump["id"]})
    assert itself.json()["key"] == "host.jump_circle"
    assert admin.delete(f"{API}/hosts/{jump['id']}").json()["key"] == "host.is_jump_host"
    assert admin.patch(f"{API}/hosts/{behind['id']}", json={"no_jump_host": True}).json()["jump_host"] is None
    assert admin.delete(f"{API}/hosts/{jump['id']}").status_code == 204


def test_sudo_with_a_password(admin, server: Sshd, db: Database) -> None:
    body = body_of(server, sudo="password")
    assert admin.post(f"{API}/hosts", json=body).json()["key"] == "host.sudo_password_needed"
    host = admin.post(f"{API}/hosts", json=body | {"sudo_password": "hunter2"}).json()
    with db.sessions() as session:
        assert sudo_password(session.get_one(Host, host["id"])) == "hunter2"
    changed = admin.patch(f"{API}/hosts/{host['id']}", json={"sudo": "nopasswd"})
    assert changed.json()["sudo"] == "nopasswd"
    with db.sessions() as session:
        assert sudo_password(session.get_one(Host, host["id"])) is None


def test_names_are_taken_once_and_free_again_after_retiring(admin, server: Sshd) -> None:
    host = admin.post(f"{API}/hosts", json=body_of(server)).json()
    assert admin.post(f"{API}/hosts", json=body_of(server)).json()["key"] == "host.name_taken"
    assert admin.delete(f"{API}/hosts/{host['id']}").status_code == 204
    assert admin.get(f"{API}/hosts").json()["items"] == []
    assert admin.get(f"{API}/hosts", params={"state": "retired"}).json()["items"][0]["id"] == host["id"]
    assert admin.post(f"{API}/hosts", json=body_of(server)).status_code == 201
    assert admin.post(f"{API}/hosts/{host['id']}/check").json()["key"] == "host.not_active"


def test_a_credential_in_use_stays(admin, server: Sshd) -> None:
    host = admin.post(f"{API}/hosts", json=body_of(server)).json()
    path = f"{API}/credentials/{host['credential']['id']}"
    assert admin.delete(path).json()["key"] == "credential.in_use"
    admin.delete(f"{API}/hosts/{host['id']}")
    assert admin.delete(path).status_code == 204
    assert admin.get(f"{API}/hosts/{host['id']}").json()["credential"] is None


def test_scope_hides_hosts_from_lists_and_addresses(admin, server: Sshd, as_) -> None:
    feed = admin.post(f"{API}/hosts", json=body_of(server)).json()
    ads = admin.post(f"{API}/hosts", json=body_of(server, name="ads1", labels={"role": "ads"})).json()
    scoped = as_("scoped")
    assert [one["name"] for one in scoped.get(f"{API}/hosts").json()["items"]] == ["web1"]
    assert scoped.get(f"{API}/hosts/{feed['id']}").status_code == 200
    for method, path in (("GET", ""), ("GET", "/preflight"), ("POST", "/check"), ("DELETE", "")):
        answer = scoped.request(method, f"{API}/hosts/{ads['id']}{path}")
        assert answer.status_code == 404 and answer.json()["key"] == "host.not_found"


def test_lists_are_searched_filtered_and_paged(admin, db: Database) -> None:
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
        names += [one["name"] for one in page["items"]]
        cursor = page["next"]
    assert names == [f"h{n}_x" for n in range(6, -1, -1)] and cursor is None
    found = admin.get(f"{API}/hosts", params={"label": ["role:feed", "dc:a:b"]}).json()["items"]
    assert len(found) == 3
    assert len(admin.get(f"{API}/hosts", params={"q": "H3_"}).json()["items"]) == 1
    assert admin.get(f"{API}/hosts", params={"q": "%"}).json()["items"] == []
    assert admin.get(f"{API}/hosts", params={"label": "nocolon"}).status_code == 422
    for bad in ("x", "bnVsbA", "e30", "MQ", "A" * 300):
        assert admin.get(f"{API}/hosts", params={"cursor": bad}).json()["key"] == "request.cursor_unreadable"


def test_a_check_is_asked_for_once(admin, server: Sshd, db: Database, as_) -> None:
    host = admin.post(f"{API}/hosts", json=body_of(server)).json()
    assert admin.get(f"{API}/hosts/{host['id']}/preflight").json()["key"] == "host.no_preflight"
    assert as_("viewer").post(f"{API}/hosts/{host['id']}/check").status_code == 403
    first = as_("investigator").post(f"{API}/hosts/{host['id']}/check")
    assert first.status_code == 202 and first.json()["state"] == "queued"
    assert admin.post(f"{API}/hosts/{host['id']}/check").json()["id"] == first.json()["id"]
    assert admin.get(f"{API}/hosts/{host['id']}/preflight").json()["id"] == first.json()["id"]
    with db.sessions() as session:
        assert len(session.scalars(select(Preflight)).all()) == 1


def test_many_hosts_with_a_verdict_for_each(admin, server: Sshd, other: Sshd, db: Database) -> None:
    credential = admin.post(f"{API}/credentials", json={"name": "c", "kind": "agent"}).json()
    admin.post(f"{API}/hosts", json=body_of(server, name="there"))
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
    hosts = {one["name"]: one for one in admin.get(f"{API}/hosts").json()["items"]}
    assert hosts["good"]["host_key"]["fingerprint"] == other.host_key.fingerprint
    assert hosts["behind"]["jump_host"]["name"] == "good" and hosts["behind"]["host_key"] is None
    again = admin.post(f"{API}/hosts/import", json=body | {"dry_run": False}).json()
    assert again["added"] == 0


def test_a_rule_that_is_taken_away_closes_the_door(admin, server: Sshd, db: Database) -> None:
    host = admin.post(f"{API}/hosts", json=body_of(server)).json()
    for rule in admin.get(f"{API}/network-rules").json()["items"]:
        assert admin.delete(f"{API}/network-rules/{rule['id']}").status_code == 204
    answer = admin.post(
        f"{API}/hosts/{host['id']}/pin",
        json={"fingerprint": server.host_key.fingerprint, "reason": "again"},
    )
    assert answer.json()["key"] == "ssh.not_allowed"


@pytest.mark.parametrize(
    "cidr", ["", "10.0.0.1/8", "10.0.0.0/33", "host", "10.0.0.0/8; DROP", "0x0/0", "::1/129"]
)
def test_rules_are_networks(admin, cidr: str) -> None:
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
def test_fields_hold_only_what_they_should(admin, server: Sshd, field: str, value: object) -> None:
    answer = admin.post(f"{API}/hosts", json=body_of(server) | {field: value})
    assert answer.status_code == 422 and answer.json()["key"] == "request.invalid"
    assert server.client_key not in answer.text
