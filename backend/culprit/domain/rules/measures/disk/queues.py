"""Numbers about disks that take more than one series: queues, tasks that nobody can interrupt, room, health."""

from __future__ import annotations

from collections import defaultdict
from dataclasses import replace

import numpy as np

from culprit.core.rules.contract import Citation, Measured, Over
from culprit.core.rules.measures.derived import Detail, derived, series, share_of
from culprit.core.rules.measures.places import process
from culprit.core.rules.view import View

RECLAIM_FRAMES = (
    "^(shrink_node|shrink_lruvec|shrink_folio_list|reclaim_high"
    "|try_to_free_pages|try_to_free_mem_cgroup_pages)$"
)
#: Waits that are uninterruptible by design and mean nothing: a parent between vfork and exec, idle kernel threads.
MEANS_NOTHING = frozenset(
    ("kernel_clone", "wait_for_vfork_done", "worker_thread", "kthread", "do_wait", "None", "")
)


def _blocked(view: View) -> list[Measured]:
    """Threads stuck in the kernel at a moment: of each process that was watched, and of all others by name."""
    found = []
    for row in view.rows("thread_groups"):
        blocked = row.number("mean_blocked")
        if blocked is not None:
            detail: Detail = {
                "comm": row.text("comm"),
                "pid": row.text("pid"),
                "threads": row.text("threads"),
            }
            found.append(Measured(blocked, process(view, row), (row.cite,), 1, (), detail))
    for row in view.rows("wchans"):
        seen, scans = row.number("seen"), row.number("scans")
        if row.text("wchan") not in MEANS_NOTHING and seen and scans:
            detail = {"comm": row.text("comm"), "wchan": row.text("wchan")}
            found.append(
                Measured(seen / scans, (("comm", row.text("comm")),), (row.cite,), int(scans), (), detail)
            )
    return found


def _stuck(view: View) -> list[Measured]:
    """Tasks that were in uninterruptible sleep at the same place in both looks, seconds apart."""
    kept = []
    for row in view.rows("wchans"):
        tasks, seen = row.number("tasks"), row.number("seen")
        looked_twice = (row.number("scans") or 0) >= 2
        if row.text("wchan") not in MEANS_NOTHING and tasks and seen and looked_twice and seen > tasks:
            kept.append((seen - tasks, row))
    if not kept:
        return _nothing(view, "wchans", "thread_groups")
    kept.sort(key=lambda one: -one[0])
    places = ", ".join(row.text("wchan") for _, row in kept[:3])
    detail = {"wchan": places, "comm": kept[0][1].text("comm")}
    cites = tuple(row.cite for _, row in kept[:4])
    return [Measured(sum(count for count, _ in kept), (), cites, len(kept), (), detail)]


def _nothing(view: View, *kinds: str) -> list[Measured]:
    """Nought, read from the first row of the first of these tables that there is."""
    rows = next((view.rows(kind) for kind in kinds if view.rows(kind)), ())
    return [Measured(0.0, (), (rows[0].cite,))] if rows else []


def _busiest(view: View) -> list[Measured]:
    """How busy the busiest device was, in most readings; one that completes nothing is not busy, it hangs."""
    at_work = {
        one.subject
        for metric in ("disk.r_iops", "disk.w_iops")
        for one in series(view, Over(metric, "mean"))
        if one.value > 0
    }
    busy = [
        one if one.subject in at_work else replace(one, value=0.0)
        for one in series(view, Over("disk.util_pct", "held"))
    ]
    top = max(busy, key=lambda one: one.value, default=None)
    return [Measured(top.value, (), top.citations, top.n)] if top else []


def _queues(view: View) -> list[Measured]:
    """Requests waiting at a device in most readings, of the devices that are stacked on no other."""
    stacked = {row.text("dev") for row in view.rows("block_devices") if row.text("slaves")}
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    found = []
    for one in series(view, Over("disk.aqu", "held")):
        dev = dict(one.subject).get("dev", "")
        if dev not in stacked:
            detail: Detail = {"dev": dev, "rotational": rotating.get(dev) or 0.0}
            found.append(Measured(one.value, one.subject, one.citations, one.n, (), detail))
    return found


def _slowness(view: View) -> list[Measured]:
    """How many times longer a request takes than such a device needs: 20 ms where it turns, 5 ms of an SSD, 2 of NVMe.

    Source: playbooks of the case studies. What the kernel calls rotational may be a virtual disk: then the mildest
    bound holds.
    """
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    worst: dict[str, Measured] = {}
    for metric in ("disk.r_await_ms", "disk.w_await_ms"):
        for one in series(view, Over(metric, "held")):
            dev = dict(one.subject).get("dev", "")
            bound = 2.0 if dev.startswith("nvme") else 5.0 if rotating.get(dev) == 0 else 20.0
            made = Measured(
                one.value / bound, one.subject, one.citations, one.n, (), {"await_ms": round(one.value, 1)}
            )
            if dev not in worst or made.value > worst[dev].value:
                worst[dev] = made
    return list(worst.values())


def _plateau(view: View) -> list[Measured]:
    """How little throughput varied, as a coefficient in percent, of devices that moved anything to speak of."""
    found = []
    for lane in view.of("disk.read_mb_s"):
        values = lane.values[:, 0]
        values = values[~np.isnan(values)]
        if len(values) >= 10 and values.mean() >= 5.0:
            subject = (("dev", lane.labels.get("dev", "")),)
            cite = Citation(
                lane.cite.run,
                lane.cite.collector,
                lane.cite.artifact,
                lane.cite.part,
                () if lane.lines is None else (int(lane.lines[0]), int(lane.lines[-1])),
            )
            detail: Detail = {"mb_per_s": round(float(values.mean()), 1)}
            found.append(
                Measured(
                    100.0 * float(values.std() / values.mean()), subject, (cite,), len(values), (), detail
                )
            )
    return found


