"""perf's own summary, `perf sched timehist -s`: what our own reading of the events is checked against."""

from __future__ import annotations

import re
from collections.abc import Mapping

from collectors.contract import Column, Part, Table
from collectors.parse.tables.tokens import parse_decimal, to_text

PART = "timehist.txt"
_LIMIT = 1 << 20
_MAX_ROWS = 1_000
#: `comm[tid/pid]  parent  sched-in  run-time  min  avg  max  stddev  migrations`; times in ms.
_ROW = re.compile(
    rb"^\s*(.{1,64})\[(\d{1,10})(?:/(\d{1,10}))?\]\s+(-?\d{1,10})\s+(\d{1,12})\s+([\d.]{1,20})\s+([\d.]{1,20})"
    rb"\s+([\d.]{1,20})\s+([\d.]{1,20})\s+\S{1,20}\s+(\d{1,12})"
)
_TOTALS = {
    "timehist_tasks": re.compile(rb"Total number of unique tasks:\s*(\d{1,12})"),
    "timehist_switches": re.compile(rb"Total number of context switches:\s*(\d{1,15})"),
    "timehist_run_ms": re.compile(rb"Total run time \(msec\):\s*([\d.]{1,20})"),
    "timehist_span_ms": re.compile(rb"Total scheduling time \(msec\):\s*([\d.]{1,20})"),
}
_COLUMNS = (
    Column("task"),
    Column("tid"),
    Column("pid"),
    Column("switches"),
    Column("runtime", "ms"),
    Column("run_max", "ms"),
    Column("migrations"),
)


def parse_timehist(parts: Mapping[str, Part]) -> tuple[Table, ...]:
    """One table of tasks, the longest running first; none if the part is missing or empty."""
    part = parts.get(PART)
    if part is None:
        return ()
    rows: list[tuple[str | int | float | None, ...]] = []
    for line in part.read(_LIMIT).split(b"\n"):
        match = _ROW.match(line[:400])
        if match is None:
            continue
        run_ms, longest_ms = parse_decimal(match[6]), parse_decimal(match[9])
        if run_ms != run_ms or longest_ms != longest_ms:  # noqa: PLR0124 - NaN
            continue
        tid = int(match[2])
        pid = int(match[3]) if match[3] else tid
        rows.append(
            (to_text(match[1].strip(), 64), tid, pid, int(match[5]), run_ms, longest_ms, int(match[10]))
        )
    rows.sort(key=lambda row: -float(row[4] or 0))
    return (Table("timehist", _COLUMNS, tuple(rows[:_MAX_ROWS]), PART),) if rows else ()


def sum_timehist(parts: Mapping[str, Part]) -> dict[str, object]:
    """Tasks, context switches, run time and span (ms), as perf adds them up."""
    part = parts.get(PART)
    if part is None:
        return {}
    text = part.read(_LIMIT)
    results: dict[str, object] = {}
    for name, pattern in _TOTALS.items():
        if match := pattern.search(text):
            value = parse_decimal(match[1])
            if value == value:  # noqa: PLR0124 - NaN
                results[name] = int(value) if name in {"timehist_tasks", "timehist_switches"} else value
    return results
