"""vmstat, once a second: run queue, memory, swapping, block I/O, interrupts, switches and CPU time."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Sampled,
    Script,
    Sentence,
    Series,
    Text,
    Tier,
)
from collectors.parse.proc import proc_vmstat, sampled
from collectors.parse.tables import report_times, results
from collectors.parse.tables.text_columns import parse_row
from collectors.parse.tables.tokens import to_text

_MAX_BYTES = 16 << 20
_MAX_REPORTS = 100_000

#: vmstat's columns → metrics, over every version; `gu` came with procps 4.
_COLUMNS = {
    "r": "sched.runq",
    "b": "sched.blocked",
    "swpd": "mem.swap_used_kb",
    "free": "mem.free_kb",
    "buff": "mem.buffers_kb",
    "cache": "mem.cache_kb",
    "si": "mem.swap_in_kb_per_s",
    "so": "mem.swap_out_kb_per_s",
    "bi": "disk.blocks_in_kb_per_s",
    "bo": "disk.blocks_out_kb_per_s",
    "in": "cpu.interrupts_per_s",
    "cs": "sched.switches_per_s",
    "us": "cpu.total_usr_pct",
    "sy": "cpu.total_sys_pct",
    "id": "cpu.total_idle_pct",
    "wa": "cpu.total_iowait_pct",
    "st": "cpu.total_steal_pct",
    "gu": "cpu.total_guest_pct",
}

_SH = """
TZ=UTC0 LC_ALL=C
export TZ LC_ALL
wide='-t -w'
vmstat $wide 1 1 >/dev/null 2>&1 || { wide=-t; vmstat $wide 1 1 >/dev/null 2>&1 || wide=; }
read -r up rest < /proc/uptime && echo "$up" > started
exec vmstat $wide 1 "$((SECS + 1))"
"""


def parse_vmstat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """What vmstat printed, or the same figures from the files that it reads.

    The first report covers the time since boot and is dropped. Columns are taken by name, because they were
    added over the years and change width; a stamp is taken as UTC only if the header states UTC.
    """
    if sampled.PART in parts:
        return proc_vmstat.parse_proc_vmstat(parts, context, _MAX_BYTES)
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    reports, bad = _parse_reports(part.read(_MAX_BYTES))
    warnings = [Sentence("warning.lines_unreadable", {"count": bad})] if bad else []
    reports = reports[1:]
    t_ns = report_times.compute_report_times(
        context, [report.stamp_ns for report in reports], report_times.read_start_ns(parts)
    )
    if t_ns is None:
        return Parsed(warnings=(*warnings, Sentence("warning.no_time")), readable=False)
    lines = np.array([report.line for report in reports], np.int32)
    series: list[Series] = []
    for column, metric in _COLUMNS.items():
        values = np.array([[report.values.get(column, np.nan)] for report in reports], np.float64)
        if np.isfinite(values).any():
            series.append(Series(metric, t_ns, values, lines=lines))
    return results.build_series_result(series, warnings)


@dataclass(frozen=True, slots=True)
class _Report:
    line: int
    values: Mapping[str, float]
    stamp_ns: int | None


def _parse_reports(data: bytes) -> tuple[list[_Report], int]:
    """Every report with its 1-based line, and how many lines could not be read."""
    header: list[bytes] = []
    zone = b""
    reports: list[_Report] = []
    bad = 0
    for number, line in enumerate(data.split(b"\n")[:_MAX_REPORTS], 1):
        tokens = line.split(None, 40)
        if tokens[:2] == [b"r", b"b"]:
            titles = [token for token in tokens if token.islower()]
            header, zone = titles, b" ".join(tokens[len(titles) :])
        elif header and tokens and tokens[0].isdigit():
            values = parse_row(header, tokens[: len(header)])
            if values is None:
                bad += 1
            else:
                reports.append(_Report(number, values, _parse_stamp(tokens[len(header) :], zone)))
    return reports, bad


def _parse_stamp(tokens: list[bytes], zone: bytes) -> int | None:
    """The wall clock at the end of the line, if the header states that it is in UTC."""
    return (
        report_times.parse_epoch_ns(to_text(b" ".join(tokens), 40))
        if zone == b"UTC" and len(tokens) == 2
        else None
    )


COLLECTOR = Collector(
    id="vmstat",
    title=Text("vmstat", "vmstat"),
    why=Text(
        "One line per second that shows whether CPUs, memory, swap or disks are the problem.",
        "每秒一行，先判断问题究竟在 CPU、内存、交换还是磁盘。",
    ),
    tier=Tier.LIGHT,
    mandatory=True,
    methods=(
        Script(
            "procps",
            Needs(tools=("vmstat",), remedy="procps"),
            sh=_SH,
            command_line="vmstat -t -w 1 {seconds}",
            version="vmstat -V",
            stop="TERM",
        ),
        Sampled(
            "proc",
            Needs(files=proc_vmstat.FILES, remedy="mount -t proc proc /proc"),
            files=proc_vmstat.FILES,
            interval_s=1.0,
        ),
    ),
    parse=parse_vmstat,
    cost=Cost(0.1, 150, Text("One small process for the whole run.", "全程一个小进程。")),
    yields=tuple(_COLUMNS.values()),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
