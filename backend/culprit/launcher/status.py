"""Command `./culprit status [--json]`: what runs, since when, memory use and failures."""

from __future__ import annotations

import argparse
import http.client
import json
import os
import re
import sys
import time
import urllib.request
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from culprit.launcher import state
from culprit.launcher.paths import Home
from culprit.launcher.supervision import process_guardian

HEADER = ("PART", "STATE", "PID", "UPTIME", "MEMORY", "RESTARTS")
TICKS_PER_S = os.sysconf("SC_CLK_TCK")
Row = dict[str, Any]


def print_status(arguments: list[str]) -> int:
    """Print the parts. Exit code 0 if all run, 3 if none runs, else 1."""
    parser = argparse.ArgumentParser(prog="culprit status", description="Show what runs.")
    parser.add_argument("--json", action="store_true", help="print one JSON object")
    as_json = parser.parse_args(arguments).json
    home = Home.from_environment(os.environ)
    known = state.read_running(home)
    if known is None:
        stopped = {"running": False, "home": str(home.path), "parts": []}
        line = f"Culprit is not running (data: {home.path}). Start it with ./culprit up."
        sys.stdout.write((json.dumps(stopped) if as_json else line) + "\n")
        return 3
    rows = list_parts(known)
    if as_json:
        document = {"running": True, "url": known["url"], "home": str(home.path), "parts": rows}
        sys.stdout.write(json.dumps(document, indent=1) + "\n")
    else:
        sys.stdout.write(f"Culprit runs at {known['url']} (data: {home.path}).\n\n")
        lines = [*format_table(rows), *explain_failure(rows, home), *explain_altered_files(known["url"])]
        sys.stdout.write("\n".join(lines) + "\n")
    return 0 if all(row["state"] == "ok" for row in rows) else 1


def list_parts(known: dict[str, Any]) -> list[Row]:
    """Return one row per part in the order of their start, then the supervisor and its guardian."""
    processes: dict[str, dict[str, int]] = known.get("processes", {})
    noted: dict[str, Row] = known.get("parts", {})
    names = list(dict.fromkeys([*noted, *processes]))
    rows = [make_row(name, processes.get(name), noted.get(name, {})) for name in names]
    overhead = [known.get("supervisor"), known.get("guardian")]
    supervisor = make_row("supervisor", overhead[0], {}, with_children=False)
    if overhead[1]:
        supervisor["memory_bytes"] += measure_memory([overhead[1]["pid"]])
    return [*rows, supervisor]


def make_row(name: str, process: dict[str, int] | None, noted: Row, *, with_children: bool = True) -> Row:
    """Return the row of one part. One that just died is `restarting` until the supervisor acts."""
    living = process is not None and state.is_running(process)
    current = str(noted.get("state", "ok" if living else "not_running"))
    if current == "ok" and not living:
        current = "restarting"
    pid = process["pid"] if living and process else None
    pids = [] if pid is None else [pid, *(process_guardian.list_descendants(pid) if with_children else [])]
    return {
        "part": name,
        "state": current,
        "pid": pid,
        "uptime_s": measure_uptime(process) if living and process else None,
        "memory_bytes": measure_memory(pids),
        "restarts": noted.get("restarts", 0),
        "since": noted.get("since"),
        "reason": noted.get("reason") or None,
        "next_start_at": noted.get("next_start_at"),
        "log": noted.get("log", []),
    }


def measure_uptime(process: dict[str, int]) -> float:
    """Return the seconds since a process was started."""
    return max(0.0, time.clock_gettime(time.CLOCK_BOOTTIME) - process["started"] / TICKS_PER_S)


def measure_memory(pids: list[int]) -> int:
    """Return the memory of processes in bytes; shared pages are divided among them (PSS)."""
    total = 0
    for pid in pids:
        try:
            match = re.search(r"^Pss:\s+(\d+) kB", Path(f"/proc/{pid}/smaps_rollup").read_text("ascii"), re.M)
        except OSError:
            continue
        total += int(match[1]) << 10 if match else 0
    return total


def format_table(rows: list[Row]) -> list[str]:
    """Return the rows in columns, with the total memory below."""
    cells = [HEADER, *(format_row(row) for row in rows)]
    total = sum(row["memory_bytes"] for row in rows)
    cells.append(("total", "", "", "", f"{total >> 20} MB", ""))
    widths = [max(len(row[column]) for row in cells) for column in range(len(HEADER))]
    return [
        "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in cells
    ]


def format_row(row: Row) -> tuple[str, ...]:
    """Return one row as text cells."""
    uptime = "-" if row["uptime_s"] is None else format_seconds(row["uptime_s"])
    memory = f"{row['memory_bytes'] >> 20} MB" if row["memory_bytes"] else "-"
    return (row["part"], row["state"], str(row["pid"] or "-"), uptime, memory, str(row["restarts"]))


def format_seconds(seconds: float) -> str:
    """Return `42 s`, `5 min`, `3 h 20 min` or `2 d 4 h`."""
    whole = int(seconds)
    if whole < 120:
        return f"{whole} s"
    if whole < 7200:
        return f"{whole // 60} min"
    if whole < 172800:
        return f"{whole // 3600} h {whole % 3600 // 60} min"
    return f"{whole // 86400} d {whole % 86400 // 3600} h"


def explain_failure(rows: list[Row], home: Home) -> Iterator[str]:
    """Return what happened to parts that ended: reason, time, next step and the last lines of their logs."""
    for row in rows:
        if row["state"] == "ok" and row["reason"]:
            yield f"\n{row['part']} runs again (restarts: {row['restarts']}). Last reason: {row['reason']}."
        elif row["state"] == "stopped":
            yield f"\n{row['part']} is stopped on request. Start it with ./culprit worker start."
        elif row["state"] != "ok":
            since = f" since {row['since']}" if row["since"] else ""
            yield f"\n{row['part']} is {row['state']}{since}: {row['reason'] or 'it has just ended'}."
            if row["next_start_at"]:
                yield f"  Next start at {row['next_start_at']}; ./culprit retry starts it now. Logs: {home.logs}"
            yield from (f"  | {line}" for line in row["log"])


def explain_altered_files(url: str) -> Iterator[str]:
    """Return how many stored files are altered and what to do, from the metrics of the platform."""
    opener = urllib.request.build_opener(urllib.request.ProxyHandler({}))
    try:
        with opener.open(f"{url}/metrics", timeout=2) as response:
            metrics = response.read(1 << 20).decode()
    except (OSError, ValueError, http.client.HTTPException):
        return
    match = re.search(r"^culprit_stored_files_altered (\d+)", metrics, re.M)
    if match and int(match[1]):
        yield f"\nStored files that are altered or missing: {match[1]}. ./culprit storage check lists them."
        yield "  Restore them from a backup: docs/guide/operations.md, section Stored files are checked."
