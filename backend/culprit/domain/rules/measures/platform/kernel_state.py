"""Numbers about tracing that is on, CPUs that are not used, clocks, real-time tasks, and scheduled jobs."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows
from culprit.domain.rules.measures.places import read_cpu_pct
from culprit.domain.rules.view import HostView, TableRow


def _tracing(view: HostView) -> list[Measurement]:
    return [
        Measurement(
            row.number("active") or 0.0,
            (("tracing", row.text("what")),),
            (row.citation,),
            1,
            (),
            {"what": row.text("what"), "setting": row.text("setting")},
        )
        for row in view.rows("kernel_tracing")
    ]


def _unused_cpus(view: HostView) -> list[Measurement]:
    """Measure CPUs that are off or isolated, of all that the machine has."""
    results = []
    for row in view.rows("cpu_sets"):
        present, online, isolated = (row.number(name) for name in ("present", "online", "isolated"))
        if present and online is not None:
            off = max(0.0, present - online)
            detail: Detail = {"off": int(off), "isolated": int(isolated or 0), "present": int(present)}
            results.append(
                Measurement(100.0 * (off + (isolated or 0.0)) / present, (), (row.citation,), 1, (), detail)
            )
    return results


def _slow_clock(view: HostView) -> list[Measurement]:
    return [
        Measurement(
            row.number("needs_system_call") or 0.0,
            (),
            (row.citation,),
            1,
            (),
            {"current": row.text("current"), "available": row.text("available")},
        )
        for row in view.rows("clock_sources")
    ]


def _read_bytes_per_s(row: TableRow) -> float:
    return sum(row.number(column) or 0.0 for column in ("read_bytes_per_s", "write_bytes_per_s"))


def _job_share(view: HostView, kind: str, read: Callable[[TableRow], float]) -> list[Measurement]:
    """Measure what the processes of each job use, as a share of what all processes use."""
    usage = {row.text("pid"): (read(row), row) for row in view.rows(kind)}
    total = sum(value for value, _ in usage.values())
    jobs: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("scheduled_jobs"):
        if row.text("pid") in usage:
            jobs[row.text("job")].append(row)
    results = []
    for name, rows in jobs.items():
        parts = [usage[row.text("pid")] for row in rows]
        used = sum(value for value, _ in parts)
        widest = max(rows, key=lambda row: usage[row.text("pid")][0])
        detail: Detail = {
            "job": name,
            "comm": widest.text("comm"),
            "pid": widest.text("pid"),
            "scheduler": widest.text("scheduler"),
            "line": next((row.text("line") for row in rows if row.text("line")), "-"),
        }
        cites = (*cite_rows(rows), *cite_rows(view.rows(kind)))
        share = 100.0 * used / total if total > 0 else 0.0
        results.append(Measurement(share, (("job", name),), cites, len(rows), (), detail))
    checked = view.rows(kind)[:1]
    return results or [Measurement(0.0, (), (row.citation,)) for row in checked]


_STATE = (("kernel_state",),)
TRACING = build_measure("kernel.tracing", "count", "Tracing that is on", "开启的内核跟踪", _STATE, _tracing)
UNUSED_CPUS = build_measure(
    "cpu.unused_pct", "pct", "CPUs that are off or isolated", "离线或隔离的 CPU", _STATE, _unused_cpus
)
SLOW_CLOCK = build_measure(
    "clock.needs_system_call",
    "count",
    "Clock that needs a system call",
    "需要系统调用的时钟",
    _STATE,
    _slow_clock,
)
JOB_CPU = build_measure(
    "jobs.cpu_share_pct",
    "pct",
    "CPU time of a scheduled job, of all programs",
    "定时任务占全部程序的 CPU 时间",
    (("scheduled_jobs",), ("proc_top",)),
    lambda view: _job_share(view, "processes", read_cpu_pct),
)
JOB_IO = build_measure(
    "jobs.io_share_pct",
    "pct",
    "Disk bytes of a scheduled job, of all programs",
    "定时任务占全部程序的磁盘读写",
    (("scheduled_jobs",), ("proc_io",)),
    lambda view: _job_share(view, "proc_io", _read_bytes_per_s),
)
