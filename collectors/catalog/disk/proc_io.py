"""Processes by what they read and write, from two scans of /proc/PID/io. Command lines are never read."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    Table,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.proc import sampled, task_stat
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.proc.task_stat import TaskStat
from collectors.parse.tables.tokens import parse_whole

_IO = re.compile(r"/proc/(\d{1,10})/io")
_STAT = re.compile(r"/proc/(\d{1,10})/stat")
_DELAYS = "/proc/sys/kernel/task_delayacct"
_MAX_BYTES = 64 << 20
_MAX_ROWS = 200
_HZ = 100.0
_COUNTERS = ("read_bytes", "write_bytes", "rchar", "wchar", "syscr", "syscw", "cancelled_write_bytes")
_COLUMNS = (
    Column("pid"),
    Column("comm"),
    Column("kernel_thread"),
    Column("read_bytes_per_s", "bytes_per_s"),
    Column("write_bytes_per_s", "bytes_per_s"),
    Column("rchar_per_s", "bytes_per_s"),
    Column("wchar_per_s", "bytes_per_s"),
    Column("syscr_per_s", "per_s"),
    Column("syscw_per_s", "per_s"),
    Column("canceled_per_s", "bytes_per_s"),
    Column("bytes_per_read", "bytes"),
    Column("bytes_per_write", "bytes"),
    Column("read_share", "pct"),
    Column("write_share", "pct"),
    Column("io_delay", "pct"),
)

Cell = str | int | float | None


@dataclass(frozen=True, slots=True)
class _Reading:
    """One process at one moment."""

    snapshot: Snapshot
    counters: Mapping[str, int]
    task: TaskStat


def parse_proc_io(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Rates of the processes that did any I/O between the first and the last scan, the busiest first.

    `read_bytes` and `write_bytes` went to or came from a device, `rchar` and `wchar` passed through system
    calls; writes of a journal count for its kernel thread. A process is the same in both scans if its start time
    is. The delay is known only where delay accounting is on, which it is not by default since 5.14.
    """
    samples = sampled.read_samples(parts, _MAX_BYTES)
    scans = _group_scans(samples)
    if len(scans) < 2:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    switch = samples.of(_DELAYS)
    accounted = not switch or switch[-1].body.strip() != b"0"
    first: Scan = {}
    for scan in scans:  # a sampler that had to begin again left its first scan unfinished
        first = {**scan, **first}
    rows = _build_rows(first, scans[-1], accounted=accounted)
    rows.sort(key=lambda row: (-sum(float(cell or 0) for cell in row[1][3:7]), row[0]))
    stored_rows = rows[:_MAX_ROWS]
    table = Table(
        "proc_io",
        _COLUMNS,
        tuple(row for _, row in stored_rows),
        sampled.PART,
        tuple(line for line, _ in stored_rows),
    )
    facts = {"io_delay_accounted": accounted, "proc_io_processes": len(scans[-1])}
    return Parsed(tables=(table,) if stored_rows else (), facts=facts, warnings=samples.warnings)


Scan = dict[int, _Reading]


def _group_scans(samples: Samples) -> list[Scan]:
    """Processes by pid in each scan in order of time; only those of which both files could be read."""
    tasks: dict[tuple[int, int], TaskStat] = {}
    for match, snapshots in samples.matching(_STAT):
        for snapshot in snapshots:
            task = task_stat.parse_task_stat(snapshot.body.strip())
            if task is not None and task.pid == int(match[1]):
                tasks[snapshot.tick, task.pid] = task
    by_tick: dict[int, Scan] = {}
    for match, snapshots in samples.matching(_IO):
        for snapshot in snapshots:
            matching_task = tasks.get((snapshot.tick, int(match[1])))
            if matching_task is not None and (counters := _read_counters(snapshot)):
                by_tick.setdefault(snapshot.tick, {})[matching_task.pid] = _Reading(
                    snapshot, counters, matching_task
                )
    return [by_tick[tick] for tick in sorted(by_tick)]


def _read_counters(snapshot: Snapshot) -> dict[str, int]:
    """`name: value` on each line; none where one that is wanted is missing."""
    results: dict[str, int] = {}
    for line in snapshot.lines()[:20]:
        name, _, value = line.partition(b":")
        number = parse_whole(value.strip())
        if number is not None and (text := name.decode("ascii", "replace")) in _COUNTERS:
            results[text] = number
    return results if len(results) == len(_COUNTERS) else {}


def _build_rows(first: Scan, last: Scan, *, accounted: bool) -> list[tuple[int, tuple[Cell, ...]]]:
    """(line, row) of each process that is in both scans and did something."""
    changed: list[tuple[_Reading, dict[str, int], float, int | None]] = []
    for pid, after in last.items():
        before = first.get(pid)
        if before is None or before.task.started != after.task.started:
            continue
        elapsed_s = (after.snapshot.boot_ns - before.snapshot.boot_ns) / 1e9
        moved = {name: max(0, after.counters[name] - before.counters[name]) for name in _COUNTERS}
        if elapsed_s > 0 and any(moved.values()):
            changed.append(
                (after, moved, elapsed_s, _compute_waited(before.task, after.task, accounted=accounted))
            )
    totals = {name: sum(moved[name] for _, moved, _, _ in changed) for name in ("read_bytes", "write_bytes")}
    return [
        (after.snapshot.line, _build_row(after, moved, s, wait, totals)) for after, moved, s, wait in changed
    ]


def _compute_waited(before: TaskStat, after: TaskStat, *, accounted: bool) -> int | None:
    if not accounted or before.io_delay is None or after.io_delay is None:
        return None
    return max(0, after.io_delay - before.io_delay)


def _build_row(
    after: _Reading,
    moved: Mapping[str, int],
    elapsed_s: float,
    waited: int | None,
    totals: Mapping[str, int],
) -> tuple[Cell, ...]:
    return (
        *(after.task.pid, after.task.comm, int(after.task.kernel_thread)),
        *(moved[name] / elapsed_s for name in _COUNTERS),
        _compute_share(moved["rchar"], moved["syscr"], 1.0),
        _compute_share(moved["wchar"], moved["syscw"], 1.0),
        _compute_share(moved["read_bytes"], totals["read_bytes"], 100.0),
        _compute_share(moved["write_bytes"], totals["write_bytes"], 100.0),
        None if waited is None else waited / _HZ / elapsed_s * 100.0,
    )


def _compute_share(part: int, total: int, scale: float) -> float | None:
    return scale * part / total if total else None


COLLECTOR = Collector(
    id="proc_io",
    title=Text("I/O by process", "进程 I/O"),
    why=Text(
        "Which processes read and write, how much of it reaches the disk, and how small each call is.",
        "哪些进程在读写、其中多少到达磁盘，以及每次调用有多小。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Sampled(
            "proc",
            Needs(
                files=("/proc/self/io",), root=True, remedy="a kernel built with CONFIG_TASK_IO_ACCOUNTING"
            ),
            files=("/proc/[0-9]*/io", "/proc/[0-9]*/stat", _DELAYS),
            once=True,
        ),
    ),
    parse=parse_proc_io,
    cost=Cost(
        0.2,
        20_000,
        Text(
            "Two scans of all processes; names, never command lines.",
            "对所有进程扫描两次；只读名称，不读命令行。",
        ),
    ),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
