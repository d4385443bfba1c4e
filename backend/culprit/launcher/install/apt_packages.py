"""Debian and Ubuntu packages unpacked into a directory of ours: fetched by apt, installed nowhere.

apt resolves what is missing on this machine, verifies signatures and hashes, and only downloads; dpkg-deb
unpacks. No script of a package runs, no service starts, dpkg's own records stay as they are.
"""

from __future__ import annotations

import os
import re
import shlex
import shutil
import subprocess
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from culprit.launch import children

APT_TIMEOUT_S = 300.0
LISTS = Path("/var/lib/apt/lists")
SYSTEM_PATH = "/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin"


@dataclass(frozen=True, slots=True)
class Tool:
    """A program that captures want, and the packages that have it, first choice first."""

    program: str
    packages: dict[str, str]  # distribution → package

    def package(self, distribution: str) -> str:
        """What the package is called there."""
        return self.packages.get(distribution, self.packages["debian"])


SSHD = Tool("sshd", {"debian": "openssh-server"})
WANTED = (
    SSHD,
    Tool("perf", {"debian": "linux-perf", "ubuntu": "linux-tools-generic"}),
    Tool("iostat", {"debian": "sysstat"}),
    Tool("numastat", {"debian": "numactl"}),
)


def find(program: str) -> Path | None:
    """A program where root's PATH would find it, and sbin too."""
    found = shutil.which(program, path=f"{os.environ.get('PATH', '')}:{SYSTEM_PATH}")
    return Path(found) if found else None


