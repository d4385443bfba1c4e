"""Debian packages that are unpacked and not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from culprit.launcher.install import apt_packages, requirements
from culprit.launcher.install.apt_packages import PACKAGES, Packages
from culprit.launcher.local_host import tools as local_host
from culprit.launcher.progress import Progress

DEBIAN = requirements.read_distribution() in {"debian", "ubuntu"}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not DEBIAN, reason="apt as root on Debian or Ubuntu")


def dpkg_state() -> list[tuple[str, int]]:
    """Return names and times of the records of dpkg and apt."""
    files = [Path("/var/lib/dpkg/status"), *sorted(Path("/var/lib/apt/lists").glob("*_*Packages*"))]
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.exists()]


@AS_ROOT
@pytest.mark.skipif(shutil.which("hello") is not None, reason="the package hello is installed")
def test_fetches_unpacks_and_wraps_without_touching_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small package, with private package lists, as on an image without any."""
    monkeypatch.setattr(apt_packages, "LISTS", tmp_path / "no-lists")
    before = dpkg_state()
    packages = Packages(tmp_path / "with space's")
    assert list(packages.fetch({"hello": "hello", "x": "no-such-package-culprit"})) == ["x"]
    done = subprocess.run([packages.bin / "hello"], capture_output=True, text=True, check=True)
    assert done.stdout == "Hello, world!\n"
    assert dpkg_state() == before
    assert shutil.which("hello") is None
    assert not packages.archives.exists()
    assert not packages.lists.exists()


@AS_ROOT
def test_a_package_that_no_archive_has(tmp_path: Path) -> None:
    packages = Packages(tmp_path)
    errors = packages.fetch({"x": "no-such-package-culprit"})
    assert str(errors["x"]) == "Unable to locate package no-such-package-culprit"


def unpacked(root: Path) -> Packages:
    """Create a tree as after unpacking, with one program."""
    packages = Packages(root)
    for folder in (
        "usr/bin",
        "usr/lib/x86_64-linux-gnu",
        "lib/x86_64-linux-gnu",
        "usr/lib/linux-tools-6.8.0-9",
    ):
        (packages.tree / folder).mkdir(parents=True)
    (packages.tree / "usr/lib/linux-tools-6.8.0-10").mkdir()
    program = packages.tree / "usr/bin/numastat"
    program.write_text('#!/bin/sh\necho "$LD_LIBRARY_PATH|$1"\n')
    program.chmod(0o755)
    return packages


def test_a_wrapper_sets_libraries_for_its_program_alone(tmp_path: Path) -> None:
    packages = unpacked(tmp_path / "with space's")
    packages._write_wrappers(["numastat", "sshd"])
    assert sorted(path.name for path in packages.bin.iterdir()) == ["numastat"]
    done = subprocess.run([packages.bin / "numastat", "a b"], capture_output=True, text=True, check=True)
    libraries, argument = done.stdout.rstrip("\n").split("|")
    assert argument == "a b"
    assert str(packages.tree / "usr/lib/x86_64-linux-gnu") in libraries.split(":")


def test_newest_real_perf_of_ubuntu_is_chosen(tmp_path: Path) -> None:
    packages = unpacked(tmp_path)
    (packages.tree / "usr/bin/perf").write_text("#!/bin/bash\necho a stub\n")
    for version in ("9", "10"):
        (packages.tree / f"usr/lib/linux-tools-6.8.0-{version}/perf").write_bytes(b"\x7fELF\0")
    assert packages.program("perf") == packages.tree / "usr/lib/linux-tools-6.8.0-10/perf"
    assert packages.program("sshd") is None


def test_names_of_packages(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(apt_packages, "is_working", lambda _: False)
    monkeypatch.setattr(requirements, "read_distribution", lambda: "debian")
    packages = {"openssh-server", "linux-perf", "sysstat", "numactl"}
    assert set(apt_packages.list_missing_tools().values()) == packages
    monkeypatch.setattr(requirements, "read_distribution", lambda: "ubuntu")
    assert "linux-tools-generic" in apt_packages.list_missing_tools().values()


@pytest.mark.parametrize(("uid", "distribution"), [(1000, "debian"), (0, "fedora")])
def test_missing_packages_are_reported_with_remedy(
    uid: int,
    distribution: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(requirements, "read_distribution", lambda: distribution)
    tools = {tool: PACKAGES[tool] for tool in ("numastat", "sshd")}
    local_host.unpack_tools(Packages(tmp_path), tools, Progress())
    out = capsys.readouterr().out
    assert out.count("\n") == 1
    sudo = "sudo " if uid else ""
    assert (
        f"Missing on this machine: numastat, sshd. Continuing without. To install: {sudo}apt-get install"
        in out
    )
