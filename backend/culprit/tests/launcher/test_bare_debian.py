"""`./culprit up` on a Debian 12 with only python3, from a clone, up to the first login."""

from __future__ import annotations

import json
import os
import re
import shlex
import shutil
import signal
import subprocess
import tempfile
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import pytest
from culprit.launcher.install import fetch_uv
from culprit.launcher.install.apt_packages import find_program
from culprit.launcher.paths import ROOT
from culprit.launcher.supervision import process_guardian
from culprit.launcher.supervision.child_processes import is_alive

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(
        os.geteuid() != 0 or find_program("debootstrap") is None, reason="apt-get install debootstrap"
    ),
]
MIRROR = "http://deb.debian.org/debian"
READY_S = 400
PORT = 8977


@pytest.fixture
def bare() -> Iterator[Path]:
    """Create a root file system with debootstrap and a clone of this repository in /srv/culprit."""
    base = Path(tempfile.mkdtemp(prefix="culprit-bare-"))
    base.chmod(0o755)
    root = base / "root"
    try:
        command = ["debootstrap", "--variant=minbase", "--include=python3", "bookworm", str(root), MIRROR]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL)
        subprocess.run(["git", "clone", "-q", "--no-hardlinks", ROOT, root / "srv/culprit"], check=True)
        shutil.copy("/etc/resolv.conf", root / "etc/resolv.conf")
        assert not (root / "usr/bin/pip3").exists()
        assert not (root / "usr/sbin/sshd").exists()
        yield root
    finally:
        shutil.rmtree(base)


def inside(root: Path, command: str) -> list[str]:
    """Return `command` wrapped to run in the root file system, with mounts that end with it."""
    quoted = shlex.quote(str(root))
    env = "PATH=/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin HOME=/root"
    named = fetch_uv.find_certificates(os.environ)
    if named:  # a network that inspects TLS needs its own certificate authority
        shutil.copy(named, root / "srv/ca.pem")
        env += " SSL_CERT_FILE=/srv/ca.pem"
    script = (
        f"mount --make-rprivate / && mount --bind {quoted} {quoted} && mount -t proc proc {quoted}/proc && mount --rbind /sys {quoted}/sys && "
        f"mount --rbind /dev {quoted}/dev && mount -t tmpfs tmpfs {quoted}/run && "
        f"exec chroot {quoted} env -i {env} {command}"
    )
    return ["unshare", "-m", "sh", "-c", script]


def test_up_on_a_bare_debian(bare: Path) -> None:
    before = {name: (bare / name).stat().st_mtime_ns for name in ("etc/passwd", "var/lib/dpkg/status")}
    log = bare.parent / "up.log"
    command = f"/srv/culprit/culprit up --listen 127.0.0.1:{PORT} --timings /srv/timings.json"
    with log.open("wb") as output:
        process = subprocess.Popen(
            inside(bare, command),
            stdout=output,
            stderr=output,
            stdin=subprocess.DEVNULL,
            start_new_session=True,
        )
    try:
        deadline = time.monotonic() + READY_S
        while "Culprit is ready" not in log.read_text():
            assert process.poll() is None, log.read_text()
            assert time.monotonic() < deadline, log.read_text()
            time.sleep(0.5)
        text = log.read_text()
        assert "This machine was added as the first host." in text, text
        assert re.search(r"Fetching openssh-server, linux-perf, sysstat, numactl", text), text
        cli = json.loads((bare / "srv/culprit/.culprit/cli.json").read_text())
        headers = {"Authorization": f"Bearer {cli['token']}"}
        request = urllib.request.Request(f"http://127.0.0.1:{PORT}/api/v1/hosts", headers=headers)
        with urllib.request.urlopen(request, timeout=30) as answer:
            assert len(json.load(answer)["items"]) == 1
        with urllib.request.urlopen(f"http://127.0.0.1:{PORT}/", timeout=30) as answer:
            assert "<!doctype html" in answer.read().decode().lower()
        for name, changed in before.items():
            assert (bare / name).stat().st_mtime_ns == changed, name
        assert not (bare / "usr/sbin/sshd").exists()
        assert not (bare / "run/sshd").exists()
        print((bare / "srv/timings.json").read_text())
        below = {process.pid, *process_guardian.list_descendants(process.pid)}
        os.killpg(process.pid, signal.SIGINT)
        assert process.wait(60) == 0
        assert [pid for pid in below if is_alive(pid)] == []
    finally:
        for pid in process_guardian.list_descendants(process.pid):
            os.kill(pid, signal.SIGKILL)
        process.kill()
        process.wait()