def works(program: str) -> bool:
    """Whether it is there and runs: Ubuntu's /usr/bin/perf is a stub that looks for the kernel's own."""
    found = find(program)
    if found is None:
        return False
    if program != "perf":
        return True
    try:
        done = subprocess.run([found, "--version"], capture_output=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def missing() -> list[Tool]:
    """What this machine lacks of `WANTED`."""
    return [tool for tool in WANTED if not works(tool.program)]


class AptError(Exception):
    """apt could not do it; the message is its last line."""


class Packages:
    """The directory `root`: what was downloaded, what was unpacked, and `bin` with a wrapper per program."""

    def __init__(self, root: Path) -> None:
        self.root = root
        self.archives = root / "archives"
        self.lists = root / "lists"
        self.tree = root / "tree"
        self.bin = root / "bin"

    def fetch(self, tools: list[Tool], distribution: str) -> list[Tool]:
        """Download and unpack; returns the tools that could not be had. Raises AptError where none could."""
        (self.archives / "partial").mkdir(parents=True, exist_ok=True)
        errors: list[str] = []
        lost: list[Tool] = []
        try:
            self._download([tool.package(distribution) for tool in tools])
        except AptError:
            # One package that the archive does not have fails all of them: one by one then.
            for tool in tools:
                try:
                    self._download([tool.package(distribution)])
                except AptError as error:
                    errors.append(str(error))
                    lost.append(tool)
        if len(lost) == len(tools):
            raise AptError(errors[0] if errors else "nothing to fetch")
        self._unpack()
        self._wrap(tools)
        shutil.rmtree(self.archives, ignore_errors=True)
        shutil.rmtree(self.lists, ignore_errors=True)
        return lost

    def program(self, name: str) -> Path | None:
        """An unpacked program, without its wrapper."""
        for folder in ("usr/sbin", "usr/bin", "sbin", "bin"):
            candidate = self.tree / folder / name
            if candidate.is_file() and not candidate.is_symlink():
                if name == "perf" and b"\0" not in candidate.read_bytes()[:4096]:
                    break  # a stub; the real one lies with the kernel's version
                return candidate
        versions = sorted(self.tree.glob(f"usr/lib/linux-tools*/*/{name}"), key=version_key)
        versions += sorted(self.tree.glob(f"usr/lib/linux-tools-*/{name}"), key=version_key)
        real = [path for path in versions if path.is_file() and not path.is_symlink()]
        return real[-1] if real else None

    def libraries(self) -> str:
        """LD_LIBRARY_PATH of the unpacked programs."""
        found: list[Path] = []
        for folder in ("usr/lib", "lib"):
            found += [path for path in (self.tree / folder).glob("*-linux-gnu*") if path.is_dir()]
            found += [self.tree / folder] if (self.tree / folder).is_dir() else []
        return os.pathsep.join(str(path) for path in found)

    # -- inside ----------------------------------------------------------------------------------------

    def _apt(self, *arguments: str) -> None:
        options = [
            f"Dir::Cache::archives={self.archives}/",
            f"Dir::Cache::pkgcache={self.root}/pkgcache.bin",
            f"Dir::Cache::srcpkgcache={self.root}/srcpkgcache.bin",
            "Debug::NoLocking=true",
            "APT::Sandbox::User=root",  # the sandbox user cannot enter our directory
            "APT::Install-Recommends=false",
            "APT::Keep-Downloaded-Packages=true",
            "Acquire::Retries=2",
        ]
        if self.lists.exists():
            options.append(f"Dir::State::lists={self.lists}/")
        command = [
            "apt-get",
            "-q",
            "-y",
            *(part for option in options for part in ("-o", option)),
            *arguments,
        ]
        environment = dict(os.environ) | {"LC_ALL": "C", "DEBIAN_FRONTEND": "noninteractive"}
        try:
            done = subprocess.run(
                children.guarded(command), env=environment, capture_output=True, text=True, check=False,
                timeout=APT_TIMEOUT_S, stdin=subprocess.DEVNULL,
            )  # fmt: skip
        except subprocess.TimeoutExpired as error:
            raise AptError(f"apt-get {arguments[0]} took more than {APT_TIMEOUT_S:.0f} s") from error
        if done.returncode != 0:
            lines = [line for line in (done.stdout + done.stderr).splitlines() if line.startswith("E:")]
            raise AptError((lines or [f"apt-get {arguments[0]} failed"])[-1].removeprefix("E: "))

    def _download(self, packages: list[str]) -> None:
        """With the machine's lists; with fresh ones of our own where those are missing or out of date."""
        fetch = ("--download-only", "install", *packages)
        if any(LISTS.glob("*_Packages*")) and not self.lists.exists():
            try:
                self._apt(*fetch)
                return
            except AptError:
                pass  # names or versions that the archive no longer has
        if not self.lists.exists():
            (self.lists / "partial").mkdir(parents=True)
            self._apt("update")
        self._apt(*fetch)

    def _unpack(self) -> None:
        self.tree.mkdir(parents=True, exist_ok=True)
        for archive in sorted(self.archives.glob("*.deb")):
            done = subprocess.run(
                ["dpkg-deb", "-x", archive, self.tree], capture_output=True, text=True, check=False
            )
            if done.returncode != 0:
                raise AptError(f"dpkg-deb -x {archive.name}: {done.stderr.strip()[-200:]}")

    def _wrap(self, tools: Iterable[Tool]) -> None:
        """A script per program that sets the way to its libraries: LD_LIBRARY_PATH for it and nobody else."""
        self.bin.mkdir(exist_ok=True)
        names = {tool.program for tool in tools} - {SSHD.program}
        if "iostat" in names:
            names |= {"mpstat", "pidstat"}
        for name in sorted(names):
            program = self.program(name)
            if program is None:
                continue
            wrapper = self.bin / name
            wrapper.write_text(
                "#!/bin/sh\n"
                f'LD_LIBRARY_PATH={shlex.quote(self.libraries())} exec {shlex.quote(str(program))} "$@"\n',
                "utf-8",
            )
            wrapper.chmod(0o755)


def version_key(path: Path) -> list[int]:
    """Orders paths by the numbers in them."""
    return [int(number) for number in re.findall(r"\d+", str(path))]
