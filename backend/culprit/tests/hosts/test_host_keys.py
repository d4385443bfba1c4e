"""Host keys over HTTP, against a real sshd: scans, trust and changes."""

from __future__ import annotations

import socket
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from culprit.infra.db.session import Database
from culprit.infra.models.accounts.audit_entry import AuditEntry
from culprit.infra.ssh.errors import SshError
from culprit.tests.support.host_requests import API, build_host_body, get_login_name
from culprit.tests.support.sshd import Sshd
from sqlalchemy import select

pytestmark = pytest.mark.long(25)


@pytest.mark.parametrize("what", ["add", "scan", "trust"])
def test_silent_host_occupies_no_database_connection(admin, app, server: Sshd, what: str) -> None:
    pool = app.state.database.engine.pool
    with socket.create_server(("127.0.0.1", 0)) as silent, ThreadPoolExecutor(1) as other_thread:
        port = silent.getsockname()[1]
        path, body = f"{API}/hosts", build_host_body(server, port=port)
        if what == "scan":
            path, body = f"{API}/host-key-scans", {"address": "127.0.0.1", "port": port}
        if what == "trust":
            result = admin.post(path, json=body | {"host_key_fingerprint": None}).json()
            path, body = (
                f"{path}/{result['id']}/host-key",
                {"fingerprint": server.host_key.fingerprint, "reason": "new"},
            )
        headers = {"Idempotency-Key": "one"} if what == "add" else {}
        send = admin.put if what == "trust" else admin.post
        requested = other_thread.submit(send, path, json=body, headers=headers)
        silent.settimeout(20)
        connection, _ = silent.accept()
        with connection:
            assert not requested.done()
            assert pool.checkedout() == 0
        assert requested.result(20).status_code == 422


def test_scan_host_key_sends_no_login(admin, server: Sshd) -> None:
    before = server.log.count("Connection")
    admin.post(f"{API}/host-key-scans", json={"address": server.address, "port": server.port})
    tail = server.log.splitlines()[-3:]
    assert server.log.count("Connection") > before
    assert not any("Failed" in line or "invalid user" in line for line in tail)


def test_add_host_refuses_unconfirmed_key(admin, server: Sshd, other: Sshd) -> None:
    answer = admin.post(
        f"{API}/hosts", json=build_host_body(server, host_key_fingerprint=other.host_key.fingerprint)
    )
    assert answer.status_code == 409 and answer.json()["key"] == "host.key_differs"
    assert admin.get(f"{API}/hosts").json()["items"] == []
    whole = build_host_body(
        server, host_key=server.host_key.line, host_key_fingerprint=other.host_key.fingerprint
    )
    assert admin.post(f"{API}/hosts", json=whole).json()["key"] == "host.key_differs"


def test_changed_host_key_blocks_login_until_trusted_again(
    admin, server: Sshd, other: Sshd, db: Database
) -> None:
    host = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    key = other.host_key.line
    pinned = admin.put(
        f"{API}/hosts/{host['id']}/host-key",
        json={"fingerprint": other.host_key.fingerprint, "host_key": key, "reason": "reinstalled"},
    )
    assert pinned.json()["host_key"]["fingerprint"] == other.host_key.fingerprint
    with pytest.raises(SshError, match="host_key_changed"):
        get_login_name(db, host["id"])
    wrong = {"fingerprint": other.host_key.fingerprint, "reason": "a guess"}
    assert admin.put(f"{API}/hosts/{host['id']}/host-key", json=wrong).json()["key"] == "host.key_differs"
    right = {"fingerprint": server.host_key.fingerprint, "reason": "checked on the console"}
    assert admin.put(f"{API}/hosts/{host['id']}/host-key", json=right).status_code == 200
    assert get_login_name(db, host["id"]) == "root"
    with db.sessions() as session:
        pins = session.scalars(select(AuditEntry).where(AuditEntry.action == "host.key_trusted")).all()
    assert [entry.detail["reason"] for entry in pins] == ["reinstalled", "checked on the console"]
    assert pins[1].detail["before"] == other.host_key.fingerprint
    assert pins[1].detail["after"] == server.host_key.fingerprint


def test_connect_host_refuses_host_without_trusted_key(admin, server: Sshd, db: Database) -> None:
    body = build_host_body(server)
    del body["host_key_fingerprint"]
    host = admin.post(f"{API}/hosts", json=body).json()
    assert host["host_key"] is None
    before = server.log.count("Accepted")
    with pytest.raises(SshError, match="host_key_missing"):
        get_login_name(db, host["id"])
    assert server.log.count("Accepted") == before


def test_scan_host_key_does_not_return_banner(admin, tmp_path: Path) -> None:
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
    answer = admin.post(f"{API}/host-key-scans", json={"address": "127.0.0.1", "port": port})
    thread.join()
    listener.close()
    assert answer.status_code == 422 and "internal" not in answer.text
