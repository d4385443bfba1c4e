"""Block devices."""

# ruff: noqa: PLR0917 - a table of rows reads better by position

from __future__ import annotations

from collectors.contract import Text
from collectors.metrics.row import Metric, Nature, TrackKind, TrackStyle, Unit


def _disk_metric(
    name: str, unit: Unit, order: int, title: Text, meaning: Text, kind: TrackKind = "line"
) -> Metric:
    nature: Nature = "counter"
    return Metric(
        f"disk.{name}", unit, nature, ("dev",), None, title, meaning, TrackStyle("disk", order, kind)
    )


_DEVICES = (
    _disk_metric(
        "util_pct",
        "pct",
        600,
        Text("Utilization", "利用率"),
        Text(
            "Share of time with a request in flight. Does not show saturation of a throttled or parallel device.",
            "至少有一个请求在途的时间占比；对被限流或可并行的设备并不说明饱和。",
        ),
        "area",
    ),
    _disk_metric(
        "r_iops",
        "per_s",
        601,
        Text("Reads", "读次数"),
        Text("Reads completed per second.", "每秒完成的读请求数。"),
    ),
    _disk_metric(
        "w_iops",
        "per_s",
        602,
        Text("Writes", "写次数"),
        Text("Writes completed per second.", "每秒完成的写请求数。"),
    ),
    _disk_metric(
        "d_iops",
        "per_s",
        603,
        Text("Discards", "丢弃次数"),
        Text("Discards completed per second (4.18 and later).", "每秒完成的 discard 请求数（4.18 起）。"),
    ),
    _disk_metric(
        "flush_per_s",
        "per_s",
        604,
        Text("Flushes", "刷新次数"),
        Text("Cache flushes completed per second (5.5 and later).", "每秒完成的缓存刷新数（5.5 起）。"),
    ),
    _disk_metric("read_mb_s", "mb_per_s", 605, Text("Read", "读吞吐"), Text("Data read.", "读取的数据量。")),
    _disk_metric(
        "write_mb_s", "mb_per_s", 606, Text("Written", "写吞吐"), Text("Data written.", "写入的数据量。")
    ),
    _disk_metric(
        "r_await_ms",
        "ms",
        607,
        Text("Read latency", "读延迟"),
        Text("Mean time of a read from queueing to completion.", "读请求从排队到完成的平均时间。"),
    ),
    _disk_metric(
        "w_await_ms",
        "ms",
        608,
        Text("Write latency", "写延迟"),
        Text("Mean time of a write from queueing to completion.", "写请求从排队到完成的平均时间。"),
    ),
    _disk_metric(
        "f_await_ms",
        "ms",
        609,
        Text("Flush latency", "刷新延迟"),
        Text("Mean time of a cache flush.", "缓存刷新的平均时间。"),
    ),
    _disk_metric(
        "aqu",
        "count",
        610,
        Text("Queue", "队列长度"),
        Text("Mean number of requests in flight or queued.", "在途与排队请求的平均数。"),
    ),
    _disk_metric(
        "rareq_kb",
        "kb",
        611,
        Text("Size of reads", "读请求大小"),
        Text("Mean size of a read.", "读请求的平均大小。"),
    ),
    _disk_metric(
        "wareq_kb",
        "kb",
        612,
        Text("Size of writes", "写请求大小"),
        Text("Mean size of a write.", "写请求的平均大小。"),
    ),
    _disk_metric(
        "rrqm_per_s",
        "per_s",
        613,
        Text("Reads merged", "合并读"),
        Text("Reads merged before they were queued.", "入队前合并的读请求数。"),
    ),
    _disk_metric(
        "wrqm_per_s",
        "per_s",
        614,
        Text("Writes merged", "合并写"),
        Text("Writes merged before they were queued.", "入队前合并的写请求数。"),
    ),
)

_HOST = (
    Metric(
        "disk.blocks_in_kb_per_s",
        "kb_per_s",
        "counter",
        (),
        None,
        Text("Read from block devices", "块设备读"),
        Text("Read from all block devices, as vmstat's bi.", "全部块设备的读速率（vmstat 的 bi）。"),
        TrackStyle("disk", 620, "line"),
    ),
    Metric(
        "disk.blocks_out_kb_per_s",
        "kb_per_s",
        "counter",
        (),
        None,
        Text("Written to block devices", "块设备写"),
        Text("Written to all block devices, as vmstat's bo.", "全部块设备的写速率（vmstat 的 bo）。"),
        TrackStyle("disk", 621, "line"),
    ),
)

ROWS: tuple[Metric, ...] = _DEVICES + _HOST
