"""Numbers about disks that need more than one series: queues, uninterruptible tasks, free space, health."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series, share_of
from culprit.domain.rules.measures.places import build_process_subject
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

RECLAIM_FRAMES = (
    "^(shrink_node|shrink_lruvec|shrink_folio_list|reclaim_high"
    "|try_to_free_pages|try_to_free_mem_cgroup_pages)$"
)
#: Waits that are uninterruptible by design and mean nothing: a parent between vfork and exec, idle kernel threads.
MEANS_NOTHING = frozenset(
    ("kernel_clone", "wait_for_vfork_done", "worker_thread", "kthread", "do_wait", "None", "")
)


def _blocked(view: HostView) -> list[Measurement]:
    """Threads stuck in the kernel at a moment: of each process that was watched, and of all others by name."""
    results = []
    for row in view.rows("thread_groups"):
        blocked = row.number("mean_blocked")
        if blocked is not None:
            detail: Detail = {
                "comm": row.text("comm"),
                "pid": row.text("pid"),
                "threads": row.text("threads"),
            }
            results.append(
                Measurement(blocked, build_process_subject(view, row), (row.citation,), 1, (), detail)
            )
    for row in view.rows("wchans"):
        seen, scans = row.number("seen"), row.number("scans")
        if row.text("wchan") not in MEANS_NOTHING and seen and scans:
            detail = {"comm": row.text("comm"), "wchan": row.text("wchan")}
            results.append(
                Measurement(
                    seen / scans, (("comm", row.text("comm")),), (row.citation,), int(scans), (), detail
                )
            )
    return results


def _stuck(view: HostView) -> list[Measurement]:
    """Tasks that were in uninterruptible sleep at the same place in both samples, seconds apart."""
    stored = []
    for row in view.rows("wchans"):
        tasks, seen = row.number("tasks"), row.number("seen")
        checked_twice = (row.number("scans") or 0) >= 2
        if row.text("wchan") not in MEANS_NOTHING and tasks and seen and checked_twice and seen > tasks:
            stored.append((seen - tasks, row))
    if not stored:
        return _nothing(view, "wchans", "thread_groups")
    stored.sort(key=lambda item: -item[0])
    places = ", ".join(row.text("wchan") for _, row in stored[:3])
    detail = {"wchan": places, "comm": stored[0][1].text("comm")}
    cites = tuple(row.citation for _, row in stored[:4])
    return [Measurement(sum(count for count, _ in stored), (), cites, len(stored), (), detail)]


def _nothing(view: HostView, *kinds: str) -> list[Measurement]:
    """Nought, read from the first row of the first of these tables that there is."""
    rows = next((view.rows(kind) for kind in kinds if view.rows(kind)), ())
    return [Measurement(0.0, (), (rows[0].citation,))] if rows else []


def _busiest(view: HostView) -> list[Measurement]:
    """How busy the busiest device was, in most readings; one that completes nothing is not busy, it hangs."""
    at_work = {
        item.subject
        for metric in ("disk.r_iops", "disk.w_iops")
        for item in read_series(view, MetricReading(metric, "mean"))
        if item.value > 0
    }
    busy = [
        item if item.subject in at_work else replace(item, value=0.0)
        for item in read_series(view, MetricReading("disk.util_pct", "held"))
    ]
    top = max(busy, key=lambda item: item.value, default=None)
    return [Measurement(top.value, (), top.citations, top.sample_count)] if top else []


def _queues(view: HostView) -> list[Measurement]:
    """Requests waiting at a device in most readings, of the devices that are stacked on no other."""
    stacked = {row.text("dev") for row in view.rows("block_devices") if row.text("slaves")}
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    results = []
    for item in read_series(view, MetricReading("disk.aqu", "held")):
        dev = dict(item.subject).get("dev", "")
        if dev not in stacked:
            detail: Detail = {"dev": dev, "rotational": rotating.get(dev) or 0.0}
            results.append(
                Measurement(item.value, item.subject, item.citations, item.sample_count, (), detail)
            )
    return results


def _slowness(view: HostView) -> list[Measurement]:
    """How many times longer a request takes than such a device needs: 20 ms where it turns, 5 ms of an SSD, 2 of NVMe.

    Source: playbooks of the case studies. What the kernel calls rotational may be a virtual disk: then the mildest
    bound holds.
    """
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    worst: dict[str, Measurement] = {}
    for metric in ("disk.r_await_ms", "disk.w_await_ms"):
        for item in read_series(view, MetricReading(metric, "held")):
            dev = dict(item.subject).get("dev", "")
            bound = 2.0 if dev.startswith("nvme") else 5.0 if rotating.get(dev) == 0 else 20.0
            measurement = Measurement(
                item.value / bound,
                item.subject,
                item.citations,
                item.sample_count,
                (),
                {"await_ms": round(item.value, 1)},
            )
            if dev not in worst or measurement.value > worst[dev].value:
                worst[dev] = measurement
    return list(worst.values())


def _plateau(view: HostView) -> list[Measurement]:
    """How little throughput varied, as a coefficient in percent, of devices that moved anything to speak of."""
    results = []
    for throughput in view.series_of("disk.read_mb_s"):
        values = throughput.values[:, 0]
        values = values[~np.isnan(values)]
        if len(values) >= 10 and values.mean() >= 5.0:
            subject = (("dev", throughput.labels.get("dev", "")),)
            citation = Citation(
                throughput.citation.run,
                throughput.citation.collector,
                throughput.citation.artifact,
                throughput.citation.part,
                () if throughput.lines is None else (int(throughput.lines[0]), int(throughput.lines[-1])),
            )
            detail: Detail = {"mb_per_s": round(float(values.mean()), 1)}
            results.append(
                Measurement(
                    100.0 * float(values.std() / values.mean()), subject, (citation,), len(values), (), detail
                )
            )
    return results


def _read_ahead(view: HostView) -> list[Measurement]:
    """Read-ahead of devices whose mean read is nearly that long: each small fault reads all of it."""
    sizes = {
        dict(item.subject).get("dev", ""): item
        for item in read_series(view, MetricReading("disk.rareq_kb", "mean"))
    }
    results = []
    for row in view.rows("block_devices"):
        ahead, size = row.number("read_ahead_kb"), sizes.get(row.text("dev"))
        if ahead is not None and size is not None and ahead >= size.value >= 0.8 * min(ahead, 128.0):
            detail: Detail = {"dev": row.text("dev"), "read_kb": round(size.value)}
            results.append(
                Measurement(
                    ahead,
                    (("dev", row.text("dev")),),
                    (row.citation, *size.citations),
                    size.sample_count,
                    (),
                    detail,
                )
            )
    return results


def _in_flight(view: HostView) -> list[Measurement]:
    """The most requests that a device had not answered at one moment."""
    return [
        Measurement(
            value,
            (("dev", row.text("dev")),),
            (row.citation,),
            1,
            (),
            {"nr_requests": row.text("nr_requests")},
        )
        for row in view.rows("block_devices")
        if (value := row.number("inflight_max")) is not None and not row.text("slaves")
    ]


def _full(view: HostView, column: str) -> list[Measurement]:
    """How full file systems are that can be written to; images that are full by design are read-only."""
    return [
        _measure_mount(row, value)
        for row in view.rows("mounts")
        if (value := row.number(column)) is not None and not row.number("read_only")
    ]


def _free_mb(view: HostView) -> list[Measurement]:
    """MiB that users without privileges may still write: `used_pct` is of the space used and of that alone."""
    return [
        _measure_mount(row, used_kb / 1024 * (100.0 / used_pct - 1.0))
        for row in view.rows("mounts")
        if (used_kb := row.number("used_kb")) and (used_pct := row.number("used_pct"))
    ]


def _measure_mount(row: TableRow, value: float) -> Measurement:
    mount = row.text("mountpoint")
    detail: Detail = {"mount": mount, "device": row.text("device")}
    return Measurement(value, (("mount", mount),), (row.citation,), 1, (), detail)


def _ill(view: HostView) -> list[Measurement]:
    """Measure 1 for a disk or array that reports a failure, and 0 for one that reports none."""
    results = []
    for row in view.rows("disks_health"):
        ill = row.text("state") in {"failing", "degraded", "offline", "dead"}
        detail: Detail = {"dev": row.text("device"), "source": row.text("source"), "state": row.text("state")}
        results.append(
            Measurement(float(ill), (("dev", row.text("device")),), (row.citation,), 1, (), detail)
        )
    return results


def _count_events(view: HostView, *kinds: str) -> list[Measurement]:
    """Errors of devices in the kernel's log. Loop devices fail when what they stand on goes, which is no disk."""
    counted: defaultdict[str, list[Citation]] = defaultdict(list)
    for item in view.events_of(*kinds):
        dev = str(item.params.get("dev", ""))
        if not dev.startswith(("loop", "fd", "sr", "zram", "ram")):
            counted[dev].append(item.citation)
    return [
        Measurement(float(len(cites)), (("dev", dev),), tuple(cites[:4]), len(cites), (), {"dev": dev})
        for dev, cites in counted.items()
    ]


