"""Check this machine: refuse what cannot work, and print what will be used."""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
import socket
import subprocess
from collections.abc import Mapping
from pathlib import Path

from culprit.launcher.progress import LauncherError

MIN_GLIBC = (2, 28)  # The wheels of PostgreSQL and Valkey are built for these.
MIN_NODE = (22, 12)
MACHINES = ("x86_64", "aarch64")
# Measured on Debian 12, x86_64: .venv with embedded engines and Node, node_modules, unpacked packages.
DISK_INSTALL_MB = 900
DISK_DATA_MB = 300
# PSS of all processes, as `./culprit status` adds it up, after two dozen captures (855 MB); 740 MB when
# fresh. docs/decisions/0034 has the table; a test compares a fresh platform with it.
MEMORY_MB = 900


def get_architecture() -> str:
    """Return `x86_64` or `aarch64`. Raises LauncherError for others."""
    machine = platform.machine()
    if machine not in MACHINES:
        raise LauncherError(f"Culprit runs on x86_64 and arm64, this is {machine}")
    return machine


def check_requirements() -> None:
    """Check platform and tools. Raises LauncherError if Culprit cannot run on this machine."""
    name, version = platform.libc_ver()
    if name != "glibc" or tuple(int(part) for part in re.findall(r"\d+", version)[:2]) < MIN_GLIBC:
        raise LauncherError(
            "Culprit needs Linux with glibc ≥ 2.28 (Debian 10, Ubuntu 20.04 or newer), "
            f"this is {platform.system()} with {name or 'no glibc'} {version}"
        )
    get_architecture()
    if shutil.which("setpriv") is None:
        raise LauncherError("Culprit needs setpriv: apt-get install util-linux")


def read_available_memory_mb() -> int:
    """Return MemAvailable of /proc/meminfo, or 0 if unknown."""
    match = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.M)
    return int(match[1]) // 1024 if match else 0


def find_existing_parent(path: Path) -> Path:
    """Return `path` or the nearest existing directory above it."""
    return next(place for place in (path, *path.parents) if place.exists())


def describe_needs(root: Path, home: Path, *, installed: bool, has_data: bool) -> str:
    """Return one line with required and available disk and memory.

    Raises LauncherError if the disk is too small.
    """
    disk_install_mb = (0 if installed else DISK_INSTALL_MB) + (0 if has_data else DISK_DATA_MB)
    free = min(shutil.disk_usage(find_existing_parent(place)).free for place in (root, home)) >> 20
    memory = read_available_memory_mb()
    if disk_install_mb and free < disk_install_mb:
        raise LauncherError(
            f"Culprit needs about {disk_install_mb} MB of disk below {root}, only {free} MB are free"
        )
    parts = []
    if not installed:
        parts.append(f"about {DISK_INSTALL_MB} MB of disk in {root} for packages")
    parts.append(f"{DISK_DATA_MB} MB or more in {home} for data" if not has_data else f"data in {home}")
    short = "" if memory >= MEMORY_MB else "; MEMORY IS SHORT"
    return (
        f"Will use {' and '.join(parts)} ({free} MB free), and about {MEMORY_MB} MB of memory "
        f"({memory} MB available{short})."
    )


def read_node_version(program: str | Path) -> tuple[int, int] | None:
    """Return (major, minor) of a Node, or None if it does not run."""
    try:
        message = subprocess.run(
            [program, "--version"], capture_output=True, text=True, check=False, timeout=20
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    match = re.match(r"v(\d+)\.(\d+)", message.stdout)
    return (int(match[1]), int(match[2])) if match else None


def find_system_node() -> Path | None:
    """Return the directory of a system Node that is new enough and has npm, or None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = read_node_version(node)
        if version is not None and version >= MIN_NODE:
            return Path(node).parent
    return None


def read_distribution() -> str:
    """Return the ID of os-release, such as "debian"; empty if unknown."""
    try:
        return platform.freedesktop_os_release()["ID"]
    except OSError:
        return ""


def find_free_port(address: str, requested: int, *, tries: int = 1) -> int | None:
    """Return the first free port of `tries` from `wanted`; 0 means any. None if no port is free."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in range(requested, requested + tries):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return None


def parse_listen(text: str, default_port: int) -> tuple[str, int, bool]:
    """Parse `ADDR`, `ADDR:PORT`, `[V6]:PORT` or `:PORT` into (address, port, whether the port was set).

    Raises LauncherError for other forms.
    """
    match = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\s\[\]]*)|([0-9A-Fa-f]*:[0-9A-Fa-f:.]+))(?::(\d{1,5}))?", text
    )
    if not match or (match[4] and not 0 < int(match[4]) < 65536):
        raise LauncherError(f"--listen takes ADDR or ADDR:PORT ([ADDR]:PORT for IPv6), not {text!r}")
    address = match[1] or match[2] or match[3] or "127.0.0.1"
    return address, int(match[4] or default_port), bool(match[4])


def find_outward_address() -> str:
    """Return the address by which others reach this machine: of its default route, else its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # documentation range: nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def format_tunnel_command(environment: Mapping[str, str], user: str, port: int) -> str | None:
    """Return the `ssh -L` command for a user who came by SSH to a platform on loopback, else None."""
    parts = environment.get("SSH_CONNECTION", "").split()
    if len(parts) != 4:
        return None
    _, _, server, server_port = parts
    option = "" if server_port == "22" else f" -p {server_port}"
    return f"ssh -L {port}:127.0.0.1:{port}{option} {user}@{server}"


def current_user() -> str:
    """Return the name of the current user.

    Raises LauncherError without an entry in passwd: sshd would refuse the login.
    """
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise LauncherError(f"user {os.geteuid()} has no entry in /etc/passwd; add one") from None
