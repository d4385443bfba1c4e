"""The kernel log: messages about memory, disks, network cards, lock-ups and limits."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass

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
    Text,
    Tier,
)
from collectors.parse.proc import kernel_log
from collectors.parse.proc.kernel_log import LogLine, LogMeaning
from collectors.parse.tables.tokens import to_text

_MAX_BYTES = 8 << 20
_MAX_LINES = 50_000
_MAX_EVENTS = 500
_TOGETHER_NS = 60 * 1_000_000_000
#: The clock of printk is not synchronized: it runs at the rate measured at boot, tens of ppm off the true one.
_DRIFT_PPM = 50
#: Two lines about one process are one kill.
_ONCE = "oom_kill"
_OOM_CGROUP = re.compile(rb"oom_memcg=([^,\s]{1,200})|killed as a result of limit of (\S{1,200})")

#: util-linux loses the facility with -r (a program's <11> becomes <3>), so that only -k selects the kernel's own
#: lines. Busybox knows no -k, and keeps the facility.
_SH = """
LC_ALL=C
export LC_ALL
trap : TERM
sleep "$SECS" &
wait $!
if dmesg -k -r > .log 2> .err; then
    echo "dmesg -k -r" > "${ARGV:-/dev/null}"
elif dmesg -r > .log 2>> .err; then
    echo "dmesg -r" > "${ARGV:-/dev/null}"
elif journalctl -k -b -o short-monotonic --no-pager -n 2000 > .log 2>> .err && grep -q ' kernel: ' .log; then
    echo "journalctl -k -b -o short-monotonic -n 2000" > "${ARGV:-/dev/null}"
else
    cat .err >&2
    exit 69
fi
tail -n 2000 .log
"""


def parse_kmsg(parts: Mapping[str, Part], context: Context) -> Parsed:
    """Events for the lines that matter. Like lines within a minute of each other are one event over a span.

    Timestamps are of the clock of printk, which stops while the host is suspended and drifts from
    CLOCK_MONOTONIC over a long uptime; each event states that as its own uncertainty.
    """
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    groups: list[_Group] = []
    latest: dict[tuple[object, ...], _Group] = {}
    seen = 0
    limited_by = b""
    for number, line in enumerate(part.read(_MAX_BYTES).split(b"\n")[:_MAX_LINES], 1):
        entry = kernel_log.parse_log_lines(line)
        if entry is None:
            continue
        seen += 1
        if match := _OOM_CGROUP.search(entry.text):
            limited_by = match[1] or match[2]
        result = kernel_log.classify_line(entry.text)
        if result is None:
            continue
        key = (result.kind.removesuffix("_cgroup"), *sorted(result.params.items()))
        group = latest.get(key)
        if group is not None and 0 <= entry.monotonic_ns - group.last_ns <= _TOGETHER_NS:
            group.last_ns = entry.monotonic_ns
            group.count += not result.kind.startswith(_ONCE)
        else:
            group = _Group(entry, result, number, entry.monotonic_ns, limited_by)
            latest[key] = group
            groups.append(group)
    warnings = [] if seen else [Sentence("warning.no_kernel_lines")]
    if len(groups) > _MAX_EVENTS:
        warnings.append(Sentence("warning.events_left_out", {"count": len(groups) - _MAX_EVENTS}))
    events = tuple(_build_event(group, context) for group in groups[-_MAX_EVENTS:])
    return Parsed(events=events, warnings=tuple(warnings), readable=seen > 0)


@dataclass(slots=True)
class _Group:
    first: LogLine
    meaning: LogMeaning
    line: int
    last_ns: int
    cgroup: bytes
    count: int = 1


def _build_event(group: _Group, context: Context) -> Event:
    monotonic = np.array([group.first.monotonic_ns, group.last_ns], np.int64)
    t_ns, end_ns = (int(t) for t in context.clock.to_utc("monotonic", monotonic))
    params: dict[str, str | int | float] = {
        name: to_text(value, 80) for name, value in group.meaning.params.items()
    }
    detail = group.first.text
    if group.meaning.kind == "oom_kill_cgroup" and group.cgroup:
        detail += b" [" + group.cgroup + b"]"
    return Event(
        t_ns=t_ns,
        kind=group.meaning.kind,
        severity=group.meaning.severity,
        title=Sentence(f"event.{group.meaning.kind}", {**params, "count": group.count}),
        detail=to_text(detail, 500),
        end_ns=end_ns if group.count > 1 else None,
        line=group.line,
        uncertainty_ns=group.first.monotonic_ns * _DRIFT_PPM // 1_000_000,
    )


COLLECTOR = Collector(
    id="kmsg",
    title=Text("Kernel log", "内核日志"),
    why=Text(
        "OOM kills, a full connection table, hung tasks, and failing disks and network cards, as the kernel logs them.",
        "内核日志记录的 OOM、连接跟踪表满、任务挂起、磁盘与网卡故障。",
    ),
    tier=Tier.LIGHT,
    methods=(
        Script(
            "dmesg",
            Needs(
                tools=("dmesg",),
                remedy="root, or sysctl kernel.dmesg_restrict=0, or the group systemd-journal",
            ),
            sh=_SH,
            command_line="dmesg -k -r | tail -n 2000, after {seconds} s",
            stop="TERM",
        ),
    ),
    parse=parse_kmsg,
    cost=Cost(0.1, 3_000, Text("The kernel log is read once, at the end.", "结束时读取一次内核日志。")),
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    parser_version=2,
    messages={
        "warning.events_left_out": Text(
            "{count} older events were omitted.",
            "省略了 {count} 个较早的事件标记。",
        ),
        "warning.no_kernel_lines": Text(
            "The kernel log has no lines.",
            "内核日志没有内容。",
        ),
    },
    touches=frozenset(),
)
