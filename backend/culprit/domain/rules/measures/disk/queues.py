"""Numbers about disks that need more than one series: queues, uninterruptible tasks, free space, health."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from collectors.contract import Sentence
from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.derived import (
    Detail,
    build_measure,
    merge_citations,
    read_series,
    share_of,
)
from culprit.domain.rules.measures.disk.device_time import find_needed_ms, list_stacked_devices
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

RECLAIM_FRAMES = (
    "^(shrink_node|shrink_lruvec|shrink_folio_list|reclaim_high"
    "|try_to_free_pages|try_to_free_mem_cgroup_pages)$"
)
#: Samples after which a share of 100 % is at least 80 % (Wilson).
MANY_SAMPLES = 16
ALL_PCT = 100.0
#: Little is left on a disk of any size.
FULL_PCT = 99.5
#: Waits that are uninterruptible by design and mean nothing: a parent between vfork and exec, idle kernel threads.
MEANS_NOTHING = frozenset(
    ("kernel_clone", "wait_for_vfork_done", "worker_thread", "kthread", "do_wait", "None", "")
)


def _stuck(view: HostView) -> list[Measurement]:
    """Tasks that were in uninterruptible sleep at the same place in both samples, seconds apart, and did not move.

    A program that had a turn on a CPU between the samples may have waited twice; of it, only the threads count that no
    sample of them found anywhere else, and all that were seen twice are the upper end.
    """
    moving, kernel = _list_moving(view), _list_kernel_threads(view)
    sure, rows = 0.0, []
    unsure = 0.0
    for row in view.rows("wchans"):
        tasks, seen = row.number("tasks"), row.number("seen")
        checked_twice = (row.number("scans") or 0) >= 2
        if row.text("wchan") in MEANS_NOTHING or row.text("comm") in kernel or not tasks or not seen:
            continue
        if checked_twice and seen > tasks:
            rows.append((seen - tasks, row))
            if row.text("comm") in moving:
                unsure += seen - tasks
            else:
                sure += seen - tasks
    if not rows:
        return _nothing(view, "wchans", "thread_groups")
    rows.sort(key=lambda item: -item[0])
    places = ", ".join(row.text("wchan") for _, row in rows[:3])
    detail: Detail = {"wchan": places, "comm": rows[0][1].text("comm")}
    cites = tuple(row.citation for _, row in rows)
    still = min(unsure, float(len(_list_still_threads(view, moving))))
    interval = Interval("sampled", sure + still, sure + unsure) if unsure > still else None
    return [Measurement(sure + still, (), cites, len(rows), (), detail, interval)]


def _list_moving(view: HostView) -> set[str]:
    """Names of programs that had a turn on a CPU in the window."""
    return {row.text("comm") for row in view.rows("sched_delay") if row.number("switches")}


def _list_kernel_threads(view: HostView) -> set[str]:
    return {row.text("comm") for row in view.rows("processes") if row.number("kernel_thread")}


def _list_still_threads(view: HostView, moving: set[str]) -> list[TableRow]:
    """Threads of moving programs that were in uninterruptible sleep in each of many samples."""
    return [
        row
        for row in view.rows("threads")
        if row.text("comm") in moving
        and (row.number("samples") or 0) >= MANY_SAMPLES
        and (row.number("blocked_pct") or 0) >= ALL_PCT
    ]


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


def _bulk_writes(view: HostView) -> list[Measurement]:
    """Mean size of a write, of devices that are mapped to no other."""
    stacked = list_stacked_devices(view)
    return [
        replace(item, detail={"dev": dict(item.subject).get("dev", "")})
        for item in read_series(view, MetricReading("disk.wareq_kb", "mean"))
        if dict(item.subject).get("dev", "") not in stacked
    ]


def _slowness(view: HostView) -> list[Measurement]:
    """How many times longer a request takes than such a device needs without a queue."""
    needed = find_needed_ms(view)
    worst: dict[str, Measurement] = {}
    for metric in ("disk.r_await_ms", "disk.w_await_ms"):
        for item in read_series(view, MetricReading(metric, "held")):
            dev = dict(item.subject).get("dev", "")
            bound = needed(dev)
            measurement = Measurement(
                item.value / bound, item.subject, item.citations, item.sample_count, (),
                {"await_ms": round(item.value, 1)},
            )  # fmt: skip
            if dev not in worst or measurement.value > worst[dev].value:
                worst[dev] = measurement
    return list(worst.values())


def _plateau(view: HostView) -> list[Measurement]:
    """How little throughput varied, as a coefficient in percent, of devices that read anything."""
    results = []
    for throughput in view.series_of("disk.read_mb_s"):
        values = throughput.values[:, 0]
        values = values[~np.isnan(values)]
        if len(values) >= 10 and values.mean() > 0:
            subject = (("dev", throughput.labels.get("dev", "")),)
            citation = Citation(
                throughput.citation.run,
                throughput.citation.collector,
                throughput.citation.artifact,
                throughput.citation.part,
                () if throughput.lines is None else tuple(int(line) for line in throughput.lines),
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


def _queue_used(view: HostView) -> list[Measurement]:
    """The most requests that a device had not answered at one moment, in percent of those that its queues hold."""
    results = []
    for row in view.rows("block_devices"):
        most, depth = row.number("inflight_max"), row.number("nr_requests")
        if most is not None and depth and not row.text("slaves"):
            holds = depth * max(1.0, row.number("hw_queues") or 1.0)
            detail: Detail = {"requests": round(most), "holds": round(holds), "dev": row.text("dev")}
            results.append(
                Measurement(100.0 * most / holds, (("dev", row.text("dev")),), (row.citation,), 1, (), detail)
            )
    return results


def _faults_of_reads(view: HostView) -> list[Measurement]:
    """Major faults for each read of a device, percent: how many of the reads a fault may have caused."""
    faults = read_series(view, MetricReading("mem.pgmajfault_per_s", "mean"))
    return [
        replace(
            item,
            value=100.0 * fault.value / item.value,
            citations=(*item.citations, *fault.citations),
            interval=None,
        )
        for item in read_series(view, MetricReading("disk.r_iops", "mean"))
        for fault in faults
        if item.value > 0
    ]


def _full(view: HostView, column: str) -> list[Measurement]:
    """How full file systems are that can be written to; images that are full by design are read-only.

    That a file system is full shows no fault where it was full in the baseline: no program needs its space.
    """
    then = (
        {} if view.baseline is None else {row.text("mountpoint"): row for row in view.baseline.rows("mounts")}
    )
    results = []
    for row in view.rows("mounts"):
        value = row.number(column)
        if value is None or row.number("read_only"):
            continue
        before = then[mount].number(column) if (mount := row.text("mountpoint")) in then else None
        full = before is not None and min(value, before) > FULL_PCT
        doubts = (
            (Sentence("doubt.share_as_before", {"before": before}),) if full and before is not None else ()
        )
        results.append(replace(_measure_mount(row, value), quality_issues=doubts))
    return results


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
        Measurement(float(len(cites)), (("dev", dev),), merge_citations(cites), len(cites), (), {"dev": dev})
        for dev, cites in counted.items()
    ]


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
BULK_WRITES = build_measure(
    "disk.write_size_kb", "kb", "Mean size of a write", "平均写入大小", (("iostat",),), _bulk_writes
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
QUEUE_USED = build_measure(
    "disk.queue_used_pct",
    "pct",
    "Use of the queue of the device",
    "设备队列使用率",
    (("block_queue",),),
    _queue_used,
)
FAULTS_OF_READS = build_measure(
    "disk.faults_of_reads_pct",
    "pct",
    "Major faults for each read",
    "每次读对应的主缺页",
    (("vmstat_proc",), ("iostat",)),
    _faults_of_reads,
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
