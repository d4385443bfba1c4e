"""What this machine is and has: refuse in one line what cannot work, say what will be used before it is."""

from __future__ import annotations

import os
import platform
import pwd
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from culprit.launch.progress import Refusal

PYTHON_OLDEST = (3, 11)
PYTHON_BEYOND = (3, 15)
GLIBC_OLDEST = (2, 28)  # what the wheels of PostgreSQL and Valkey are built for
NODE_OLDEST = (22, 12)
MACHINES = {"x86_64": "x86_64", "amd64": "x86_64", "aarch64": "aarch64", "arm64": "aarch64"}
# Measured on Debian 12, x86_64: .venv with embedded engines and Node, node_modules, unpacked packages.
DISK_INSTALL_MB = 900
DISK_DATA_MB = 300
# PSS of all processes, as `./culprit status` adds it up, after two dozen captures (855 MB); 740 MB when fresh.
# docs/decisions/0034 has the table; a test compares a fresh platform with it.
MEMORY_MB = 900


def machine() -> str:
    """`x86_64` or `aarch64`. Raises Refusal elsewhere."""
    found = MACHINES.get(platform.machine().lower())
    if found is None:
        raise Refusal(f"Culprit runs on x86_64 and arm64, this is {platform.machine()}")
    return found


def check() -> None:
    """Raises Refusal where the platform cannot run on this machine."""
    if sys.platform != "linux":
        raise Refusal(f"Culprit's server runs on Linux, this is {sys.platform}")
    if not PYTHON_OLDEST <= sys.version_info[:2] < PYTHON_BEYOND:
        raise Refusal(
            f"Culprit needs Python 3.11 to 3.14, this is {platform.python_version()}; "
            "on Ubuntu 22.04: apt-get install python3.11"
        )
    machine()
    name, version = platform.libc_ver()
    numbers = tuple(int(part) for part in re.findall(r"\d+", version)[:2])
    if name != "glibc" or numbers < GLIBC_OLDEST:
        raise Refusal(
            f"Culprit needs glibc ≥ 2.28 (Debian 10, Ubuntu 20.04 or newer), this is {name} {version}"
        )


def memory_available_mb() -> int:
    """MemAvailable of /proc/meminfo; 0 where it is not told."""
    found = re.search(r"^MemAvailable:\s+(\d+) kB", Path("/proc/meminfo").read_text("ascii"), re.M)
    return int(found[1]) // 1024 if found else 0


def existing_parent(path: Path) -> Path:
    """`path` or the nearest directory above that exists."""
    return next(place for place in (path, *path.parents) if place.exists())


def needs(root: Path, home: Path, *, installed: bool, has_data: bool) -> str:
    """One line: what will be used and what there is. Raises Refusal where the disk is too small."""
    wanted = (0 if installed else DISK_INSTALL_MB) + (0 if has_data else DISK_DATA_MB)
    free = min(shutil.disk_usage(existing_parent(place)).free for place in (root, home)) >> 20
    memory = memory_available_mb()
    if wanted and free < wanted:
        raise Refusal(f"Culprit needs about {wanted} MB of disk below {root}, only {free} MB are free")
    parts = []
    if not installed:
        parts.append(f"about {DISK_INSTALL_MB} MB of disk in {root} for packages")
    parts.append(f"{DISK_DATA_MB} MB or more in {home} for data" if not has_data else f"data in {home}")
    short = "" if memory >= MEMORY_MB else "; MEMORY IS SHORT"
    return (
        f"Will use {' and '.join(parts)} ({free} MB free), and about {MEMORY_MB} MB of memory "
        f"({memory} MB available{short})."
    )


def node_version(program: str | Path) -> tuple[int, int] | None:
    """(major, minor) of a Node, None where it does not run."""
    try:
        said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return None
    found = re.match(r"v(\d+)\.(\d+)", said.stdout)
    return (int(found[1]), int(found[2])) if found else None


def system_node() -> Path | None:
    """The directory of a Node of the system that is new enough and has npm, else None."""
    node, npm = shutil.which("node"), shutil.which("npm")
    if node and npm:
        version = node_version(node)
        if version is not None and version >= NODE_OLDEST:
            return Path(node).parent
    return None


def distribution() -> tuple[str, str]:
    """(id, version) of os-release, such as ("debian", "12"); empty where it is not told."""
    try:
        text = Path("/etc/os-release").read_text("utf-8")
    except OSError:
        return "", ""
    fields = dict(line.split("=", 1) for line in text.splitlines() if "=" in line)
    return fields.get("ID", "").strip('"'), fields.get("VERSION_ID", "").strip('"')


def free_port(address: str, wanted: int, *, tries: int = 1) -> int | None:
    """The first of `tries` ports from `wanted` on that can be listened on; 0: any. None where none can."""
    family = socket.AF_INET6 if ":" in address else socket.AF_INET
    for port in range(wanted, wanted + tries):
        with socket.socket(family, socket.SOCK_STREAM) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            try:
                probe.bind((address, port))
            except OSError:
                continue
            return int(probe.getsockname()[1])
    return None


def parse_listen(text: str, default_port: int) -> tuple[str, int, bool]:
    """`ADDR`, `ADDR:PORT`, `[V6]:PORT` or `:PORT` → (address, port, whether the port was given).

    Raises Refusal for anything else.
    """
    found = re.fullmatch(
        r"(?:\[([0-9A-Fa-f:.]+)\]|([^:\s\[\]]*)|([0-9A-Fa-f]*:[0-9A-Fa-f:.]+))(?::(\d{1,5}))?", text
    )
    if not found or (found[4] and not 0 < int(found[4]) < 65536):
        raise Refusal(f"--listen takes ADDR or ADDR:PORT ([ADDR]:PORT for IPv6), not {text!r}")
    address = found[1] or found[2] or found[3] or "127.0.0.1"
    return address, int(found[4] or default_port), bool(found[4])


def outward_address() -> str:
    """The address by which others reach this machine, by its route outward; without one its name."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as probe:
        try:
            probe.connect(("192.0.2.1", 9))  # documentation range: nothing is sent
            return str(probe.getsockname()[0])
        except OSError:
            return socket.gethostname()


def tunnel_line(environment: Mapping[str, str], user: str, port: int) -> str | None:
    """The `ssh -L` line for a person who came by SSH to a platform on loopback, else None."""
    parts = environment.get("SSH_CONNECTION", "").split()
    if len(parts) != 4:
        return None
    _, _, server, server_port = parts
    option = "" if server_port == "22" else f" -p {server_port}"
    return f"ssh -L {port}:127.0.0.1:{port}{option} {user}@{server}"


def who() -> str:
    """The name of the user who runs us. Raises Refusal where passwd has no entry: sshd would not let in."""
    try:
        return pwd.getpwuid(os.geteuid()).pw_name
    except KeyError:
        raise Refusal(f"user {os.geteuid()} has no entry in /etc/passwd; add one") from None
