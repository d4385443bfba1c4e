"""Numbers about writes that are forced out to the device one by one: files, waiting threads, calls, stacks."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable

from culprit.domain.rules.finding import Measurement
from culprit.domain.rules.measures.application.requests import RATE
from culprit.domain.rules.measures.derived import Detail, build_measure, read_series, share_of
from culprit.domain.rules.measures.places import DATABASES, build_process_subject, is_in_scope
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
#: Fewer calls than this cannot fill any device.
MIN_CALLS_PER_S = 10.0
_PAGE = 4096
SYNC_FRAMES = (
    "^(vfs_fsync_range|generic_write_sync|do_fsync|__x64_sys_fsync|__x64_sys_fdatasync|__x64_sys_msync|ext4_sync_file"
    "|xfs_file_fsync|btrfs_sync_file|jbd2_log_wait_commit|ext4_fc_commit)$"
)
_SYNC_CALLS = frozenset(("fsync", "fdatasync", "sync_file_range", "msync", "sync", "syncfs"))


def _io(view: HostView) -> dict[str, TableRow]:
    return {row.text("pid"): row for row in view.rows("proc_io")}


def _sync_files(view: HostView, *, databases: bool) -> list[Measurement]:
    """Writes per second through descriptors with O_SYNC or O_DSYNC.

    The calls of a process are shared among its files by how far each position moved. Without a count of calls,
    a moving position does not give their number.
    """
    calls, devices = _io(view), _device_of_path(view)
    results = []
    for row in view.rows("fds"):
        pid, path, moved = row.text("pid"), row.text("path"), row.number("pos_delta_bytes_per_s")
        if not row.number("o_dsync") or path.startswith(("/dev/", "/proc/")) or not is_in_scope(view, pid):
            continue
        if (row.text("comm") in DATABASES) != databases:
            continue
        done = calls.get(pid)
        written, times = (done.number("wchar_per_s"), done.number("syscw_per_s")) if done else (None, None)
        rate = 0.0
        if done and moved and written and times:
            rate = times * min(1.0, abs(moved) / written)
        subject = dict(build_process_subject(view, row))
        if device := devices(path):
            subject["dev"] = device
        detail = {"path": path, "flags": row.text("flags"), "comm": row.text("comm"), "fd": row.text("fd")}
        cites = (row.citation, done.citation) if done else (row.citation,)
        results.append(Measurement(rate, tuple(sorted(subject.items())), cites, 1, (), detail))
    return results


def _forced_out(view: HostView) -> list[Measurement]:
    """How many times more a process sent to the device than it wrote, of processes with many small writes.

    The kernel counts a page when it becomes dirty. Small writes that follow each other into one page count once,
    unless the page was forced out between them: then each counts a whole page again.
    """
    results = []
    for row in view.rows("proc_io"):
        written, sent, calls = (
            row.number(name) for name in ("wchar_per_s", "write_bytes_per_s", "syscw_per_s")
        )
        if not written or not sent or not calls or calls < MIN_CALLS_PER_S or sent < MIN_CALLS_PER_S * _PAGE:
            continue
        if (
            row.number("kernel_thread")
            or row.text("comm") in DATABASES
            or not is_in_scope(view, row.text("pid"))
        ):
            continue
        detail: Detail = {"comm": row.text("comm"), "pid": row.text("pid"), "writes_per_s": round(calls)}
        results.append(
            Measurement(sent / written, build_process_subject(view, row), (row.citation,), 1, (), detail)
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


def _requests(view: HostView) -> list[Measurement]:
    """Writes and flushes that each device completed per second, together."""
    writes = {item.subject: item for item in read_series(view, MetricReading("disk.w_iops", "mean"))}
    flushes = {item.subject: item for item in read_series(view, MetricReading("disk.flush_per_s", "mean"))}
    results = []
    for subject, item in writes.items():
        more = flushes.get(subject)
        value = item.value + (more.value if more else 0.0)
        results.append(
            Measurement(
                value, subject, (*item.citations, *(more.citations if more else ())), item.sample_count
            )
        )
    return results


def _sync_waiters(view: HostView, *, databases: bool) -> list[Measurement]:
    """Threads of a process that wait at a moment for something to be forced out to the device."""
    counted: defaultdict[str, float] = defaultdict(float)
    rows: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("threads"):
        share, blocked = row.number("wchan_pct"), row.number("blocked_pct")
        if row.text("wchan") in SYNC_WAITS and share and blocked:
            counted[row.text("pid")] += min(share, blocked) / 100.0
            rows[row.text("pid")].append(row)
    names = {row.text("pid"): row for row in view.rows("thread_groups")}
    results = []
    for pid, value in counted.items():
        whole = names.get(pid)
        comm = whole.text("comm") if whole else rows[pid][0].text("comm")
        if (comm in DATABASES) != databases or comm.startswith("jbd2") or not is_in_scope(view, pid):
            continue
        where = sorted({row.text("wchan") for row in rows[pid]})
        detail = {"comm": comm, "pid": pid, "wchan": ", ".join(where[:3])}
        subject = build_process_subject(view, whole) if whole else (("comm", comm), ("pid", pid))
        cites = tuple(row.citation for row in rows[pid][:4])
        results.append(Measurement(value, subject, cites, len(rows[pid]), (), detail))
    return results


def _sync_calls(view: HostView, of: Callable[[TableRow], float | None]) -> list[Measurement]:
    """What `of` reads off the calls that force data out, added up for each process that is no database."""
    sums: defaultdict[str, float] = defaultdict(float)
    rows: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("syscalls"):
        value = of(row)
        if row.text("syscall") in _SYNC_CALLS and value is not None:
            sums[row.text("pid")] += value
            rows[row.text("pid")].append(row)
    results = []
    for pid, value in sums.items():
        comm = rows[pid][0].text("comm")
        if comm not in DATABASES:
            detail = {"comm": comm, "pid": pid, "syscall": rows[pid][0].text("syscall")}
            results.append(
                Measurement(
                    value,
                    (("pid", pid),),
                    tuple(row.citation for row in rows[pid][:4]),
                    len(rows[pid]),
                    (),
                    detail,
                )
            )
    return results


def _waited_ms(row: TableRow) -> float | None:
    rate, each = row.number("rate"), row.number("avg")
    return rate * each if rate is not None and each is not None else None


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
    "fd.sync_writes_per_s",
    "per_s",
    "Writes to a file opened for synchronous writing",
    "同步打开文件的写次数",
    (("fd_table",), ("proc_io",)),
    lambda view: _sync_files(view, databases=False),
)
DATABASE_SYNC_FILES = build_measure(
    "fd.database_sync_writes_per_s",
    "per_s",
    "Synchronous writes of a database",
    "数据库的同步写次数",
    (("fd_table",), ("proc_io",)),
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
DEVICE_REQUESTS = build_measure(
    "disk.writes_and_flushes_per_s",
    "per_s",
    "Writes and flushes of the device",
    "设备写与刷新次数",
    (("iostat",),),
    _requests,
)
SYNC_WAITERS = build_measure(
    "proc.threads_waiting_for_sync",
    "count",
    "Threads waiting for data to be forced out",
    "等待强制落盘的线程数",
    (("proc_threads",),),
    lambda view: _sync_waiters(view, databases=False),
)
DATABASE_SYNC_WAITERS = build_measure(
    "proc.database_threads_waiting_for_sync",
    "count",
    "Database threads waiting for a commit",
    "等待提交落盘的数据库线程",
    (("proc_threads",),),
    lambda view: _sync_waiters(view, databases=True),
)
SYNC_CALLS = build_measure(
    "syscall.sync_per_s",
    "per_s",
    "Calls that force data out",
    "强制落盘的系统调用",
    (("perf_trace",),),
    lambda view: _sync_calls(view, lambda row: row.number("rate")),
)
SYNC_CALL_MS = build_measure(
    "syscall.sync_waited_ms_per_s",
    "ms",
    "Time in calls that force data out, per second",
    "每秒强制落盘耗时",
    (("perf_trace",),),
    lambda view: _sync_calls(view, _waited_ms),
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
