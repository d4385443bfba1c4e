"""Credentials, jump hosts and sudo over HTTP, against a real sshd."""

from __future__ import annotations

import subprocess
from pathlib import Path

import pytest
from culprit.hosts.access import get_sudo_password
from culprit.infra.db.session import Database
from culprit.infra.models.hosts.host import Host
from culprit.infra.ssh.errors import SshError
from culprit.tests.support.host_requests import API, build_host_body, get_login_name
from culprit.tests.support.sshd import Sshd, sshd

pytestmark = pytest.mark.long(25)


CREDENTIALS = [
    ({"kind": "key"}, "credential.wrong_fields"),
    ({"kind": "key", "private_key": "rubbish"}, "credential.key_unreadable"),
    ({"kind": "key", "private_key": "x", "password": "y"}, "credential.wrong_fields"),
    ({"kind": "password"}, "credential.wrong_fields"),
    ({"kind": "generated_key", "password": "x"}, "credential.wrong_fields"),
    ({"kind": "agent", "private_key": "x"}, "credential.wrong_fields"),
]


@pytest.mark.parametrize(("fields", "key"), CREDENTIALS)
def test_create_credential_refuses_wrong_fields(admin, fields: dict[str, str], key: str) -> None:
    answer = admin.post(f"{API}/credentials", json={"name": "c", **fields})
    assert answer.status_code == 422 and answer.json()["key"] == key


def keygen(path: Path, *options: str) -> str:
    subprocess.run(["ssh-keygen", "-q", "-f", path, *options], check=True)
    return path.read_text()


def test_create_credential_reads_key_types_and_passphrases(admin, tmp_path: Path) -> None:
    for kind in ("ed25519", "ecdsa", "rsa"):
        plain = keygen(tmp_path / kind, "-t", kind, "-N", "")
        result = admin.post(f"{API}/credentials", json={"name": kind, "kind": "key", "private_key": plain})
        assert result.status_code == 201, result.text
        line = subprocess.run(
            ["ssh-keygen", "-lf", tmp_path / kind], check=True, capture_output=True, text=True
        ).stdout
        assert result.json()["public"]["fingerprint"] in line
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


def test_generated_key_logs_in_after_its_line_is_added(admin, db: Database, tmp_path: Path) -> None:
    with sshd(tmp_path / "fresh") as running:
        host = admin.post(
            f"{API}/hosts", json=build_host_body(running, credential={"kind": "generated_key"})
        ).json()
        with pytest.raises(SshError, match="auth_failed"):
            get_login_name(db, host["id"])
        line = host["credential"]["authorized_keys_line"]
        assert line.startswith("restrict ssh-ed25519 ")
        with (running.directory / "authorized_keys").open("a") as file:
            file.write(line + "\n")
        assert get_login_name(db, host["id"]) == "root"


def test_certificate_logs_in_to_host_that_trusts_its_authority(admin, db: Database, tmp_path: Path) -> None:
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
    supplied = {"kind": "certificate", "private_key": key, "certificate": certificate}
    with sshd(tmp_path / "ca-host", options=(f"TrustedUserCAKeys {tmp_path / 'ca.pub'}",)) as running:
        host = admin.post(f"{API}/hosts", json=build_host_body(running, credential=supplied))
        assert host.status_code == 201, host.text
        assert get_login_name(db, host.json()["id"]) == "root"
    for bad, reason in (
        (supplied | {"private_key": other}, "credential.certificate_of_another_key"),
        (supplied | {"certificate": "rubbish"}, "credential.certificate_unreadable"),
        (
            supplied | {"certificate": (tmp_path / "user.pub").read_text()},
            "credential.certificate_unreadable",
        ),
    ):
        assert admin.post(f"{API}/credentials", json={"name": "x", **bad}).json()["key"] == reason


def test_host_is_reached_through_jump_host(admin, server: Sshd, other: Sshd, db: Database) -> None:
    jump = admin.post(f"{API}/hosts", json=build_host_body(other, name="bastion")).json()
    displayed = admin.post(
        f"{API}/host-key-scans",
        json={"address": server.address, "port": server.port, "jump_host_id": jump["id"]},
    ).json()
    assert displayed["fingerprint"] == server.host_key.fingerprint
    behind = admin.post(f"{API}/hosts", json=build_host_body(server, jump_host_id=jump["id"])).json()
    assert behind["jump_host"] == {"id": jump["id"], "name": "bastion"}
    before = other.log.count("Accepted publickey")
    assert get_login_name(db, behind["id"]) == "root"
    assert other.log.count("Accepted publickey") == before + 1
    circle = admin.patch(f"{API}/hosts/{jump['id']}", json={"jump_host_id": behind["id"]})
    assert circle.json()["key"] == "host.jump_circle"
    itself = admin.patch(f"{API}/hosts/{jump['id']}", json={"jump_host_id": jump["id"]})
    assert itself.json()["key"] == "host.jump_circle"
    assert admin.delete(f"{API}/hosts/{jump['id']}").json()["key"] == "host.is_jump_host"
    assert admin.patch(f"{API}/hosts/{behind['id']}", json={"no_jump_host": True}).json()["jump_host"] is None
    assert admin.delete(f"{API}/hosts/{jump['id']}").status_code == 204


def test_sudo_password_is_stored_and_removed(admin, server: Sshd, db: Database) -> None:
    body = build_host_body(server, sudo="password")
    assert admin.post(f"{API}/hosts", json=body).json()["key"] == "host.sudo_password_needed"
    host = admin.post(f"{API}/hosts", json=body | {"sudo_password": "hunter2"}).json()
    with db.sessions() as session:
        assert get_sudo_password(session.get_one(Host, host["id"])) == "hunter2"
    changed = admin.patch(f"{API}/hosts/{host['id']}", json={"sudo": "nopasswd"})
    assert changed.json()["sudo"] == "nopasswd"
    with db.sessions() as session:
        assert get_sudo_password(session.get_one(Host, host["id"])) is None


def test_delete_credential_refuses_credential_in_use(admin, server: Sshd) -> None:
    host = admin.post(f"{API}/hosts", json=build_host_body(server)).json()
    path = f"{API}/credentials/{host['credential']['id']}"
    assert admin.delete(path).json()["key"] == "credential.in_use"
    admin.delete(f"{API}/hosts/{host['id']}")
    assert admin.delete(path).status_code == 204
    assert admin.get(f"{API}/hosts/{host['id']}").json()["credential"] is None
