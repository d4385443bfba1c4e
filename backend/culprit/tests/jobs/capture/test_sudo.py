"""Captures by accounts that are not root: a real sshd with passwords, a real sudo, separate accounts."""

import shutil
import subprocess
import tempfile
from pathlib import Path

import pytest
from culprit.hosts.credentials import seal_credential
from culprit.infra.db.unit_of_work import unit_of_work
from culprit.infra.db.uuid7 import new_uuid7
from culprit.infra.models.hosts.credential import Credential
from culprit.infra.models.hosts.host import Host
from culprit.infra.vault import get_vault
from culprit.tests.support.lab import left_on_host

SUDO = shutil.which("sudo")
PASSWORD = "a pass phrase of ours"
NAME = "culprit-guest"

# The account, its password and its rules exist only in the mount namespace of this sshd.
SETUP = """
cd {place}
cp /etc/passwd /etc/shadow /etc/group .
echo '{name}:x:54321:54321::{place}:/bin/sh' >>passwd
echo '{name}:x:54321:' >>group
echo '{name}:{hash}:19000:0:99999:7:::' >>shadow
printf '%s\\n' 'root ALL=(ALL:ALL) ALL' '{rule}' >sudoers
chown 0:0 sudoers
chmod 440 sudoers
for file in passwd shadow group sudoers; do mount --bind $file /etc/$file; done
mount -t tmpfs tmpfs /etc/sudoers.d
"""


@pytest.fixture
def place():
    """Create a directory that others may enter, unlike those of the test runner."""
    path = Path(tempfile.mkdtemp(prefix="culprit-sudo-", dir="/var/tmp"))
    path.chmod(0o755)
    yield path
    shutil.rmtree(path)


@pytest.fixture
def guest(lab, place):
    """Return guest(rule), which adds the host with `rule` in its sudoers file, by key or by password."""

    def make(rule: str, *, by_password: bool = False, sudo: str = "none", sudo_password: str = ""):
        hashed = subprocess.run(
            ["openssl", "passwd", "-6", PASSWORD], check=True, capture_output=True, text=True
        ).stdout.strip()
        setup = SETUP.format(place=place, name=NAME, hash=hashed, rule=rule)
        keys = place / "authorized_keys"
        options = (f"AuthorizedKeysFile {keys}", f"PasswordAuthentication {'yes' if by_password else 'no'}")
        server = lab.sshd(options=options, setup=setup, username=NAME)
        keys.write_text((server.directory / "client.pub").read_text())
        keys.chmod(0o644)
        host_id = lab.add_host(server, sudo=sudo)
        with unit_of_work(lab.db.sessions) as session:
            host = session.get_one(Host, host_id)
            if by_password:
                host.credential_id = secret(session, "login")
            if sudo_password:
                host.sudo_credential_id = secret(session, "sudo", sudo_password)
        lab.worker()
        return host_id, server

    return make


def secret(session, name: str, password: str = PASSWORD):
    credential = Credential(id=new_uuid7(), name=name, kind="password", public={})
    seal_credential(credential, {"secret": password}, get_vault())
    session.add(credential)
    session.flush()
    return credential.id


pytestmark = [pytest.mark.long(45), pytest.mark.skipif(SUDO is None, reason="apt-get install sudo")]


@pytest.mark.parametrize(
    ("rule", "by_password", "sudo", "sudo_password"),
    [
        pytest.param(
            f"{NAME} ALL=(ALL) NOPASSWD: ALL", False, "nopasswd", "", id="key, sudo without password"
        ),
        pytest.param(f"{NAME} ALL=(ALL) ALL", True, "password", PASSWORD, id="password, sudo with password"),
    ],
)
def test_sudo_makes_a_whole_capture(lab, guest, rule, by_password, sudo, sudo_password):
    host, server = guest(rule, by_password=by_password, sudo=sudo, sudo_password=sudo_password)
    capture = lab.capture(host, collectors=("vmstat", "perf_record"), seconds=2)
    [run] = lab.until_runs(capture, "ingesting", "failed", "partial")
    assert run.failure is None, run.failure
    assert {name: item.state for name, item in lab.collectors(run.id).items()} == {
        "vmstat": "done",
        "perf_record": "done",
    }
    assert f"Accepted {'password' if by_password else 'publickey'} for {NAME}" in server.log
    assert PASSWORD not in server.log + lab.logs()
    lab.until(lambda: not left_on_host(run.id), 30, "a clean host")


@pytest.mark.parametrize(
    ("rule", "sudo", "sudo_password", "failure"),
    [
        pytest.param(
            f"{NAME} ALL=(ALL) ALL", "password", "not this one", "ssh.sudo_password", id="wrong password"
        ),
        pytest.param(f"{NAME} ALL=(ALL) ALL", "nopasswd", "", "ssh.sudo_asks", id="a password is wanted"),
        pytest.param("", "password", PASSWORD, "ssh.sudo_denied", id="not in sudoers"),
    ],
)
def test_refused_sudo_is_reported_with_remedy(lab, guest, rule, sudo, sudo_password, failure):
    host, _ = guest(rule, sudo=sudo, sudo_password=sudo_password)
    [run] = lab.until_runs(lab.capture(host, seconds=2), "failed")
    assert run.failure["key"] == failure
    assert PASSWORD not in str(run.failure) + lab.logs()
    assert not left_on_host(run.id)


def test_without_sudo_what_needs_root_is_left_out_with_the_reason(lab, guest):
    host, _ = guest("")
    capture = lab.capture(host, collectors=("vmstat", "perf_record"), seconds=2)
    [run] = lab.until_runs(capture, "ingesting", "failed", "partial")
    collectors = lab.collectors(run.id)
    assert collectors["vmstat"].state == "done"
    assert collectors["perf_record"].state == "skipped"
    assert collectors["perf_record"].reason["key"] == "reason.perf_not_allowed"
