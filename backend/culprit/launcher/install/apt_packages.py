"""Download Debian and Ubuntu packages with apt and unpack them into a directory, without installing them.

apt resolves what is missing on this machine, verifies signatures and hashes, and only downloads. dpkg-deb
unpacks. No script of a package runs, no service starts, and the records of dpkg stay unchanged.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from pathlib import Path

from culprit.launcher.install import requirements
from culprit.launcher.supervision import child_processes

APT_TIMEOUT_S = 300.0
LISTS = Path("/var/lib/apt/lists")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"
# Programs that captures use, with the Debian package of each.
PACKAGES = {"sshd": "openssh-server", "perf": "linux-perf", "iostat": "sysstat", "numastat": "numactl"}
UBUNTU = {"perf": "linux-tools-generic"}


def find_program(program: str) -> Path | None:
    """Return a program from the PATH of root, including sbin, or None."""
    result = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")
    return Path(result) if result else None


def is_working(program: str) -> bool:
    """Return whether the program runs.

    The /usr/bin/perf of Ubuntu is a stub that looks for the perf of the running kernel.
    """
    path = find_program(program)
    if path is None or program != "perf":
        return path is not None
    try:
        return (
            subprocess.run([path, "--version"], capture_output=True, check=False, timeout=20).returncode == 0
        )
    except (OSError, subprocess.TimeoutExpired):
        return False


def list_missing_tools() -> dict[str, str]:
    """Return the programs of `PACKAGES` that this machine does not have, with their packages."""
    names = PACKAGES | (UBUNTU if requirements.read_distribution() == "ubuntu" else {})
    return {program: package for program, package in names.items() if not is_working(program)}


class AptError(Exception):
    """apt failed. The message is its last line."""


class Packages:
    """The directory `root`: downloads, unpacked packages, and `bin` with a wrapper for each program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.archives = root / "archives"
        self.lists = root / "lists"
        self.tree = root / "tree"
        self.bin = root / "bin"

    def fetch(self, tools: dict[str, str]) -> dict[str, AptError]:
        """Download and unpack the packages of `tools`; return the tools that are not available and why."""
        (self.archives / "partial").mkdir(parents=True, exist_ok=True)
        errors: dict[str, AptError] = {}
        # One by one: apt fails for all packages if the archive lacks one of them.
        for tool, package in tools.items():
            try:
                self._download(package)
            except AptError as error:
                errors[tool] = error
        self._unpack_archives()
        self._write_wrappers(tools)
        shutil.rmtree(self.archives, ignore_errors=True)
        shutil.rmtree(self.lists, ignore_errors=True)
        return errors

    def program(self, name: str) -> Path | None:
        """Return an unpacked program, without its wrapper."""
        versions = [
            *self.tree.glob(f"usr/lib/linux-tools*/*/{name}"),
            *self.tree.glob(f"usr/lib/linux-tools-*/{name}"),
        ]
        versions.sort(
            key=lambda path: [int(number) for number in re.findall(r"\d+", str(path))], reverse=True
        )
        folders = ("usr/sbin", "usr/bin", "sbin", "bin")
        for path in (*(self.tree / folder / name for folder in folders), *versions):
            # /usr/bin/perf may be a script: the program is in the directory of a kernel version.
            if (
                path.is_file()
                and not path.is_symlink()
                and (name != "perf" or b"\0" in path.read_bytes()[:4096])
            ):
                return path
        return None

    def libraries(self) -> str:
        """Return LD_LIBRARY_PATH of the unpacked programs."""
        paths: list[Path] = []
        for folder in (self.tree / "usr/lib", self.tree / "lib"):
            paths += [path for path in (*folder.glob("*-linux-gnu*"), folder) if path.is_dir()]
        return os.pathsep.join(str(path) for path in paths)

    # -- internal --------------------------------------------------------------------------------------

    def _run_apt(self, *arguments: str) -> None:
        options = [
            f"Dir::Cache::archives={self.archives}/",
            f"Dir::Cache::pkgcache={self.root}/pkgcache.bin",
            f"Dir::Cache::srcpkgcache={self.root}/srcpkgcache.bin",
            "Debug::NoLocking=true",
            "APT::Sandbox::User=root",  # the sandbox user cannot enter this directory
            "APT::Install-Recommends=false",
            "APT::Keep-Downloaded-Packages=true",
            "Acquire::Retries=2",
        ]
        if self.lists.exists():
            options.append(f"Dir::State::lists={self.lists}/")
        command = ["apt-get", "-q", "-y", *(f"-o{option}" for option in options), *arguments]
        environment = dict(os.environ) | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        try:
            done = subprocess.run(
                child_processes.guard_command(command), env=environment, capture_output=True, text=True, check=False,
                timeout=APT_TIMEOUT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise AptError(f"apt-get {arguments[0]} took more than {APT_TIMEOUT_S:.0f} s") from error
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("E:")]
            raise AptError((lines or [f"apt-get {arguments[0]} failed"])[-1].removeprefix("E: "))

    def _download(self, package: str) -> None:
        """Download with the package lists of the machine, or with fresh private lists if those are missing or
        outdated.
        """
        fetch = ("--download-only", "install", package)
        if any(LISTS.glob("*_Packages*")) and not self.lists.exists():
            try:
                self._run_apt(*fetch)
                return
            except AptError:
                pass  # names or versions that the archive no longer has
        if not self.lists.exists():
            (self.lists / "partial").mkdir(parents=True)
            self._run_apt("update")
        self._run_apt(*fetch)

    def _unpack_archives(self) -> None:
        self.tree.mkdir(parents=True, exist_ok=True)
        for archive in sorted(self.archives.glob("*.deb")):
            done = subprocess.run(
                ["dpkg-deb", "-x", archive, self.tree], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise AptError(f"dpkg-deb -x {archive.name}: {done.stderr.strip()[-200:]}")

    def _write_wrappers(self, tools: Iterable[str]) -> None:
        """Write a script for each program that sets LD_LIBRARY_PATH for that program only."""
        self.bin.mkdir(exist_ok=True)
        more = ("mpstat", "pidstat") if "iostat" in tools else ()
        for name in {*tools, *more} - {"sshd"}:
            program = self.program(name)
            if program is not None:
                libraries, path = shlex.quote(self.libraries()), shlex.quote(str(program))
                wrapper = self.bin / name
                wrapper.write_text(f'#!/bin/sh\nLD_LIBRARY_PATH={libraries} exec {path} "$@"\n', "utf-8")
                wrapper.chmod(0o755)
