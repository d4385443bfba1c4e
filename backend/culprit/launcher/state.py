"""Lock and state file of a data directory: which platform runs over it."""

from __future__ import annotations

import fcntl
import json
import shutil
from pathlib import Path
from typing import IO, Any

from culprit.launcher.paths import Home
from culprit.launcher.supervision import child_processes


def hold_lock(home: Home) -> IO[str] | None:
    """Return the lock of `home`, held until the file is closed or the process ends, or None if another
    process has it.
    """
    file = home.lock.open("a+", encoding="ascii")
    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError:
        file.close()
        return None
    return file


def started_at(pid: int) -> int | None:
    """Return the start of a process in clock ticks since boot, which differs for a later process with the
    same ID.
    """
    fields = child_processes.read_stat(pid)
    return int(fields[19]) if fields and fields[0] != "Z" else None


def write_state(home: Home, document: dict[str, Any]) -> None:
    """Write the state file."""
    fresh = home.state.with_suffix(".new")
    fresh.touch(mode=0o600)
    fresh.write_text(json.dumps(document, indent=1) + "\n", "utf-8")
    fresh.replace(home.state)


def read_state(home: Home) -> dict[str, Any] | None:
    """Return the last state, possibly of a dead platform, or None."""
    try:
        document = json.loads(home.state.read_text("utf-8"))
    except (OSError, json.JSONDecodeError):
        return None
    return document if isinstance(document, dict) else None


def read_running(home: Home) -> dict[str, Any] | None:
    """Return the state of the platform that runs over `home`, or None."""
    state = read_state(home)
    return state if state and is_running(state.get("supervisor")) else None


def describe_process(pid: int) -> dict[str, int]:
    """Return the entry of a process for the state file."""
    return {"pid": pid, "started": started_at(pid) or 0}


def is_running(entry: dict[str, int] | None) -> bool:
    """Return whether exactly that process still runs."""
    return bool(entry) and entry is not None and started_at(entry["pid"]) == entry["started"] != 0


def clear_state(home: Home) -> None:
    """Delete the state file and the socket directories of a platform that was killed."""
    for name in (read_state(home) or {}).get("sockets", []):
        place = Path(name)
        if place.name.startswith("culprit-") and place.is_dir() and not place.is_symlink():
            shutil.rmtree(place, ignore_errors=True)
    home.state.unlink(missing_ok=True)