def _read_ahead(view: View) -> list[Measured]:
    """Read-ahead of devices whose mean read is nearly that long: each small fault reads all of it."""
    sizes = {dict(one.subject).get("dev", ""): one for one in series(view, Over("disk.rareq_kb", "mean"))}
    found = []
    for row in view.rows("block_devices"):
        ahead, size = row.number("read_ahead_kb"), sizes.get(row.text("dev"))
        if ahead is not None and size is not None and ahead >= size.value >= 0.8 * min(ahead, 128.0):
            detail: Detail = {"dev": row.text("dev"), "read_kb": round(size.value)}
            found.append(
                Measured(ahead, (("dev", row.text("dev")),), (row.cite, *size.citations), size.n, (), detail)
            )
    return found


def _in_flight(view: View) -> list[Measured]:
    """The most requests that a device had not answered at one moment."""
    return [
        Measured(
            value, (("dev", row.text("dev")),), (row.cite,), 1, (), {"nr_requests": row.text("nr_requests")}
        )
        for row in view.rows("block_devices")
        if (value := row.number("inflight_max")) is not None and not row.text("slaves")
    ]


def _full(view: View, column: str) -> list[Measured]:
    """How full file systems are that can be written to; images that are full by design are read-only."""
    found = []
    for row in view.rows("mounts"):
        value = row.number(column)
        if value is not None and not row.number("read_only"):
            detail: Detail = {"mount": row.text("mountpoint"), "device": row.text("device")}
            found.append(Measured(value, (("mount", row.text("mountpoint")),), (row.cite,), 1, (), detail))
    return found


def _ill(view: View) -> list[Measured]:
    """1 for a disk or array that says it is failing, and 0 for one that says it is not."""
    found = []
    for row in view.rows("disks_health"):
        ill = row.text("state") in {"failing", "degraded", "offline", "dead"}
        detail: Detail = {"dev": row.text("device"), "source": row.text("source"), "state": row.text("state")}
        found.append(Measured(float(ill), (("dev", row.text("device")),), (row.cite,), 1, (), detail))
    return found


def _told(view: View, *kinds: str) -> list[Measured]:
    """Errors of devices in the kernel's log. Loop devices fail when what they stand on goes, which is no disk."""
    counted: defaultdict[str, list[Citation]] = defaultdict(list)
    for one in view.happened(*kinds):
        dev = str(one.params.get("dev", ""))
        if not dev.startswith(("loop", "fd", "sr", "zram", "ram")):
            counted[dev].append(one.cite)
    return [
        Measured(float(len(cites)), (("dev", dev),), tuple(cites[:4]), len(cites), (), {"dev": dev})
        for dev, cites in counted.items()
    ]


BLOCKED = derived(
    "proc.mean_blocked_threads",
    "count",
    "Threads stuck in the kernel",
    "不可中断的线程数",
    (("proc_threads",),),
    _blocked,
)
STUCK = derived(
    "tasks.stuck",
    "count",
    "Tasks stuck at the same place",
    "停在同一处的不可中断任务",
    (("proc_threads",),),
    _stuck,
)
BUSIEST = derived(
    "disk.busiest_util_pct",
    "pct",
    "Utilisation of the busiest device that completes requests",
    "仍在完成请求的最忙设备的利用率",
    (("iostat",),),
    _busiest,
)
RECLAIM_STACKS = derived(
    "cpu.reclaim_pct",
    "pct",
    "CPU time in reclaim",
    "内存回收的 CPU 占比",
    (("perf_record",),),
    share_of("on_cpu", RECLAIM_FRAMES),
)
QUEUE = derived(
    "disk.queue", "count", "Requests waiting at the device", "设备排队请求数", (("iostat",),), _queues
)
SLOWNESS = derived(
    "disk.await_of_usual",
    "count",
    "Time of a request against what such a device needs",
    "请求耗时与同类设备之比",
    (("iostat",),),
    _slowness,
)
PLATEAU = derived(
    "disk.read_variation_pct", "pct", "Variation of the throughput", "吞吐波动", (("iostat",),), _plateau
)
READ_AHEAD = derived(
    "disk.read_ahead_kb",
    "kb",
    "Read-ahead that each read uses up",
    "每次读都用满的预读",
    (("block_queue",), ("iostat",)),
    _read_ahead,
)
IN_FLIGHT = derived(
    "disk.inflight_max",
    "count",
    "Requests not answered at one moment",
    "同一时刻未完成的请求",
    (("block_queue",),),
    _in_flight,
)
SPACE = derived(
    "mount.used_pct", "pct", "Space used", "空间使用率", (("mounts",),), lambda view: _full(view, "used_pct")
)
INODES = derived(
    "mount.inodes_used_pct",
    "pct",
    "Inodes used",
    "inode 使用率",
    (("mounts",),),
    lambda view: _full(view, "inodes_used_pct"),
)
ILL = derived(
    "disk.ill", "count", "Disks that say that they are ill", "自报故障的磁盘", (("disks_health",),), _ill
)
IO_ERRORS = derived(
    "disk.errors_logged",
    "count",
    "Errors of the disk in the kernel's log",
    "内核日志中的磁盘错误",
    (("kmsg",),),
    lambda view: _told(view, "io_error", "io_timeout"),
)
FS_ERRORS = derived(
    "fs.errors_logged",
    "count",
    "Errors of the file system in the kernel's log",
    "内核日志中的文件系统错误",
    (("kmsg",),),
    lambda view: _told(view, "fs_error"),
)
