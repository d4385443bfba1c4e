"""Select and describe how sandboxed processes lose the rights of the server."""

from __future__ import annotations

import os
import platform
import stat
import sys
import sysconfig
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Literal

from culprit.infra.sandbox import landlock, seccomp

BACKEND = Path(__file__).resolve().parents[3]
REPOSITORY = BACKEND.parent
#: Sandboxed processes get this plus their process ID: a separate account for each.
FIRST_UID = 2_000_000_000
_HIGHEST_PID = 1 << 22
_NEEDED = (1 << 0) | (1 << 6) | (1 << 7)  # CAP_CHOWN, CAP_SETGID, CAP_SETUID
Mode = Literal["landlock", "uid", "none"]


@dataclass(frozen=True, slots=True)
class Sandbox:
    """How a sandboxed process loses the rights to files: Landlock of version `abi`, a separate uid, or
    neither.

    `has_filter`: the architecture has a system call filter. `problem`: why neither Landlock nor a uid is
    available.
    """

    mode: Mode
    abi: int
    has_filter: bool
    problem: str = ""

    def describe(self) -> str:
        """Return one line for administrators."""
        if self.mode == "none":
            return f"none: {self.problem}"
        name = f"landlock ABI {self.abi}" if self.mode == "landlock" else "separate uid"
        if self.has_filter:
            return f"{name}, system call filter"
        return f"{name}, no system call filter on {platform.machine()}"


@cache
def get_sandbox() -> Sandbox:
    """Return the strongest sandbox that this machine and account allow."""
    has_filter = seccomp.is_supported()
    if abi := landlock.get_abi():
        return Sandbox("landlock", abi, has_filter)
    problem = _find_uid_problem()
    if problem is None:
        return Sandbox("uid", 0, has_filter)
    advice = "Add landlock to the kernel's lsm= parameter (Linux 5.13 or newer)"
    return Sandbox("none", 0, has_filter, f"the kernel has no Landlock and {problem}. {advice}.")


def list_code() -> list[Path]:
    """Return the files and directories from which the interpreter and the parsers are loaded."""
    paths = [Path(sysconfig.get_path("stdlib")).parent, Path(sys.base_prefix) / "lib64"]
    # The checkout also contains data, so only its two packages are readable.
    entries = (Path(entry).resolve() for entry in sys.path if entry)
    paths += [entry for entry in entries if entry not in {BACKEND, REPOSITORY}]
    return [*paths, Path(sys.prefix, "pyvenv.cfg"), BACKEND / "culprit", REPOSITORY / "collectors"]


def _find_uid_problem() -> str | None:
    if os.geteuid() != 0 or _NEEDED & ~_get_capabilities():
        return "the server is not root and cannot use another account"
    highest = FIRST_UID + _HIGHEST_PID
    maps = (line.split() for line in Path("/proc/self/uid_map").read_text(encoding="ascii").splitlines())
    if not any(int(first) <= FIRST_UID and highest < int(first) + int(size) for first, _, size in maps):
        return f"this container does not map uid {FIRST_UID}"
    executable = Path(sys.executable).resolve()
    for path in (*list_code(), executable):
        for item in (path, *path.parents):
            if item.exists() and not _is_readable_by_others(item):
                return f"other accounts cannot read {item}, from which Culprit is loaded"
    return None


def _get_capabilities() -> int:
    for line in Path("/proc/self/status").read_text(encoding="utf-8", errors="replace").splitlines():
        if line.startswith("CapEff:"):
            return int(line.split()[1], 16)
    return 0


def _is_readable_by_others(path: Path) -> bool:
    mode = path.stat().st_mode
    return bool(mode & (stat.S_IXOTH if stat.S_ISDIR(mode) else stat.S_IROTH))
