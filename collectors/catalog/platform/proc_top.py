"""Processes by CPU time, from two scans of /proc/PID/stat. Command lines are never read."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence

import numpy as np

from collectors.contract import (
    Collector,
    Column,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Sentence,
    Series,
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import sampled, task_stat
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.proc.task_stat import TaskStat

_PATHS = re.compile(r"/proc/(\d{1,10})/stat")
_MAX_BYTES = 64 << 20
#: Rules add up what programs use: a process for each CPU of a large host must fit.
_MAX_ROWS = 500
_HZ = 100.0
_PAGE_KB = 4.0
_COLUMNS = (
    Column("pid"),
    Column("comm"),
    Column("state"),
    Column("kernel_thread"),
    Column("cpu", "pct"),
    Column("cpu_user", "pct"),
    Column("cpu_system", "pct"),
    Column("rss", "kb"),
    Column("major_faults", "per_s"),
    Column("threads"),
    Column("nice"),
    Column("policy"),
    Column("last_cpu"),
    Column("ppid"),
    Column("cpu_with_ended", "pct"),
)

Row = tuple[str | int | float | None, ...]


def parse_proc_top(parts: Mapping[str, Part], context: Context) -> Parsed:
    """The busiest processes, percent of one CPU, and how many were running or in uninterruptible sleep.

    A process is the same in both scans if its start time is; one that began in between is counted from its
    start. Times are in jiffies of 1/100 s, which is USER_HZ on every architecture that is met in practice.

    `cpu_with_ended` is over the whole window and adds the children that ended in it: a script that starts one short
    program after the other uses no CPU time itself. The kernel adds their time to that of the process that waits for
    them (kernel/exit.c, wait_task_zombie). What they had used before the window is subtracted.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    scans = _group_scans(samples)
    if not scans:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    rows = _build_rows(scans[0], scans[-1], context) if len(scans) > 1 else []
    rows.sort(key=lambda row: (-float(row[4] or 0), int(row[0] or 0)))
    stored_rows = tuple(rows[:_MAX_ROWS])
    lines = tuple(scans[-1][int(row[0] or 0)][0].line for row in stored_rows)
    tables = (Table("processes", _COLUMNS, stored_rows, sampled.PART, lines),) if stored_rows else ()
    count = [
        *_read_count(context, "proc.d_state_count", scans, "D"),
        *_read_count(context, "proc.r_state_count", scans, "R"),
    ]
    warnings = samples.warnings if rows else (*samples.warnings, Sentence("warning.too_few_samples"))
    return Parsed(series=tuple(count), tables=tables, warnings=warnings)


Scan = dict[int, tuple[Snapshot, TaskStat]]


def _group_scans(samples: Samples) -> list[Scan]:
    """Tasks by pid in each scan, in order of time."""
    by_tick: dict[int, Scan] = {}
    for match, snapshots in samples.matching(_PATHS):
        for snapshot in snapshots:
            task = task_stat.parse_task_stat(snapshot.body.strip())
            if task is not None and task.pid == int(match[1]):
                by_tick.setdefault(snapshot.tick, {})[task.pid] = (snapshot, task)
    return sorted(by_tick.values(), key=_get_end_ns)


def _get_end_ns(scan: Scan) -> int:
    """Return when the last task of a scan was read; the clock of one file may contradict the number of its scan."""
    return max(snapshot.boot_ns for snapshot, _ in scan.values())


def _build_rows(first: Scan, last: Scan, context: Context) -> list[Row]:
    page_size = context.facts.get("page_size")
    page_kb = page_size / 1024.0 if isinstance(page_size, int) and page_size > 0 else _PAGE_KB
    began_ns = min(snapshot.boot_ns for snapshot, _ in first.values())
    used_before = _sum_ended(first, last)
    rows: list[Row] = []
    for pid, (snapshot, task) in last.items():
        earlier = first.get(pid)
        same = earlier is not None and earlier[1].started == task.started
        since_ns = earlier[0].boot_ns if earlier and same else max(began_ns, int(task.started / _HZ * 1e9))
        elapsed_s = (snapshot.boot_ns - since_ns) / 1e9
        if elapsed_s <= 0:
            continue
        before = earlier[1] if earlier and same else None
        user = max(0, task.utime - (before.utime if before else 0)) / _HZ / elapsed_s * 100.0
        system = max(0, task.stime - (before.stime if before else 0)) / _HZ / elapsed_s * 100.0
        ended = task.children_time - (before.children_time if before else 0) - used_before.get(pid, 0)
        window_s = max(elapsed_s, (snapshot.boot_ns - began_ns) / 1e9)
        with_ended = (user + system) * elapsed_s / window_s + max(0, ended) / _HZ / window_s * 100.0
        faults = max(0, task.majflt - (before.majflt if before else 0)) / elapsed_s
        rows.append(
            (
                *(pid, task.comm, task.state, int(task.kernel_thread)),
                *(user + system, user, system, task.rss_pages * page_kb, faults),
                *(task.threads, task.nice, task.policy, task.processor, task.ppid),
                with_ended,
            )
        )
    return rows


def _sum_ended(first: Scan, last: Scan) -> dict[int, int]:
    """Return the CPU time that ended processes had used at the first scan, by their nearest ancestor that is left."""
    sums: dict[int, int] = {}
    for pid, (_, task) in first.items():
        if _is_same(task, last.get(pid)):
            continue
        heir, steps = task.ppid, 0
        while heir in first and not _is_same(first[heir][1], last.get(heir)) and steps < len(first):
            heir, steps = first[heir][1].ppid, steps + 1
        sums[heir] = sums.get(heir, 0) + task.total_time
    return sums


def _is_same(task: TaskStat, later: tuple[Snapshot, TaskStat] | None) -> bool:
    return later is not None and later[1].started == task.started


def _read_count(context: Context, metric: str, scans: Sequence[Scan], state: str) -> list[Series]:
    boot_ns = np.array([_get_end_ns(scan) for scan in scans], np.int64)
    counts = [[float(sum(task.state == state for _, task in scan.values()))] for scan in scans]
    lines = np.array([min(snapshot.line for snapshot, _ in scan.values()) for scan in scans], np.int32)
    return sampled.build_series(context, metric, boot_ns, np.array(counts), lines=lines)


COLLECTOR = Collector(
    id="proc_top",
    title=Text("Processes", "进程"),
    why=Text(
        "Which processes and kernel threads use the CPU, and how many are stuck in D state.",
        "哪些进程与内核线程占用 CPU，以及多少进程卡在 D 状态。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(files=("/proc/self/stat",), remedy="mount -t proc proc /proc"),
            files=("/proc/[0-9]*/stat",),
            once=True,
        ),
    ),
    parse=parse_proc_top,
    parser_version=3,
    cost=Cost(
        0.1,
        10_000,
        Text(
            "Two scans of all processes; names, never command lines.",
            "对所有进程扫描两次；只读名称，不读命令行。",
        ),
    ),
    yields=("proc.d_state_count", "proc.r_state_count"),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
