"""Requirements, the announcement before the installation, and the public address."""

from __future__ import annotations

import os
import platform as stdlib_platform
import shutil
import socket
import subprocess
from collections import namedtuple
from pathlib import Path

import pytest
from culprit.launcher.install import requirements
from culprit.launcher.paths import ROOT
from culprit.launcher.progress import LauncherError, Progress


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("127.0.0.1", ("127.0.0.1", 8040, False)),
        ("0.0.0.0:9000", ("0.0.0.0", 9000, True)),
        (":9000", ("127.0.0.1", 9000, True)),
        ("[::1]:9000", ("::1", 9000, True)),
        ("[::1]", ("::1", 8040, False)),
        ("example.internal:80", ("example.internal", 80, True)),
    ],
)
def test_listen(text: str, expected: tuple[str, int, bool]) -> None:
    assert requirements.parse_listen(text, 8040) == expected


@pytest.mark.parametrize(
    "text", ["1.2.3.4:0", "1.2.3.4:99999", "a b", "host:port", "[::1", "1:2:3:4:5:6:7:8:x"]
)
def test_listen_refuses(text: str) -> None:
    with pytest.raises(LauncherError, match="--listen"):
        requirements.parse_listen(text, 8040)


def test_the_way_in_for_who_came_by_ssh() -> None:
    came = {"SSH_CONNECTION": "198.51.100.7 50000 203.0.113.9 2222"}
    line = requirements.format_tunnel_command(came, "ada", 8040)
    assert line == "ssh -L 8040:127.0.0.1:8040 -p 2222 ada@203.0.113.9"
    plain = requirements.format_tunnel_command(
        {"SSH_CONNECTION": "198.51.100.7 50000 203.0.113.9 22"}, "ada", 9
    )
    assert plain == "ssh -L 9:127.0.0.1:9 ada@203.0.113.9"
    assert requirements.format_tunnel_command({}, "ada", 8040) is None


def test_machine_summary_lists_resources(tmp_path: Path) -> None:
    line = requirements.describe_needs(tmp_path, tmp_path / "home", installed=False, has_data=False)
    assert "\n" not in line
    assert f"{requirements.DISK_INSTALL_MB} MB of disk" in line
    assert f"{requirements.MEMORY_MB} MB of memory" in line
    again = requirements.describe_needs(tmp_path, tmp_path / "home", installed=True, has_data=True)
    assert "for packages" not in again


def test_refuses_a_full_disk(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(1 << 30, 1 << 30, 5 << 20))
    with pytest.raises(LauncherError, match="only 5 MB are free"):
        requirements.describe_needs(tmp_path, tmp_path, installed=False, has_data=False)


@pytest.mark.parametrize(("machine", "name"), [("riscv64", "riscv64"), ("i686", "i686")])
def test_refuses_other_processors(machine: str, name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib_platform, "machine", lambda: machine)
    with pytest.raises(LauncherError, match=name):
        requirements.get_architecture()


def test_accepts_arm64(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib_platform, "machine", lambda: "aarch64")
    assert requirements.get_architecture() == "aarch64"


def test_refuses_musl(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(stdlib_platform, "libc_ver", lambda: ("", ""))
    with pytest.raises(LauncherError, match="glibc"):
        requirements.check_requirements()


def test_script_without_python_fails_in_a_single_line(tmp_path: Path) -> None:
    """A checkout without .venv, and an old python3 only, in the PATH and as that of the system."""
    for name in ("sh", "dirname", "readlink", "env", "cat"):
        (tmp_path / name).symlink_to(str(shutil.which(name)))
    old = tmp_path / "python3"
    old.write_text('#!/bin/sh\n[ "$1" = --version ] && echo Python 3.10.12 && exit\nexit 1\n')
    old.chmod(0o755)
    script = tmp_path / "checkout" / "culprit"
    script.parent.mkdir()
    script.write_text((ROOT / "culprit").read_text("utf-8").replace("/usr/bin/", f"{tmp_path}/"), "utf-8")
    done = subprocess.run(
        [tmp_path / "sh", script, "up"],
        env={"PATH": str(tmp_path)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 2
    assert done.stderr.count("\n") == 1
    assert "found Python 3.10.12" in done.stderr
    assert "apt-get install python3.11" in done.stderr


def test_culprit_bench_lists_benchmarks() -> None:
    listed = subprocess.run([ROOT / "culprit", "bench"], capture_output=True, text=True, check=True).stdout
    names = {line.split()[0] for line in listed.splitlines()[1:]}
    assert names >= {"cost", "fanout", "profile", "redraw", "start", "timeline"}
    assert "platforms" not in names
    unknown = subprocess.run([ROOT / "culprit", "bench", "c.st"], capture_output=True, text=True, check=False)
    assert (unknown.returncode, unknown.stderr.count("\n")) == (2, 1)


def test_free_ports() -> None:
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        assert requirements.find_free_port("127.0.0.1", port) is None
        assert requirements.find_free_port("127.0.0.1", port, tries=50) not in {None, port}
    assert requirements.find_free_port("127.0.0.1", 0)


def test_an_address_for_others() -> None:
    assert requirements.find_outward_address()


def test_progress_keeps_seconds(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    progress = Progress()
    with progress.phase("quick", "Doing"):
        pass
    progress.record_phase("slow", 3.0)
    progress.write(tmp_path / "t.json")
    assert '"slow": 3.0' in (tmp_path / "t.json").read_text()
    out = capsys.readouterr().out
    assert "Doing …" in out
    assert "slow: done in 3.0 s" in out


def test_node_versions(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, text in (("node", "echo v22.11.0"), ("npm", "true")):
        (tmp_path / name).write_text(f"#!/bin/sh\n{text}\n")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path))
    assert requirements.find_system_node() is None
    (tmp_path / "node").write_text("#!/bin/sh\necho v22.12.0\n")
    assert requirements.find_system_node() == tmp_path
    assert requirements.read_node_version(tmp_path / "npm") is None
    assert os.environ["PATH"] == str(tmp_path)
