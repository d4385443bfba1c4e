"""Which platform runs over a data directory: a lock that the living hold, and a file that says what runs."""

from __future__ import annotations

import fcntl
import json
import os
import shutil
from pathlib import Path
from typing import IO, Any

from culprit.launch.paths import Home


def hold(home: Home) -> IO[str] | None:
    """The lock of `home`, held until the file is closed or the process ends; None where another has it."""
    file = home.lock.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def started_at(pid: int) -> int | None:
    """The start of a process in clock ticks since boot, unlike that of a later one of its number."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text("ascii", "replace")
    except OSError:
        return None
    fields = stat.rpartition(")")[2].split()
    return None if fields[0] == "Z" else int(fields[19])


def write(home: Home, document: dict[str, Any]) -> None:
    """Say what runs."""
    fresh = home.state.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    fresh.replace(home.state)


def read(home: Home) -> dict[str, Any] | None:
    """What was said last, by a platform that may be dead; None where nothing was."""
    try:
        document = json.loads(home.state.read_text("utf-8"))
    except (OSError, json.JSONDecodeError):
        return None
    return document if isinstance(document, dict) else None


def process(pid: int) -> dict[str, int]:
    """A process as the file names it."""
    return {"pid": pid, "started": started_at(pid) or 0}


def lives(entry: dict[str, int] | None) -> bool:
    """Whether exactly that process is still there."""
    return bool(entry) and entry is not None and started_at(entry["pid"]) == entry["started"] != 0


def clear(home: Home) -> None:
    """Nothing runs; the socket directories of a platform that was killed go too."""
    for name in (read(home) or {}).get("sockets", []):
        place = Path(name)
        if place.name.startswith("culprit-") and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
    home.state.unlink(missing_ok=True)


def own_process() -> dict[str, int]:
    """Us."""
    return process(os.getpid())
