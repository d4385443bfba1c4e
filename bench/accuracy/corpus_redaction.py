"""Remove names of the recording machine from captures before they become part of the corpus.

The hosts of the lab and their programs are made for it. What remains of the machine around them is replaced: its name,
the folders of its users and of this repository, and programs that no distribution ships. Binary parts are left out.
"""

from __future__ import annotations

import re
import shutil
import socket
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from culprit.launcher.paths import ROOT

from bench.accuracy.corpus import StoredRun

#: Programs below these folders come from packages; their names are public.
PUBLIC_FOLDERS = ("/usr/", "/bin/", "/sbin/", "/lib/", "/opt/java/")
MIN_NAME_LENGTH = 4
#: Addresses of the kernel's functions: stacks are stored as text, with their names.
ADDRESSES = "kallsyms"
#: Control groups that service managers and container runtimes make.
_PUBLIC_GROUP = re.compile(r"|.*\.(slice|scope|service)|docker|kubepods|lxc|user|system")
_BOOT = re.compile(rb"(command line: )[^\n]*", re.IGNORECASE)
#: Identifiers of machines, boots and sessions.
_IDENTIFIER = re.compile(rb"(?<![0-9a-f])[0-9a-f]{32}(?![0-9a-f])")
_TEMPORARY = re.compile(rb"/tmp/(?!lab|culprit-)[\w.@%+-]+")


def list_private_names() -> dict[str, str]:
    """Return what to replace on this machine: its name, folders and programs, each with its replacement."""
    names = {str(ROOT): "/srv/culprit", str(Path.home()): "/home/operator", socket.gethostname(): "machine"}
    programs = sorted(_list_programs())
    names |= {name: f"program-{number}" for number, name in enumerate(programs, 1)}
    return {name: label for name, label in names.items() if len(name) >= MIN_NAME_LENGTH}


def redact_run(run: StoredRun, names: Mapping[str, str]) -> StoredRun:
    """Return the run with all names replaced, without its binary parts and the addresses of kernel functions."""
    parts = {
        collector: {
            part: redact_bytes(data, names)
            for part, data in contents.items()
            if part != ADDRESSES and b"\0" not in data[:8192]
        }
        for collector, contents in run.parts.items()
    }
    return replace(run, parts={collector: contents for collector, contents in parts.items() if contents})


def redact_bytes(data: bytes, names: Mapping[str, str]) -> bytes:
    """Return the text with all names replaced as whole words, the longest first."""
    known = {name.encode(): label.encode() for name, label in names.items()}
    if known:
        longest_first = sorted(known, key=len, reverse=True)
        words = re.compile(rb"(?<![\w-])(?:" + b"|".join(map(re.escape, longest_first)) + rb")(?![\w-])")
        data = words.sub(lambda match: known[match[0]], data)
    data = _IDENTIFIER.sub(b"0" * 32, _TEMPORARY.sub(b"/tmp/file", data))
    return _BOOT.sub(rb"\1removed", data)


def _list_programs() -> set[str]:
    """Return the names of running programs that come from no package and are not part of this repository or of the lab.

    A name that a package has too is public.
    """
    programs: set[str] = set()
    kept: set[str] = set()
    for folder in Path("/proc").glob("[0-9]*"):
        try:
            path = str((folder / "exe").readlink())
            name = (folder / "comm").read_text().strip()
            groups = (folder / "cgroup").read_text()
            is_in_lab = "/lab/" in groups
        except OSError:
            continue
        is_public = (
            path.startswith(PUBLIC_FOLDERS) or Path(path).is_relative_to(ROOT) or name.startswith("python")
        )
        if is_in_lab:
            kept.add(name)
        elif not is_public:
            programs.add(name)
            programs |= _list_group_names(groups)
    return {name for name in programs - kept if shutil.which(name) is None}


def _list_group_names(groups: str) -> set[str]:
    """Return the names of control groups in the text of /proc/PID/cgroup that no service manager makes."""
    names = {name for line in groups.splitlines() for name in line.rpartition(":")[2].split("/")}
    return {name for name in names if not _PUBLIC_GROUP.fullmatch(name)}
