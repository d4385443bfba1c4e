"""What changed on the host in the last three days: packages, files in /etc, boots, services, new processes."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np

from collectors.contract import (
    Collector,
    Context,
    Cost,
    Event,
    Needs,
    Parsed,
    Part,
    Script,
    Sentence,
    TargetAccess,
    Text,
    Tier,
)
from collectors.parse.tables import field_lines
from collectors.parse.tables.field_lines import FieldColumn, FieldLine
from collectors.shell import processes

_MAX_EVENTS = 100
#: Changes of one kind within five minutes of each other are one piece of work.
_TOGETHER_S = 300
_KINDS = ("package", "file", "boot", "service", "process", "container")
_COLUMNS = (
    FieldColumn("when", "epoch_s", source="t"),
    FieldColumn("kind", number=False),
    FieldColumn("what", number=False),
)


def parse_changes(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Table `changes`, newest first, and an event for each change that a person or a program made.

    `when` is seconds of the host's wall clock. Boots are older than three days where nothing booted since.
    """
    matching_field_lines = field_lines.read_field_lines(parts, ("change", "end"))
    if matching_field_lines is None:
        return field_lines.report_missing_part()
    end = matching_field_lines["end"][0].whole("now") if matching_field_lines["end"] else None
    oldest = (end or 0) - 72 * 3600
    rows = [
        line
        for line in map(_parse_date, matching_field_lines["change"])
        if line.text("kind") in _KINDS
        and (line.text("kind") == "boot" or (line.whole("t") or oldest) >= oldest)
    ]
    rows.sort(key=lambda line: -(line.whole("t") or 0))
    events = tuple(_build_event(group, context) for group in list(_group_lines(rows))[:_MAX_EVENTS])
    return field_lines.build_parsed(
        matching_field_lines, tables=field_lines.build_table("changes", rows, _COLUMNS), events=events
    )


def _parse_date(line: FieldLine) -> FieldLine:
    """The line with its time in `t`: docker prints `2026-01-31 12:00:00 +0000 UTC`."""
    at = line.text("at", 25)
    if not at:
        return line
    try:
        t = int(datetime.strptime(at, "%Y-%m-%d %H:%M:%S %z").timestamp())
    except (ValueError, OverflowError):
        return line
    return FieldLine(line.tag, {**line.fields, "t": str(t).encode()}, line.number)


@dataclass(slots=True)
class _Group:
    """Changes of one kind that belong together, newest first."""

    kind: str
    lines: list[FieldLine]


def _group_lines(rows: list[FieldLine]) -> Iterator[_Group]:
    for kind in _KINDS:
        group: _Group | None = None
        for line in rows:
            t = line.whole("t")
            if line.text("kind") != kind or t is None or not 0 < t < 1 << 33:
                continue
            if group is not None and (group.lines[-1].whole("t") or 0) - t <= _TOGETHER_S:
                group.lines.append(line)
                continue
            if group is not None:
                yield group
            group = _Group(kind, [line])
        if group is not None:
            yield group


def _build_event(group: _Group, context: Context) -> Event:
    first, last = group.lines[-1], group.lines[0]
    seconds = np.array([first.whole("t"), last.whole("t")], np.int64)
    t_ns, end_ns = (int(t) for t in context.clock.to_utc("realtime", seconds * 1_000_000_000))
    what = [line.text("what", 60) for line in group.lines]
    params: dict[str, str | int | float] = {"count": len(what), "what": ", ".join(what[:3])}
    return Event(
        t_ns=t_ns,
        kind=f"change_{group.kind}",
        severity="info",
        title=Sentence(f"event.change_{group.kind}", params),
        detail="; ".join(what[:20]),
        end_ns=end_ns if end_ns > t_ns else None,
        line=first.number,
        uncertainty_ns=1_000_000_000,
    )


COLLECTOR = Collector(
    id="changes",
    title=Text("Recent changes", "近期变更"),
    why=Text(
        "Most incidents follow a change: packages, files in /etc, restarts, boots, new processes of three days.",
        "多数故障源于变更：三天内的软件包、/etc 文件、服务重启、开机与新进程。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "logs",
            Needs(tools=("awk", "find", "stat"), remedy="read access to /var/log and /etc"),
            sh=processes.SH,
            share=processes.SHARE,
            command_line="read dpkg.log or rpm -qa, find /etc -mmin -4320, /proc/*/stat, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_changes,
    cost=Cost(0.4, 500, Text("Logs and /etc are searched once, at the end.", "结束时检索一次日志与 /etc。")),
    seconds_max=600,
    max_bytes=processes.MAX_BYTES,
    touches=frozenset({TargetAccess.COUNTERS}),
)
