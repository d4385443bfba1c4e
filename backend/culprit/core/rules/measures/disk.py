"""Numbers about disks that take more than one series: synchronous writes, queues, tasks that nobody can interrupt."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Sequence

import numpy as np

from collectors.contract import Text
from culprit.core.rules.contract import Citation, Measure, Measured, Over
from culprit.core.rules.measures.places import DATABASES, asked_about, group_of, process
from culprit.core.rules.read import take
from culprit.core.rules.view import Row, Stacks, View

#: Where a thread stands while a write, or the journal of a file system, is forced out to the device.
SYNC_WAITS = (
    "jbd2_log_wait_commit", "jbd2_log_do_checkpoint", "jbd2_complete_transaction", "ext4_fc_commit", "ext4_sync_file",
    "xlog_wait_on_iclog", "xfs_log_force_seq", "xfs_log_force", "xfs_file_fsync", "btrfs_sync_log",
    "wait_log_commit", "wait_current_trans", "f2fs_issue_flush", "blkdev_issue_flush", "submit_bio_wait",
    "folio_wait_writeback", "wait_on_page_writeback", "__filemap_fdatawait_range", "file_write_and_wait_range",
    "generic_write_sync", "vfs_fsync_range",
)  # fmt: skip
SYNC_FRAMES = (
    "^(vfs_fsync_range|generic_write_sync|do_fsync|__x64_sys_fsync|__x64_sys_fdatasync|__x64_sys_msync|ext4_sync_file"
    "|xfs_file_fsync|btrfs_sync_file|jbd2_log_wait_commit|ext4_fc_commit)$"
)
RECLAIM_FRAMES = "^(shrink_node|shrink_lruvec|try_to_free_pages|try_to_free_mem_cgroup_pages|reclaim_high|shrink_folio_list)$"
_SYNC_CALLS = frozenset(("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"))
#: Waits that are uninterruptible by design and mean nothing: a parent between vfork and exec, idle kernel threads.
_MEANS_NOTHING = frozenset(("kernel_clone", "wait_for_vfork_done", "worker_thread", "kthread", "do_wait", "None", ""))


def _io(view: View) -> dict[str, Row]:
    return {row.text("pid"): row for row in view.rows("proc_io")}


def _sync_files(view: View, *, databases: bool) -> list[Measured]:
    """Writes per second through descriptors with O_SYNC or O_DSYNC.

    The calls of a process are shared among its files by how far each position moved; where nobody counted calls,
    a moving position says nothing of their number.
    """
    calls, devices = _io(view), _device_of_path(view)
    found = []
    for row in view.rows("fds"):
        pid, path, moved = row.text("pid"), row.text("path"), row.number("pos_delta_bytes_per_s")
        if not row.number("o_dsync") or path.startswith(("/dev/", "/proc/")) or not asked_about(view, pid):
            continue
        if (row.text("comm") in DATABASES) != databases:
            continue
        done = calls.get(pid)
        written, times = (done.number("wchar_per_s"), done.number("syscw_per_s")) if done else (None, None)
        rate = 0.0
        if done and moved and written and times:
            rate = times * min(1.0, abs(moved) / written)
        subject = dict(process(view, row))
        if device := devices(path):
            subject["dev"] = device
        detail = {"path": path, "flags": row.text("flags"), "comm": row.text("comm"), "fd": row.text("fd")}
        cites = (row.cite, done.cite) if done else (row.cite,)
        found.append(Measured(rate, tuple(sorted(subject.items())), cites, 1, (), detail))
    return found


def _device_of_path(view: View) -> Callable[[str], str]:
    """Finds the block device behind a path by the longest mount point, among the devices with figures."""
    known = {lane.labels.get("dev", "") for lane in view.of("disk.w_iops")}
    places = []
    for row in view.rows("mounts"):
        name = row.text("device").rpartition("/")[2]
        if name in known:
            places.append((row.text("mountpoint").rstrip("/"), name))
    places.sort(key=lambda one: -len(one[0]))

    def find(path: str) -> str:
        return next((dev for where, dev in places if path == where or path.startswith(f"{where}/")), "")

    return find


def _requests(view: View) -> list[Measured]:
    """Writes and flushes that each device completed per second, together."""
    writes = {one.subject: one for one in take_all(view, Over("disk.w_iops", "mean"))}
    flushes = {one.subject: one for one in take_all(view, Over("disk.flush_per_s", "mean"))}
    found = []
    for subject, one in writes.items():
        more = flushes.get(subject)
        value = one.value + (more.value if more else 0.0)
        found.append(Measured(value, subject, (*one.citations, *(more.citations if more else ())), one.n))
    return found


def take_all(view: View, read: Over) -> Sequence[Measured]:
    """The numbers of a series, none where there are none."""
    found = take(view, read)
    return found if isinstance(found, Sequence) else ()


def _blocked(view: View) -> list[Measured]:
    """Threads stuck in the kernel at a moment: of each process that was watched, and of all others by name."""
    found = []
    for row in view.rows("thread_groups"):
        blocked = row.number("mean_blocked")
        if blocked is not None:
            detail = {"comm": row.text("comm"), "pid": row.text("pid"), "threads": row.text("threads")}
            found.append(Measured(blocked, process(view, row), (row.cite,), 1, (), detail))
    for row in view.rows("wchans"):
        seen, scans = row.number("seen"), row.number("scans")
        if row.text("wchan") not in _MEANS_NOTHING and seen and scans:
            detail = {"comm": row.text("comm"), "wchan": row.text("wchan")}
            found.append(Measured(seen / scans, (("comm", row.text("comm")),), (row.cite,), int(scans), (), detail))
    return found


def _stuck(view: View) -> list[Measured]:
    """Tasks that were in uninterruptible sleep at the same place in both looks, seconds apart."""
    kept = []
    for row in view.rows("wchans"):
        tasks, seen = row.number("tasks"), row.number("seen")
        if row.text("wchan") not in _MEANS_NOTHING and tasks is not None and seen is not None:
            if (row.number("scans") or 0) >= 2 and seen > tasks:
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
    """How busy the busiest device was, in most readings."""
    busy = take_all(view, Over("disk.util_pct", "held"))
    top = max(busy, key=lambda one: one.value, default=None)
    return [Measured(top.value, (), top.citations, top.n)] if top else []


def _sync_waiters(view: View, *, databases: bool) -> list[Measured]:
    """Threads of a process that wait at a moment for something to be forced out to the device."""
    counted: defaultdict[str, float] = defaultdict(float)
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in view.rows("threads"):
        share, blocked = row.number("wchan_pct"), row.number("blocked_pct")
        if row.text("wchan") in SYNC_WAITS and share and blocked:
            counted[row.text("pid")] += min(share, blocked) / 100.0
            rows[row.text("pid")].append(row)
    names = {row.text("pid"): row for row in view.rows("thread_groups")}
    found = []
    for pid, value in counted.items():
        whole = names.get(pid)
        comm = whole.text("comm") if whole else rows[pid][0].text("comm")
        if (comm in DATABASES) != databases or comm.startswith("jbd2") or not asked_about(view, pid):
            continue
        if whole and group_of(view).get(pid, "") == "/" and _is_kernel(view, pid):
            continue
        where = sorted({row.text("wchan") for row in rows[pid]})
        detail = {"comm": comm, "pid": pid, "wchan": ", ".join(where[:3])}
        subject = process(view, whole) if whole else (("comm", comm), ("pid", pid))
        cites = tuple(row.cite for row in rows[pid][:4])
        found.append(Measured(value, subject, cites, len(rows[pid]), (), detail))
    return found


def _is_kernel(view: View, pid: str) -> bool:
    return any(row.text("pid") == pid and row.number("kernel_thread") for row in view.rows("processes"))


def _sync_calls(view: View, of: Callable[[Row], float | None]) -> list[Measured]:
    """What `of` reads off the calls that force data out, added up for each process that is no database."""
    sums: defaultdict[str, float] = defaultdict(float)
    rows: defaultdict[str, list[Row]] = defaultdict(list)
    for row in view.rows("syscalls"):
        value = of(row)
        if row.text("syscall") in _SYNC_CALLS and value is not None:
            sums[row.text("pid")] += value
            rows[row.text("pid")].append(row)
    found = []
    for pid, value in sums.items():
        comm = rows[pid][0].text("comm")
        if comm not in DATABASES:
            detail = {"comm": comm, "pid": pid, "syscall": rows[pid][0].text("syscall")}
            found.append(
                Measured(value, (("pid", pid),), tuple(row.cite for row in rows[pid][:4]), len(rows[pid]), (), detail)
            )
    return found


def _waited_ms(row: Row) -> float | None:
    rate, each = row.number("rate"), row.number("avg")
    return rate * each if rate is not None and each is not None else None


def _share(kinds: tuple[str, ...], pattern: str) -> Callable[[View], list[Measured]]:
    def read(view: View) -> list[Measured]:
        found = []
        for kind in kinds:
            stacks: Stacks | None = view.stacks.get(kind)
            if stacks is not None:
                found.append(stacks.share(pattern))
        return found

    return read


def _queues(view: View) -> list[Measured]:
    """Requests waiting at a device in most readings, of the devices that are stacked on no other."""
    stacked = {row.text("dev") for row in view.rows("block_devices") if row.text("slaves")}
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    found = []
    for one in take_all(view, Over("disk.aqu", "held")):
        dev = dict(one.subject).get("dev", "")
        if dev not in stacked:
            detail = {"dev": dev, "rotational": rotating.get(dev) or 0.0}
            found.append(Measured(one.value, one.subject, one.citations, one.n, (), detail))
    return found


def _slowness(view: View) -> list[Measured]:
    """How many times longer a request takes than such a device needs: 20 ms of a turning disk, 5 ms of an SSD, 2 of NVMe.

    Source: playbooks of the case studies. What the kernel calls rotational may be a virtual disk: then the mildest
    bound holds.
    """
    rotating = {row.text("dev"): row.number("rotational") for row in view.rows("block_devices")}
    worst: dict[str, Measured] = {}
    for metric in ("disk.r_await_ms", "disk.w_await_ms"):
        for one in take_all(view, Over(metric, "held")):
            dev = dict(one.subject).get("dev", "")
            bound = 2.0 if dev.startswith("nvme") else 5.0 if rotating.get(dev) == 0 else 20.0
            made = Measured(one.value / bound, one.subject, one.citations, one.n, (), {"await_ms": round(one.value, 1)})
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
                lane.cite.run, lane.cite.collector, lane.cite.artifact, lane.cite.part,
                () if lane.lines is None else (int(lane.lines[0]), int(lane.lines[-1])),
            )  # fmt: skip
            detail = {"mb_per_s": round(float(values.mean()), 1)}
            found.append(Measured(100.0 * float(values.std() / values.mean()), subject, (cite,), len(values), (), detail))
    return found


def _writes_per_request(view: View) -> list[Measured]:
    """Writes of the busiest device for each request that the application answered."""
    asked = take_all(view, Over("app.requests_per_s", "mean"))
    writes = [one for one in take_all(view, Over("disk.w_iops", "mean")) if one.value >= 1.0]
    total = sum(one.value for one in asked)
    if not asked or not writes or total < 1.0:
        return []
    top = max(writes, key=lambda one: one.value)
    return [Measured(top.value / total, top.subject, (*top.citations, *asked[0].citations), top.n)]


def _read_ahead(view: View) -> list[Measured]:
    """Read-ahead of devices whose mean read is nearly that long: each small fault reads all of it."""
    sizes = {dict(one.subject).get("dev", ""): one for one in take_all(view, Over("disk.rareq_kb", "mean"))}
    found = []
    for row in view.rows("block_devices"):
        ahead, size = row.number("read_ahead_kb"), sizes.get(row.text("dev"))
        if ahead is not None and size is not None and ahead >= size.value >= 0.8 * min(ahead, 128.0):
            detail = {"dev": row.text("dev"), "read_kb": round(size.value)}
            found.append(
                Measured(ahead, (("dev", row.text("dev")),), (row.cite, *size.citations), size.n, (), detail)
            )
    return found


def _in_flight(view: View) -> list[Measured]:
    """The most requests that a device had not answered at one moment."""
    return [
        Measured(value, (("dev", row.text("dev")),), (row.cite,), 1, (), {"nr_requests": row.text("nr_requests")})
        for row in view.rows("block_devices")
        if (value := row.number("inflight_max")) is not None and not row.text("slaves")
    ]


def _full(view: View, column: str) -> list[Measured]:
    """How full file systems are that can be written to; images that are full by design are read-only."""
    found = []
    for row in view.rows("mounts"):
        value = row.number(column)
        if value is not None and not row.number("read_only"):
            detail = {"mount": row.text("mountpoint"), "device": row.text("device")}
            found.append(Measured(value, (("mount", row.text("mountpoint")),), (row.cite,), 1, (), detail))
    return found


def _ill(view: View) -> list[Measured]:
    """1 for a disk or array that says it is failing, and 0 for one that says it is not."""
    found = []
    for row in view.rows("disks_health"):
        ill = row.text("state") in {"failing", "degraded", "offline", "dead"}
        detail = {"dev": row.text("device"), "source": row.text("source"), "state": row.text("state")}
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


def _measure(  # noqa: PLR0917 - a table of measures reads better by position
    name: str,
    unit: str,
    en: str,
    zh: str,
    needs: tuple[tuple[str, ...], ...],
    read: Callable[[View], Sequence[Measured]],
) -> Measure:
    return Measure(name, unit, Text(en, zh), needs, read)


SYNC_FILES = _measure(
    "fd.sync_writes_per_s", "per_s", "Writes to a file opened for synchronous writing", "同步打开文件的写次数",
    (("fd_table",), ("proc_io",)), lambda view: _sync_files(view, databases=False),
)  # fmt: skip
DATABASE_SYNC_FILES = _measure(
    "fd.database_sync_writes_per_s", "per_s", "Synchronous writes of a database", "数据库的同步写次数",
    (("fd_table",), ("proc_io",)), lambda view: _sync_files(view, databases=True),
)  # fmt: skip
DEVICE_REQUESTS = _measure(
    "disk.writes_and_flushes_per_s", "per_s", "Writes and flushes of the device", "设备写与刷新次数", (("iostat",),),
    _requests,
)  # fmt: skip
BLOCKED = _measure(
    "proc.mean_blocked_threads", "count", "Threads stuck in the kernel", "不可中断的线程数", (("proc_threads",),), _blocked
)  # fmt: skip
STUCK = _measure(
    "tasks.stuck", "count", "Tasks stuck at the same place", "停在同一处的不可中断任务", (("proc_threads",),), _stuck
)  # fmt: skip
BUSIEST = _measure(
    "disk.busiest_util_pct", "pct", "Utilisation of the busiest device", "最忙设备的利用率", (("iostat",),), _busiest
)  # fmt: skip
SYNC_WAITERS = _measure(
    "proc.threads_waiting_for_sync", "count", "Threads waiting for data to be forced out", "等待强制落盘的线程数",
    (("proc_threads",),), lambda view: _sync_waiters(view, databases=False),
)  # fmt: skip
DATABASE_SYNC_WAITERS = _measure(
    "proc.database_threads_waiting_for_sync", "count", "Database threads waiting for a commit", "等待提交落盘的数据库线程",
    (("proc_threads",),), lambda view: _sync_waiters(view, databases=True),
)  # fmt: skip
SYNC_CALLS = _measure(
    "syscall.sync_per_s", "per_s", "Calls that force data out", "强制落盘的系统调用", (("perf_trace",),),
    lambda view: _sync_calls(view, lambda row: row.number("rate")),
)  # fmt: skip
SYNC_CALL_MS = _measure(
    "syscall.sync_waited_ms_per_s", "ms", "Time in calls that force data out, per second", "每秒强制落盘耗时",
    (("perf_trace",),), lambda view: _sync_calls(view, _waited_ms),
)  # fmt: skip
SYNC_STACKS = _measure(
    "off_cpu.sync_pct", "pct", "Waiting for data to be forced out", "等待强制落盘的时间占比", (("offcpu",),),
    _share(("off_cpu",), SYNC_FRAMES),
)  # fmt: skip
SYNC_CPU_STACKS = _measure(
    "cpu.sync_write_pct", "pct", "CPU time in synchronous writes", "同步写的 CPU 占比", (("perf_record",),),
    _share(("on_cpu",), SYNC_FRAMES),
)  # fmt: skip
RECLAIM_STACKS = _measure(
    "cpu.reclaim_pct", "pct", "CPU time in reclaim", "内存回收的 CPU 占比", (("perf_record",),),
    _share(("on_cpu",), RECLAIM_FRAMES),
)  # fmt: skip
QUEUE = _measure(
    "disk.queue", "count", "Requests waiting at the device", "设备排队请求数", (("iostat",),), _queues
)  # fmt: skip
SLOWNESS = _measure(
    "disk.await_of_usual", "count", "Time of a request against what such a device needs", "请求耗时与同类设备之比",
    (("iostat",),), _slowness,
)  # fmt: skip
PLATEAU = _measure(
    "disk.read_variation_pct", "pct", "Variation of the throughput", "吞吐波动", (("iostat",),), _plateau
)  # fmt: skip
WRITES_PER_REQUEST = _measure(
    "disk.writes_per_request", "count", "Device writes for each request", "每请求设备写次数",
    (("iostat",), ("app_metrics", "app_log")), _writes_per_request,
)  # fmt: skip
READ_AHEAD = _measure(
    "disk.read_ahead_kb", "kb", "Read-ahead that each read uses up", "每次读都用满的预读", (("block_queue",), ("iostat",)),
    _read_ahead,
)  # fmt: skip
IN_FLIGHT = _measure(
    "disk.inflight_max", "count", "Requests not answered at one moment", "同一时刻未完成的请求", (("block_queue",),),
    _in_flight,
)  # fmt: skip
SPACE = _measure(
    "mount.used_pct", "pct", "Space used", "空间使用率", (("mounts",),), lambda view: _full(view, "used_pct")
)  # fmt: skip
INODES = _measure(
    "mount.inodes_used_pct", "pct", "Inodes used", "inode 使用率", (("mounts",),),
    lambda view: _full(view, "inodes_used_pct"),
)  # fmt: skip
ILL = _measure(
    "disk.ill", "count", "Disks that say that they are ill", "自报故障的磁盘", (("disks_health",),), _ill
)  # fmt: skip
IO_ERRORS = _measure(
    "disk.errors_logged", "count", "Errors of the disk in the kernel's log", "内核日志中的磁盘错误", (("kmsg",),),
    lambda view: _told(view, "io_error", "io_timeout"),
)  # fmt: skip
FS_ERRORS = _measure(
    "fs.errors_logged", "count", "Errors of the file system in the kernel's log", "内核日志中的文件系统错误", (("kmsg",),),
    lambda view: _told(view, "fs_error"),
)  # fmt: skip
