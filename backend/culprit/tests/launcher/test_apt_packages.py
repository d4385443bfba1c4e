"""Packages that are unpacked and not installed."""

from __future__ import annotations

import os
import shutil
import subprocess
from pathlib import Path

import pytest
from culprit.launch import apt_packages, machine, this_host
from culprit.launch.apt_packages import SSHD, WANTED, AptError, Packages, Tool
from culprit.launch.progress import Progress

NUMASTAT = next(tool for tool in WANTED if tool.program == "numastat")
DEBIAN = machine.distribution()[0] in {"debian", "ubuntu"}
AS_ROOT = pytest.mark.skipif(os.geteuid() != 0 or not DEBIAN, reason="apt as root on Debian or Ubuntu")


def dpkg_state() -> list[tuple[str, int]]:
    """Names and times of dpkg's and apt's records."""
    files = [Path("/var/lib/dpkg/status"), *sorted(Path("/var/lib/apt/lists").glob("*_*Packages*"))]
    return [(str(file), file.stat().st_mtime_ns) for file in files if file.exists()]


@AS_ROOT
@pytest.mark.skipif(shutil.which("hello") is not None, reason="the package hello is installed")
def test_fetches_unpacks_and_wraps_without_touching_the_system(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A small package, with lists of our own, as on an image that has none."""
    monkeypatch.setattr(apt_packages, "LISTS", tmp_path / "no-lists")
    before = dpkg_state()
    packages = Packages(tmp_path / "with space's")
    hello = Tool("hello", {"debian": "hello"})
    unknown = Tool("x", {"debian": "no-such-package-culprit"})
    assert packages.fetch([hello, unknown], "debian") == [unknown]
    done = subprocess.run([packages.bin / "hello"], capture_output=True, text=True, check=True)
    assert done.stdout == "Hello, world!\n"
    assert dpkg_state() == before
    assert shutil.which("hello") is None
    assert not packages.archives.exists()
    assert not packages.lists.exists()


@AS_ROOT
def test_a_package_that_no_archive_has(tmp_path: Path) -> None:
    packages = Packages(tmp_path)
    with pytest.raises(AptError, match="Unable to locate package no-such-package-culprit"):
        packages.fetch([Tool("x", {"debian": "no-such-package-culprit"})], "debian")


def unpacked(root: Path) -> Packages:
    """A tree as it looks after unpacking, with one program made here."""
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
    packages._wrap([NUMASTAT, SSHD])
    assert sorted(path.name for path in packages.bin.iterdir()) == ["numastat"]
    done = subprocess.run([packages.bin / "numastat", "a b"], capture_output=True, text=True, check=True)
    libraries, argument = done.stdout.rstrip("\n").split("|")
    assert argument == "a b"
    assert str(packages.tree / "usr/lib/x86_64-linux-gnu") in libraries.split(":")


def test_of_ubuntus_perf_the_newest_real_one_is_taken(tmp_path: Path) -> None:
    packages = unpacked(tmp_path)
    (packages.tree / "usr/bin/perf").write_text("#!/bin/bash\necho a stub\n")
    for version in ("9", "10"):
        (packages.tree / f"usr/lib/linux-tools-6.8.0-{version}/perf").write_bytes(b"\x7fELF\0")
    assert packages.program("perf") == packages.tree / "usr/lib/linux-tools-6.8.0-10/perf"
    assert packages.program("sshd") is None


def test_names_of_packages() -> None:
    assert {tool.package("debian") for tool in WANTED} == {
        "openssh-server",
        "linux-perf",
        "sysstat",
        "numactl",
    }
    assert "linux-tools-generic" in {tool.package("ubuntu") for tool in WANTED}


@pytest.mark.parametrize(("uid", "distribution"), [(1000, "debian"), (0, "fedora")])
def test_says_what_mends_it(
    uid: int,
    distribution: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setattr(os, "geteuid", lambda: uid)
    monkeypatch.setattr(machine, "distribution", lambda: (distribution, "1"))
    this_host.fetch(Packages(tmp_path), [NUMASTAT, SSHD], Progress())
    said = capsys.readouterr().out
    assert said.count("\n") == 1
    sudo = "sudo " if uid else ""
    assert f"Missing on this machine: numastat, sshd; goes on without. To mend: {sudo}apt-get install" in said
