"""The private sshd: logins, sessions, and replacements for what a machine lacks."""

from __future__ import annotations

import os
import shutil
import stat
import subprocess
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest
from culprit.launcher.engines import engine_paths
from culprit.launcher.install.apt_packages import Packages, find_program
from culprit.launcher.local_host import sshd as local_sshd
from culprit.launcher.local_host.sshd import SshdProcess

pytestmark = pytest.mark.skipif(find_program("sshd") is None, reason="apt-get install openssh-server")
ROOT_ONLY = pytest.mark.skipif(os.geteuid() != 0, reason="mounts are for root")


@contextmanager
def served(sshd: SshdProcess, log: Path) -> Iterator[None]:
    """Run the sshd."""
    sshd.log_path = log
    sshd.restart(0)
    try:
        deadline = time.monotonic() + 20
        while not sshd.is_ready():
            assert sshd.pid and time.monotonic() < deadline, log.read_text()
            time.sleep(0.05)
        yield
    finally:
        sshd.stop()


def login(prepared: SshdProcess, key: Path, command: str, *options: str) -> subprocess.CompletedProcess[str]:
    """Run `ssh` with only this key and this host key."""
    known = prepared.host_public_key.with_name("known_hosts")
    parts = prepared.host_public_key.read_text().split()
    known.write_text(f"[127.0.0.1]:{prepared.port} {parts[0]} {parts[1]}\n")
    base = ["ssh", "-F", "none", "-i", str(key), "-o", f"UserKnownHostsFile={known}", "-o", "BatchMode=yes"]
    base += [
        "-o",
        "IdentitiesOnly=yes",
        "-o",
        "StrictHostKeyChecking=yes",
        "-o",
        "IdentityAgent=none",
        *options,
    ]
    return subprocess.run(
        [*base, "-p", str(prepared.port), f"{prepared.user}@127.0.0.1", command],
        capture_output=True, text=True, check=False, timeout=30,
    )  # fmt: skip


def test_lets_in_its_own_key_alone_and_offers_unpacked_tools(tmp_path: Path) -> None:
    packages = Packages(tmp_path / "packages")
    packages.bin.mkdir(parents=True)
    (packages.bin / "culprit-probe").write_text("#!/bin/sh\necho found\n")
    (packages.bin / "culprit-probe").chmod(0o755)
    prepared = local_sshd.prepare_sshd(tmp_path / "sshd", packages)
    assert prepared is not None
    assert stat.S_IMODE(prepared.client_key.stat().st_mode) == 0o600
    with served(prepared, tmp_path / "log"):
        done = login(prepared, prepared.client_key, "PATH=$PATH; culprit-probe; id -un; exit 3")
        assert done.returncode == 3, done.stderr
        assert done.stdout.split() == ["found", prepared.user]
        stranger = tmp_path / "stranger"
        subprocess.run(["ssh-keygen", "-q", "-t", "ed25519", "-N", "", "-f", stranger], check=True)
        assert login(prepared, stranger, "true").returncode == 255
        forward = login(
            prepared,
            prepared.client_key,
            "true",
            "-o",
            "ExitOnForwardFailure=yes",
            "-R",
            "127.0.0.1:0:127.0.0.1:1",
        )
        assert forward.returncode == 255


def test_keys_and_port_stay_the_same_over_starts(tmp_path: Path) -> None:
    packages = Packages(tmp_path / "packages")
    first = local_sshd.prepare_sshd(tmp_path / "sshd", packages)
    again = local_sshd.prepare_sshd(tmp_path / "sshd", packages)
    other = local_sshd.prepare_sshd(tmp_path / "other", packages)
    assert first and again and other
    assert again.port == first.port
    assert again.host_public_key.read_bytes() == first.host_public_key.read_bytes()
    assert other.host_public_key.read_bytes() != first.host_public_key.read_bytes()


@ROOT_ONLY
def test_private_mounts_show_a_user_and_a_directory(tmp_path: Path) -> None:
    passwd = tmp_path / "passwd"
    passwd.write_text(Path("/etc/passwd").read_text() + "culprit-probe:x:4242:4242::/:/bin/sh\n")
    own = tmp_path / "run"
    own.mkdir()
    before = sorted(path.name for path in Path("/run").iterdir())
    command = [
        *local_sshd.IN_PRIVATE_MOUNTS, "--file", str(passwd), "/etc/passwd", "--run", str(own), "culprit-probe", "--",
        "sh", "-c", "tail -1 /etc/passwd; ls -d /run/culprit-probe; ls /run | wc -l",
    ]  # fmt: skip
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr:
        pytest.skip("this machine allows no mount namespace")
    assert done.returncode == 0, done.stderr
    user, directory, count = done.stdout.split()
    assert user.startswith("culprit-probe:")
    assert directory == "/run/culprit-probe"
    assert int(count) == len([name for name in before if not name.startswith(".")]) + 1
    assert "culprit-probe" not in Path("/etc/passwd").read_text()
    assert sorted(path.name for path in Path("/run").iterdir()) == before
    assert list(own.iterdir()) == []


@ROOT_ONLY
def test_a_machine_without_user_and_directory_gets_them(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """As after unpacking: passwd has no user sshd. The sshd of this machine runs with the private one."""
    packages = Packages(tmp_path / "packages")
    real = Path.read_text

    def without_sshd(path: Path, *arguments: object, **options: object) -> str:
        text = real(path, *arguments, **options)  # type: ignore[arg-type]
        if str(path) == "/etc/passwd":
            return "".join(line for line in text.splitlines(True) if not line.startswith("sshd:"))
        if str(path) == "/etc/shadow":
            return text.replace("root:*", "root:!*")
        return text

    monkeypatch.setattr(Path, "read_text", without_sshd)
    is_dir = Path.is_dir
    monkeypatch.setattr(Path, "is_dir", lambda path: str(path) != "/run/sshd" and is_dir(path))
    prepared = local_sshd.prepare_sshd(tmp_path / "sshd", packages)
    monkeypatch.undo()
    assert prepared is not None
    assert "--run" in prepared.command
    assert stat.S_IMODE((tmp_path / "sshd" / "passwd").stat().st_mode) == 0o644
    with served(prepared, tmp_path / "log"):
        done = login(
            prepared, prepared.client_key, "grep ^sshd: /etc/passwd; ls -d /run/sshd; ls -d /run/lock"
        )
        assert done.returncode == 0, done.stderr + (tmp_path / "log").read_text()
        assert "sshd:x:74:" in done.stdout


def test_a_machine_without_sshd_is_no_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(local_sshd, "find_program", lambda _: None)
    assert local_sshd.prepare_sshd(tmp_path / "sshd", Packages(tmp_path)) is None


def test_places_are_judged_from_the_root_down(tmp_path: Path) -> None:
    if os.geteuid() != 0:
        pytest.skip("judges for another user")
    user = engine_paths.find_server_user()
    assert user is not None
    assert engine_paths.is_reachable(Path("/tmp"), user)
    closed = tmp_path / "closed" / "deep"
    closed.mkdir(parents=True)
    closed.parent.chmod(0o700)
    assert not engine_paths.is_reachable(closed, user)
    shutil.rmtree(closed.parent)
