"""Run-queue delay by task from two readings of /proc/PID/task/TID/schedstat: nearly free, and coarse."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import Column, Context, Parsed, Part, Sentence, Table
from collectors.parse.proc import sampled
from collectors.parse.proc.sampled import Samples, Snapshot
from collectors.parse.tables.tokens import parse_whole, to_text

_STATS = re.compile(r"/proc/(\d{1,10})/task/(\d{1,10})/schedstat")
_MAX_ROWS = 1_000
_COLUMNS = (
    Column("task"),
    Column("tid"),
    Column("pid"),
    Column("runtime", "ms"),
    Column("delay", "ms"),
    Column("switches"),
    Column("delay_avg", "ms"),
)


def parse_schedstat(parts: Mapping[str, Part], context: Context, limit: int) -> Parsed:
    """Time on a CPU, time runnable but waiting for one, and slices run, for each task, between the readings.

    A task that is in one reading only is left out. The mean delay is for each slice; there is no maximum in
    these counters. Source: Documentation/scheduler/sched-stats.rst of the kernel.
    """
    samples = sampled.read_samples(parts, limit)
    rows: list[tuple[str | int | float | None, ...]] = []
    span_ns = 0
    for match, snapshots in samples.matching(_STATS):
        first, last = _read_tasks(snapshots[0]), _read_tasks(snapshots[-1])
        if len(snapshots) < 2 or first is None or last is None:
            continue
        span_ns = max(span_ns, snapshots[-1].boot_ns - snapshots[0].boot_ns)
        run_ns, delay_ns, slices = (after - before for before, after in zip(first, last, strict=True))
        if min(run_ns, delay_ns, slices) < 0 or slices == 0:
            continue
        name = _task_name(samples, match[1], match[2])
        mean_ms = delay_ns / 1e6 / slices
        rows.append((name, int(match[2]), int(match[1]), run_ns / 1e6, delay_ns / 1e6, slices, mean_ms))
    rows.sort(key=lambda row: -float(row[4] or 0))
    if not rows:
        return Parsed(warnings=(*samples.warnings, Sentence("warning.too_few_samples")), readable=False)
    table = Table("schedstat", _COLUMNS, tuple(rows[:_MAX_ROWS]), sampled.PART)
    note = Sentence("warning.sched_coarse")
    return Parsed(tables=(table,), facts={"schedstat_ms": span_ns / 1e6}, warnings=(*samples.warnings, note))


def _read_tasks(snapshot: Snapshot) -> tuple[int, int, int] | None:
    tokens = snapshot.body[:200].split()
    numbers = [parse_whole(token) for token in tokens[:3]]
    if len(numbers) != 3:
        return None
    run_ns, delay_ns, slices = numbers
    return None if run_ns is None or delay_ns is None or slices is None else (run_ns, delay_ns, slices)


def _task_name(samples: Samples, pid: str, tid: str) -> str:
    snapshots = samples.of(f"/proc/{pid}/task/{tid}/comm")
    return to_text(snapshots[-1].body.strip(), 64) if snapshots else f"task {tid}"
