"""Views with hand-built rows of the tables that time accounts read."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from culprit.domain.rules.finding import Citation
from culprit.domain.rules.view import Cell, CollectorOutcome, HostView, TableRow

COLLECTORS = {
    "process_time": "proc_threads",
    "thread_time": "proc_threads",
    "threads": "proc_threads",
    "listeners": "ss_listen",
    "processes": "proc_top",
    "dns_probes": "dns_probe",
    "unix_calls": "calls",
}
WINDOW_MS = 8000.0


def make_view(
    seconds: float = 8.0, target: Mapping[str, object] | None = None, **tables: Sequence[dict[str, Cell]]
):
    """Return a view of tables by kind; every row has a line of its own."""
    rows = {
        kind: [
            TableRow(cells, Citation("r", COLLECTORS.get(kind, kind), kind, "stdout", (line,)))
            for line, cells in enumerate(items, 1)
        ]
        for kind, items in tables.items()
    }
    names = {COLLECTORS.get(kind, kind) for kind in tables}
    facts: dict[str, object] = {"cpus": 2, "calls": {"addresses": ["10.0.0.5"]}}
    if target:
        facts["target"] = target
    return HostView(
        {name: CollectorOutcome(name, "done") for name in names}, tables=rows, facts=facts, seconds=seconds
    )


def make_process(
    pid: int, comm: str, ppid: int = 1, threads: float = 1, run: float = 0, wait: float = 0, **more
) -> dict:
    """Return a row of `process_time`. `run` and `wait` are shares of the window, in threads."""
    return {
        "pid": pid, "ppid": ppid, "comm": comm, "cgroup": f"/{comm}", "uid": 5, "threads": threads,
        "samples": int(80 * threads), "wall_ms": threads * WINDOW_MS, "run_ms": run * WINDOW_MS,
        "wait_ms": wait * WINDOW_MS,
    } | more  # fmt: skip


def make_time(pid: int, activity: str, number: float, target: str = "-", detail: str = "", **more) -> dict:
    """Return a row of `thread_time` with the mean number of threads in this activity."""
    return {
        "pid": pid, "comm": "", "activity": activity, "target": target, "detail": detail,
        "samples": round(80 * number), "threads": max(1, round(number)), "time_ms": number * WINDOW_MS,
        "longest_ms": 500 * number,
    } | more  # fmt: skip


def make_wait(
    pid: int, comm: str, direction: str, peer: str, waiting: float, oldest: float = 500, **more
) -> dict:
    """Return a row of `tcp_waits`."""
    return {
        "pid": pid, "comm": comm, "direction": direction, "peer": peer, "samples": 20, "connections": waiting + 1,
        "waiting": waiting, "waiting_samples": 20, "oldest": oldest, "unread": 0, "unsent": 0, "uid": 5,
    } | more  # fmt: skip
