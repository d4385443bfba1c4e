"""iostat, once a second: requests, throughput, latency and queue of every block device."""

from __future__ import annotations

from collections.abc import Mapping

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
from collectors.parse.proc import diskstats, sampled
from collectors.parse.tables import iostat_reports, report_times, results

_MAX_BYTES = 64 << 20
_IDLE_IS_NO_DATA = {
    "disk.r_await_ms": "disk.r_iops",
    "disk.rareq_kb": "disk.r_iops",
    "disk.w_await_ms": "disk.w_iops",
    "disk.wareq_kb": "disk.w_iops",
    "disk.f_await_ms": "disk.flush_per_s",
}

_SH = """
S_TIME_FORMAT=ISO LC_ALL=C TZ=UTC0
export S_TIME_FORMAT LC_ALL TZ
json='-o JSON'
iostat -dxyt $json 1 1 2>/dev/null | grep -q sysstat || json=
[ -n "$json" ] || iostat -V 2>&1 | grep -qi sysstat || exit 69
read -r up rest < /proc/uptime && echo "$up" > started
exec iostat -dxkyt $json 1 "$SECS"
"""


def parse_iostat(parts: Mapping[str, Part], context: Context) -> Parsed:
    """What iostat printed (JSON, or text before 11.5), or the same figures from /proc/diskstats.

    A mean latency or size in a second without such requests is no data, though iostat prints 0.
    """
    if sampled.PART in parts:
        return diskstats.parse_diskstats(parts, context, _MAX_BYTES)
    part = parts.get("stdout")
    if part is None:
        return Parsed(warnings=(Sentence("warning.part_missing", {"part": "stdout"}),), readable=False)
    reports, warnings = iostat_reports.parse_iostat_reports(part.read(_MAX_BYTES))
    t_ns = report_times.compute_report_times(
        context, [report.stamp_ns for report in reports], report_times.read_start_ns(parts)
    )
    if t_ns is None:
        return Parsed(warnings=(*warnings, Sentence("warning.no_time")), readable=False)
    series: list[Series] = []
    for dev in iostat_reports.list_devices(reports):
        rows = [report.devices.get(dev) for report in reports]
        lines = np.array([row.line if row else 0 for row in rows], np.int32)
        columns = {
            metric: np.array([[row.values.get(metric, np.nan) if row else np.nan] for row in rows])
            for metric in iostat_reports.METRICS
        }
        for metric, requests in _IDLE_IS_NO_DATA.items():
            columns[metric] = np.where(columns[requests] == 0, np.nan, columns[metric])
        for metric, values in columns.items():
            if np.isfinite(values).any():
                series.append(Series(metric, t_ns, values, {"dev": dev}, lines=lines))
    return results.build_series_result(series, warnings)


COLLECTOR = Collector(
    id="iostat",
    title=Text("iostat", "iostat"),
    why=Text(
        "Which disk is slow, full or throttled, by requests, latency and queue.",
        "从请求数、延迟与队列判断哪块磁盘慢、满或被限流。",
    ),
    tier=Tier.LIGHT,
    mandatory=True,
    methods=(
        Script(
            "sysstat",
            Needs(tools=("iostat",), remedy="sysstat"),
            sh=_SH,
            command_line="S_TIME_FORMAT=ISO iostat -dxkyt -o JSON 1 {seconds}",
            version="iostat -V",
        ),
        Sampled(
            "proc",
            Needs(files=(diskstats.PATH,), remedy="mount -t proc proc /proc"),
            files=(diskstats.PATH,),
            interval_s=1.0,
        ),
    ),
    parse=parse_iostat,
    cost=Cost(0.1, 800, Text("One small process for the whole run.", "全程一个小进程。")),
    yields=iostat_reports.METRICS,
    seconds_max=600,
    max_bytes=_MAX_BYTES,
    touches=frozenset(),
)
