"""Programs that a schedule started: children of cron or at, and services of systemd timers."""

# ruff: noqa: E501 - a statement of the program for the host stays on one line

from __future__ import annotations

from collections.abc import Mapping

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Needs,
    Parsed,
    Part,
    Script,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn
from collectors.shell import processes

_COLUMNS = (
    *(FieldColumn("pid"), FieldColumn("comm", number=False), FieldColumn("scheduler", number=False)),
    *(FieldColumn("job", number=False), FieldColumn("line", number=False), FieldColumn("age", "s")),
)


def parse_scheduled_jobs(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `scheduled_jobs`: a row for each process of a job. `job` is the unit, or the program that cron started."""
    del context
    matching_field_lines = field_lines.read_field_lines(parts, ("job", "end"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    return field_lines.build_parsed(
        matching_field_lines,
        tables=field_lines.build_table("scheduled_jobs", matching_field_lines["job"], _COLUMNS),
    )


COLLECTOR = Collector(
    id="scheduled_jobs",
    title=Text("Scheduled jobs", "定时任务"),
    why=Text(
        "A backup or a log rotation that runs now takes CPU and disk from everything else, and is over when you look.",
        "正在运行的备份或日志轮转会抢占 CPU 与磁盘，等你去看时往往已经结束。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "proc",
            Needs(tools=("awk", "grep", "sed", "sort"), remedy="awk, grep, sed"),
            sh=processes.SH,
            share=processes.SHARE,
            command_line="read /proc/PID/stat, systemctl list-timers, crontabs (file, line and schedule only), after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_scheduled_jobs,
    cost=Cost(0.2, 50, Text("All processes are read once, at the end.", "结束时读取一次所有进程。")),
    seconds_max=600,
    max_bytes=processes.MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
