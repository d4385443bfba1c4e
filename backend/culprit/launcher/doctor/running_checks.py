"""Checks of the running platform: its parts, its port, and remains of an earlier one."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from culprit.launcher import state, status
from culprit.launcher.doctor.check_result import CheckResult
from culprit.launcher.paths import Home
from culprit.launcher.services import TCP_LISTEN
from culprit.launcher.up import DEFAULT_PORT


def check_running(home: Home, known: dict[str, Any] | None) -> Iterator[CheckResult]:
    """Yield the checks of this module; `known` is the state of the platform that runs over `home`."""
    if known is None:
        yield from check_remains(home)
        yield CheckResult("platform", "warning", "Culprit is not running here.", "./culprit up")
        yield check_free_port(DEFAULT_PORT)
        return
    yield from check_parts(home, known)
    yield check_served_port(known)


def check_remains(home: Home) -> Iterator[CheckResult]:
    """Check for processes of a platform whose supervisor has ended."""
    processes = (state.read_state(home) or {}).get("processes", {})
    living = [name for name, entry in processes.items() if state.is_running(entry)]
    if living:
        message = f"Processes of an earlier platform still run: {', '.join(living)}."
        yield CheckResult("remains", "problem", message, "./culprit down")


def check_parts(home: Home, known: dict[str, Any]) -> Iterator[CheckResult]:
    """Yield a check for each part that the supervisor starts."""
    for row in status.list_parts(known):
        name, current, reason = row["part"], row["state"], row["reason"]
        if current == "stopped":
            command = "./culprit worker start"
            yield CheckResult(f"part {name}", "warning", f"{name} is stopped on request.", command)
        elif current != "ok":
            message = (
                f"{name} is {current}: {reason or 'it has just ended'}. See {home.logs / (name + '.log')}."
            )
            yield CheckResult(f"part {name}", "problem", message, "./culprit retry")
        elif row["restarts"]:
            message = f"{name} runs, after {row['restarts']} restarts. Last reason: {reason}."
            yield CheckResult(f"part {name}", "warning", message, "./culprit status")
        else:
            yield CheckResult(f"part {name}", "ok", f"{name} runs.")


def check_free_port(port: int) -> CheckResult:
    """Check that no other program has the port of the interface."""
    holder = find_listener(port)
    if holder is None:
        return CheckResult("port", "ok", f"Port {port} is free.")
    message = f"Port {port} is used by {holder}; the next free port will be used."
    return CheckResult("port", "warning", message, f"./culprit up --listen 127.0.0.1:{port + 1}")


def check_served_port(known: dict[str, Any]) -> CheckResult:
    """Check that the API listens on the port that the platform announced."""
    api = known.get("processes", {}).get("api", {}).get("pid")
    port = known.get("port") or urlsplit(str(known["url"])).port
    holder = find_listener(port) if port else None
    if holder is None:
        return CheckResult("port", "problem", f"No process listens on port {port}.", "./culprit retry")
    if f"(process {api})" not in holder:
        message = f"Port {port} is used by {holder}, not by Culprit."
        return CheckResult("port", "problem", message, f"stop {holder}, then ./culprit retry")
    return CheckResult("port", "ok", f"The API listens on port {port}.")


def find_listener(port: int) -> str | None:
    """Return the name and ID of the process that listens on a TCP port; None if the port is free."""
    inodes = set()
    for table in ("tcp", "tcp6"):
        with contextlib.suppress(OSError):
            for line in Path(f"/proc/net/{table}").read_text("ascii").splitlines()[1:]:
                fields = line.split()
                if fields[3] == TCP_LISTEN and int(fields[1].rpartition(":")[2], 16) == port:
                    inodes.add(f"socket:[{fields[9]}]")
    if not inodes:
        return None
    for process in Path("/proc").iterdir():
        if process.name.isdigit():
            with contextlib.suppress(OSError):
                if any(str(link.readlink()) in inodes for link in (process / "fd").iterdir()):
                    name = (process / "comm").read_text("utf-8", "replace").strip()
                    return f"{name} (process {process.name})"
    return "a process of another user"
