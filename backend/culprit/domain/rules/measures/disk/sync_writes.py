"""Numbers about writes that are forced out to the device one by one: files, waiting threads, calls, stacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Mapping
from dataclasses import dataclass

from culprit.domain.rules.finding import Citation, Measurement
from culprit.domain.rules.intervals import Interval
from culprit.domain.rules.measures.application.requests import RATE
from culprit.domain.rules.measures.derived import (
    Detail,
    build_measure,
    cite_rows,
    merge_citations,
    read_series,
    share_of,
)
from culprit.domain.rules.measures.disk.device_time import list_stacked_devices
from culprit.domain.rules.measures.disk.io_limits import estimate_blocked
from culprit.domain.rules.measures.places import DATABASES, build_process_subject, cite_process, is_in_scope
from culprit.domain.rules.rule import MetricReading
from culprit.domain.rules.view import HostView, TableRow

#: Kernel functions of a thread while a write, or the journal of a file system, is forced out to the device.
SYNC_WAITS = (
    "jbd2_log_wait_commit",
    "jbd2_log_do_checkpoint",
    "jbd2_complete_transaction",
    "ext4_fc_commit",
    "ext4_sync_file",
    "xlog_wait_on_iclog",
    "xfs_log_force_seq",
    "xfs_log_force",
    "xfs_file_fsync",
    "btrfs_sync_log",
    "wait_log_commit",
    "wait_current_trans",
    "f2fs_issue_flush",
    "blkdev_issue_flush",
    "submit_bio_wait",
    "folio_wait_writeback",
    "wait_on_page_writeback",
    "__filemap_fdatawait_range",
    "file_write_and_wait_range",
    "generic_write_sync",
    "vfs_fsync_range",
)
#: Writes of the device for a synchronous write at most: data, blocks of the journal, its commit, the inode. ext4 makes
#: 3.04 of them (measured).
MOST_WRITES_PER_CALL = 4.0
#: A process that sends less than a tenth of what devices are sent is not what keeps them busy.
LEAST_SHARE_PCT = 10.0
SYNC_FRAMES = (
    "^(vfs_fsync_range|generic_write_sync|do_fsync|__x64_sys_fsync|__x64_sys_fdatasync|__x64_sys_msync|ext4_sync_file"
    "|xfs_file_fsync|btrfs_sync_file|jbd2_log_wait_commit|ext4_fc_commit)$"
)
_SYNC_CALLS = frozenset(("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"))


def _io(view: HostView) -> dict[str, TableRow]:
    return {row.text("pid"): row for row in view.rows("proc_io")}


def _sync_files(view: HostView, *, databases: bool) -> list[Measurement]:
    """Time that synchronous writes to a file wait for its device, in percent of the time of a thread.

    The calls of a process are shared among its files by how far each position moved. Each call waits for a write of
    the device at least, and for a flush if the device is flushed. The journal makes further writes: between the two
    ends, the share of the process in what was sent estimates the time. The device of a file may be unknown: then it
    may be any.
    """
    calls, devices, costs = _io(view), _device_of_path(view), _read_write_costs(view)
    only = next(iter(costs)) if len(costs) == 1 else ""
    cost_cites = merge_citations(
        (
            *(citation for item in costs.values() for citation in item.citations),
            *cite_rows(view.rows("mounts"), view.rows("block_devices")),
        )
    )
    results = []
    for row in view.rows("fds"):
        pid, path, moved = row.text("pid"), row.text("path"), row.number("pos_delta_bytes_per_s")
        if not row.number("o_dsync") or path.startswith(("/dev/", "/proc/")) or not is_in_scope(view, pid):
            continue
        if (row.text("comm") in DATABASES) != databases:
            continue
        device = devices(path) or only
        done, cost = calls.get(pid), costs.get(device)
        rate = _count_calls(done, moved) if done else 0.0
        low = cost.wait_of(rate) if cost else 0.0
        most = [item.most_wait_of(rate) for item in ([cost] if cost else costs.values())]
        high = max([low, *most]) if rate else low
        share = (done.number("write_share") or 0.0) / 100.0 if done else 0.0
        value = low + (high - low) * min(1.0, share)
        subject = dict(build_process_subject(view, row))
        if device:
            subject["dev"] = device
        detail: Detail = {
            "path": path, "flags": row.text("flags"), "comm": row.text("comm"), "writes": round(rate),
        }  # fmt: skip
        cites = (*cite_process(view, row), *((done.citation,) if done else ()), *cost_cites)
        interval = Interval("sampled", low, high) if high > low else None
        results.append(Measurement(value, tuple(sorted(subject.items())), cites, 1, (), detail, interval))
    return results


@dataclass(frozen=True, slots=True)
class _WriteCost:
    """What writes and flushes cost on a device: their rates, the time of each, and the time of all."""

    writes_per_s: float
    write_ms: float
    flushes_per_s: float
    flush_ms: float
    citations: tuple[Citation, ...]

    @property
    def total_pct(self) -> float:
        return (self.writes_per_s * self.write_ms + self.flushes_per_s * self.flush_ms) / 10.0

    def most_wait_of(self, calls_per_s: float) -> float:
        """Percent of a thread that so many calls wait at most."""
        each_ms = MOST_WRITES_PER_CALL * (self.write_ms + self.flush_ms)
        return min(self.total_pct, calls_per_s * each_ms / 10.0)

    def wait_of(self, calls_per_s: float) -> float:
        """Percent of a thread that so many calls wait at least; no more than the device completed."""
        writes, flushes = min(calls_per_s, self.writes_per_s), min(calls_per_s, self.flushes_per_s)
        return (writes * self.write_ms + flushes * self.flush_ms) / 10.0


def _read_write_costs(view: HostView) -> dict[str, _WriteCost]:
    """What writes cost on each device that is mapped to no other, over the window."""
    stacked = list_stacked_devices(view)
    costs: dict[str, dict[str, Measurement]] = {}
    for name in ("w_iops", "w_await_ms", "flush_per_s", "f_await_ms"):
        for item in read_series(view, MetricReading(f"disk.{name}", "mean")):
            dev = dict(item.subject).get("dev", "")
            if dev not in stacked:
                costs.setdefault(dev, {})[name] = item
    return {dev: _build_write_cost(items) for dev, items in costs.items()}


def _build_write_cost(items: Mapping[str, Measurement]) -> _WriteCost:
    def get(name: str) -> float:
        return items[name].value if name in items else 0.0

    cites = tuple(citation for item in items.values() for citation in item.citations)
    return _WriteCost(get("w_iops"), get("w_await_ms"), get("flush_per_s"), get("f_await_ms"), cites)


def _count_calls(done: TableRow, moved: float | None) -> float:
    """Writes a second to a file: the calls of its process, by how far the position in the file moved."""
    written, times = done.number("wchar_per_s"), done.number("syscw_per_s")
    return times * min(1.0, abs(moved) / written) if moved and written and times else 0.0


def _forced_out(view: HostView) -> list[Measurement]:
    """How many times more a process sent to the device than it wrote, of processes that send much of what is sent.

    The kernel counts a page when it becomes dirty. Small writes that follow each other into one page count once,
    unless the page was forced out between them: then each counts a whole page again.
    """
    results = []
    for row in view.rows("proc_io"):
        written, sent, calls = (
            row.number(name) for name in ("wchar_per_s", "write_bytes_per_s", "syscw_per_s")
        )
        if not written or not sent or not calls or (row.number("write_share") or 0.0) < LEAST_SHARE_PCT:
            continue
        if (
            row.number("kernel_thread")
            or row.text("comm") in DATABASES
            or not is_in_scope(view, row.text("pid"))
        ):
            continue
        detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid"), "writes_per_s": round(calls)}
        results.append(
            Measurement(
                sent / written, build_process_subject(view, row), cite_process(view, row), 1, (), detail
            )
        )
    return results


def _device_of_path(view: HostView) -> Callable[[str], str]:
    """Finds the block device behind a path by the longest mount point, among the devices with figures."""
    known = {series.labels.get("dev", "") for series in view.series_of("disk.w_iops")}
    places = []
    for row in view.rows("mounts"):
        name = row.text("device").rpartition("/")[2]
        if name in known:
            places.append((row.text("mountpoint").rstrip("/"), name))
    places.sort(key=lambda place: -len(place[0]))

    def find(path: str) -> str:
        return next((dev for where, dev in places if path == where or path.startswith(f"{where}/")), "")

    return find


def _sync_waiters(view: HostView, *, databases: bool) -> list[Measurement]:
    """Time in which threads of a process wait for something to be forced out, of the time in which they are active."""
    rows: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        rows[row.text("pid")].append(row)
    names = {row.text("pid"): row for row in view.rows("thread_groups")}
    results = []
    for pid, threads in rows.items():
        waiting = [row for row in threads if row.text("wchan") in SYNC_WAITS and _sync_share(row)]
        whole = names.get(pid)
        comm = whole.text("comm") if whole else threads[0].text("comm")
        if (
            not waiting
            or (comm in DATABASES) != databases
            or comm.startswith("jbd2")
            or not is_in_scope(view, pid)
        ):
            continue
        active = max(100.0, sum(100.0 - (row.number("sleeping_pct") or 0.0) for row in threads))
        total = sum(_sync_share(row) for row in waiting)
        samples = min(int(row.number("samples") or 0) for row in waiting)
        detail: Detail = {
            "comm": comm, "pid": pid, "wchan": ", ".join(sorted({row.text("wchan") for row in waiting})[:3]),
        }  # fmt: skip
        subject = build_process_subject(view, whole) if whole else (("comm", comm), ("pid", pid))
        cites = cite_rows(threads, (whole,) if whole else ())
        interval = estimate_blocked(total / 100.0, samples).scale(1e4 / active)
        value = 100.0 * total / active
        results.append(Measurement(value, subject, cites, samples, (), detail, interval))
    return results


def _sync_share(row: TableRow) -> float:
    """Percent of its samples in which a thread waited there, in uninterruptible sleep."""
    return min(row.number("wchan_pct") or 0.0, row.number("blocked_pct") or 0.0)


def _sync_calls(view: HostView) -> list[Measurement]:
    """Time of each process that is no database in calls that force data out, in percent of the time of a thread."""
    rows: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("syscalls"):
        if (
            row.text("syscall") in _SYNC_CALLS
            and row.number("rate") is not None
            and row.number("avg") is not None
        ):
            rows[row.text("pid")].append(row)
    results = []
    for pid, calls in rows.items():
        comm, rate = calls[0].text("comm"), sum(row.number("rate") or 0.0 for row in calls)
        if comm not in DATABASES:
            value = sum((row.number("rate") or 0.0) * (row.number("avg") or 0.0) for row in calls) / 10.0
            detail: Detail = {
                "comm": comm, "pid": pid, "syscall": calls[0].text("syscall"), "calls": round(rate),
            }  # fmt: skip
            cites = tuple(row.citation for row in calls)
            results.append(Measurement(value, (("pid", pid),), cites, len(calls), (), detail))
    return results


def _flushes_of_writes(view: HostView) -> list[Measurement]:
    """Flushes of each device for its writes, percent."""
    flushes = {item.subject: item for item in read_series(view, MetricReading("disk.flush_per_s", "mean"))}
    return [
        Measurement(
            100.0 * flushes[item.subject].value / item.value, item.subject,
            (*item.citations, *flushes[item.subject].citations), item.sample_count,
        )
        for item in read_series(view, MetricReading("disk.w_iops", "mean"))
        if item.value > 0 and item.subject in flushes
    ]  # fmt: skip


def _writes_per_request(view: HostView) -> list[Measurement]:
    """Writes of each device for each request that the application answered.

    Of every device, for the one that is busiest may be another after a fix; others write to each of them too.
    """
    routes = read_series(view, RATE)
    requested_routes = [route for route in routes if dict(route.subject)["route"] == "*"] or routes
    total = sum(route.value for route in requested_routes)
    if total < 1.0:
        return []
    return [
        Measurement(
            item.value / total,
            item.subject,
            (*item.citations, *requested_routes[0].citations),
            item.sample_count,
        )
        for item in read_series(view, MetricReading("disk.w_iops", "mean"))
    ]


SYNC_FILES = build_measure(
    "fd.sync_write_time_pct",
    "pct",
    "Time in synchronous writes to a file",
    "同步写文件的等待时间",
    (("fd_table",), ("proc_io",), ("iostat",)),
    lambda view: _sync_files(view, databases=False),
)
DATABASE_SYNC_FILES = build_measure(
    "fd.database_sync_write_time_pct",
    "pct",
    "Time in synchronous writes of a database",
    "数据库同步写的等待时间",
    (("fd_table",), ("proc_io",), ("iostat",)),
    lambda view: _sync_files(view, databases=True),
)
FORCED_OUT = build_measure(
    "proc.sent_of_written",
    "count",
    "Sent to the device for each byte written",
    "每写一字节实际落盘的字节数",
    (("proc_io",),),
    _forced_out,
)
FLUSHES_OF_WRITES = build_measure(
    "disk.flushes_of_writes_pct",
    "pct",
    "Flushes for each write of the device",
    "设备每次写对应的刷新",
    (("iostat",),),
    _flushes_of_writes,
)
SYNC_WAITERS = build_measure(
    "proc.sync_wait_pct",
    "pct",
    "Time in which threads wait for data to be forced out",
    "线程等待强制落盘的时间",
    (("proc_threads",),),
    lambda view: _sync_waiters(view, databases=False),
)
DATABASE_SYNC_WAITERS = build_measure(
    "proc.database_sync_wait_pct",
    "pct",
    "Time in which database threads wait for a commit",
    "数据库线程等待提交落盘的时间",
    (("proc_threads",),),
    lambda view: _sync_waiters(view, databases=True),
)
SYNC_CALL_TIME = build_measure(
    "syscall.sync_time_pct",
    "pct",
    "Time in calls that force data out",
    "强制落盘调用的时间占比",
    (("perf_trace",),),
    _sync_calls,
)
SYNC_STACKS = build_measure(
    "off_cpu.sync_pct",
    "pct",
    "Waiting for data to be forced out",
    "等待强制落盘的时间占比",
    (("offcpu",),),
    share_of("off_cpu", SYNC_FRAMES),
)
SYNC_CPU_STACKS = build_measure(
    "cpu.sync_write_pct",
    "pct",
    "CPU time in synchronous writes",
    "同步写的 CPU 占比",
    (("perf_record",),),
    share_of("on_cpu", SYNC_FRAMES),
)
WRITES_PER_REQUEST = build_measure(
    "disk.writes_per_request",
    "count",
    "Device writes for each request",
    "每请求设备写次数",
    (("iostat",), ("app_metrics", "prom_service")),
    _writes_per_request,
)