BLOCKED = build_measure(
    "proc.mean_blocked_threads",
    "count",
    "Threads stuck in the kernel",
    "不可中断的线程数",
    (("proc_threads",),),
    _blocked,
)
STUCK = build_measure(
    "tasks.stuck",
    "count",
    "Tasks stuck at the same place",
    "停在同一处的不可中断任务",
    (("proc_threads",),),
    _stuck,
)
BUSIEST = build_measure(
    "disk.busiest_util_pct",
    "pct",
    "Utilization of the busiest device that completes requests",
    "仍在完成请求的最忙设备的利用率",
    (("iostat",),),
    _busiest,
)
RECLAIM_STACKS = build_measure(
    "cpu.reclaim_pct",
    "pct",
    "CPU time in reclaim",
    "内存回收的 CPU 占比",
    (("perf_record",),),
    share_of("on_cpu", RECLAIM_FRAMES),
)
QUEUE = build_measure(
    "disk.queue", "count", "Requests waiting at the device", "设备排队请求数", (("iostat",),), _queues
)
SLOWNESS = build_measure(
    "disk.await_of_usual",
    "count",
    "Time of a request against what such a device needs",
    "请求耗时与同类设备之比",
    (("iostat",),),
    _slowness,
)
PLATEAU = build_measure(
    "disk.read_variation_pct", "pct", "Variation of the throughput", "吞吐波动", (("iostat",),), _plateau
)
READ_AHEAD = build_measure(
    "disk.read_ahead_kb",
    "kb",
    "Read-ahead that each read uses up",
    "每次读都用满的预读",
    (("block_queue",), ("iostat",)),
    _read_ahead,
)
IN_FLIGHT = build_measure(
    "disk.inflight_max",
    "count",
    "Requests not answered at one moment",
    "同一时刻未完成的请求",
    (("block_queue",),),
    _in_flight,
)
SPACE = build_measure(
    "mount.used_pct", "pct", "Space used", "空间使用率", (("mounts",),), lambda view: _full(view, "used_pct")
)
SPACE_FREE = build_measure("mount.free_mb", "mb", "Space left", "剩余空间", (("mounts",),), _free_mb)
INODES = build_measure(
    "mount.inodes_used_pct",
    "pct",
    "Inodes used",
    "inode 使用率",
    (("mounts",),),
    lambda view: _full(view, "inodes_used_pct"),
)
ILL = build_measure(
    "disk.ill", "count", "Disks that report a failure", "自报故障的磁盘", (("disks_health",),), _ill
)
IO_ERRORS = build_measure(
    "disk.errors_logged",
    "count",
    "Errors of the disk in the kernel's log",
    "内核日志中的磁盘错误",
    (("kmsg",),),
    lambda view: _count_events(view, "io_error", "io_timeout"),
)
FS_ERRORS = build_measure(
    "fs.errors_logged",
    "count",
    "Errors of the file system in the kernel's log",
    "内核日志中的文件系统错误",
    (("kmsg",),),
    lambda view: _count_events(view, "fs_error"),
)
