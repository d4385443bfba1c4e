"""Checks of the checkout and of this machine: Python, packages, Node, the build, tools and the data directory."""

from __future__ import annotations

import os
import platform
import re
import shutil
import stat
import subprocess
import sys
from collections.abc import Iterator, Mapping
from pathlib import Path

from culprit.launcher.doctor.check_result import CheckResult
from culprit.launcher.install import locked_packages, native_reader, requirements
from culprit.launcher.install.apt_packages import Packages
from culprit.launcher.local_host import tools as local_tools
from culprit.launcher.paths import PYTHON, Home
from culprit.launcher.progress import LauncherError

UP = "./culprit up"
PYTHON_VERSIONS = ((3, 11), (3, 15))
KEY_VARIABLES = {"CULPRIT_SECRET_KEY", "CULPRIT_SECRET_KEY_FILE"}


def check_installation(home: Home, environment: Mapping[str, str]) -> Iterator[CheckResult]:
    """Yield the checks of this module."""
    yield check_machine()
    yield check_python(PYTHON)
    yield check_packages(environment)
    yield check_build()
    yield check_native_reader(environment)
    yield check_host_tools(home)
    yield check_memory()
    if not home.path.exists():
        yield CheckResult("data directory", "warning", f"{home.path} does not exist yet.", UP)
        return
    yield from check_private_files(home)


def check_machine() -> CheckResult:
    """Check the C library, the architecture and setpriv."""
    try:
        requirements.check_requirements()
    except LauncherError as error:
        return CheckResult("machine", "problem", f"{error}.", "see Requirements in README.md")
    name, version = platform.libc_ver()
    return CheckResult("machine", "ok", f"{platform.machine()} with {name} {version}.")


def check_python(program: Path) -> CheckResult:
    """Check the Python of the installed packages, or of this process before the installation."""
    lowest, above = PYTHON_VERSIONS
    version = read_python_version(program) if program.exists() else sys.version_info[:2]
    if version is None:
        return CheckResult("python", "problem", f"{program} does not run.", f"rm -r .venv, then {UP}")
    text = ".".join(map(str, version))
    if lowest <= version < above:
        return CheckResult("python", "ok", f"Python {text}.")
    message = f"Python {text} is not supported: Culprit needs 3.11 to 3.14."
    return CheckResult("python", "problem", message, f"apt-get install python3, rm -r .venv, then {UP}")


def read_python_version(program: Path) -> tuple[int, int] | None:
    """Return (major, minor) of a Python, or None if it does not run."""
    try:
        done = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"Python (\d+)\.(\d+)", done.stdout)
    return (int(match[1]), int(match[2])) if match else None


def check_packages(environment: Mapping[str, str]) -> CheckResult:
    """Check that the installed packages are those of the lock file."""
    groups = locked_packages.load_installed_groups()
    if groups is None:
        what = "are not those of the lock file" if PYTHON.exists() else "are not installed"
        return CheckResult("packages", "problem", f"The Python packages {what}.", UP)
    external = environment.get("DATABASE_URL") and environment.get("REDIS_URL")
    if not external and "embedded" not in groups:
        message = "PostgreSQL and Valkey are not installed, and DATABASE_URL and REDIS_URL are not both set."
        return CheckResult("packages", "problem", message, UP)
    return CheckResult("packages", "ok", "The Python packages are those of the lock file.")


def check_build() -> CheckResult:
    """Check that the interface is built from these sources, or can be."""
    if locked_packages.is_frontend_built():
        return CheckResult("interface", "ok", "The web interface is built from these sources.")
    node = requirements.find_system_node()
    wheel = shutil.which("node", path=str(PYTHON.parent))
    version = requirements.read_node_version(node / "node" if node else wheel or "node")
    using = f"Node {version[0]}.{version[1]} builds it" if version else "Node is fetched to build it"
    return CheckResult(
        "interface", "warning", f"The build of the web interface is missing or old; {using}.", UP
    )


def check_native_reader(environment: Mapping[str, str]) -> CheckResult:
    """Check that the native reader of perf.data is built from these sources."""
    name = "native reader"
    if native_reader.is_installed():
        return CheckResult(name, "ok", "Built from these sources.")
    if native_reader.find_cargo(environment) is None:
        message = "It is not built, and no Rust toolchain is here to build it."
        return CheckResult(name, "warning", message, f"apt-get install {native_reader.PACKAGES}, then {UP}")
    return CheckResult(name, "warning", "It is not built from these sources.", UP)


def check_host_tools(home: Home) -> CheckResult:
    """Check the programs with which this machine is captured as a host."""
    missing = local_tools.list_tools_to_unpack(Packages(home.packages))
    if not missing:
        return CheckResult("tools", "ok", "The tools to capture this machine are here.")
    message = f"This machine cannot be captured completely: {', '.join(missing)} missing."
    return CheckResult("tools", "warning", message, f"apt-get install {' '.join(missing.values())}")


def check_memory() -> CheckResult:
    """Compare the available memory with what the processes use."""
    available = requirements.read_available_memory_mb()
    if available < requirements.MEMORY_MB:
        message = (
            f"{available} MB of memory are available, and the platform uses {requirements.MEMORY_MB} MB."
        )
        return CheckResult("memory", "warning", message, "ps -eo rss,pid,comm --sort -rss | head")
    return CheckResult("memory", "ok", f"{available} MB of memory are available.")


def check_private_files(home: Home) -> Iterator[CheckResult]:
    """Check that files with keys and tokens are closed to other users and belong to this one."""
    open_files, foreign = [], []
    for path in (home.secret_key, home.path / "cli.json", home.state):
        if path.exists():
            if stat.S_IMODE(path.stat().st_mode) & 0o077:
                open_files.append(str(path))
            if path.stat().st_uid != os.geteuid():
                foreign.append(str(path))
    if open_files:
        message = f"Other users can read {', '.join(open_files)}."
        yield CheckResult("private files", "problem", message, f"chmod 600 {' '.join(open_files)}")
    if foreign:
        message = f"Another user owns {', '.join(foreign)}."
        yield CheckResult("private files", "problem", message, f"chown {os.geteuid()} {' '.join(foreign)}")
    if home.postgres.exists() and not home.secret_key.exists() and not os.environ.keys() & KEY_VARIABLES:
        message = f"{home.secret_key} is missing, so stored credentials cannot be opened."
        yield CheckResult(
            "private files", "problem", message, f"cp KEY {home.secret_key}, from where you keep it"
        )
    elif not open_files and not foreign:
        yield CheckResult("private files", "ok", "Files with keys and tokens are closed to other users.")
