"""Numbers about threads that wait in the kernel for something that can be named."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from culprit.domain.rules.finding import Measurement, Subject
from culprit.domain.rules.intervals import estimate_share
from culprit.domain.rules.measures.derived import Detail, build_measure, cite_rows
from culprit.domain.rules.measures.service_time.activities import FILESYSTEM
from culprit.domain.rules.rule import Measure
from culprit.domain.rules.view import HostView, TableRow

_NEEDS = (("kernel_waits",),)
#: Mounts by what their waits are called in `collectors.catalog.platform.kernel_waits`.
_MOUNT_TYPES = {
    "fuse_mount": ("fuse",),
    "remote_mount": ("nfs", "cifs", "smb", "9p", "ceph", "virtiofs"),
}


def _build_wait(kind: str, en: str, zh: str) -> Measure:
    """Return the mean number of threads of a program that wait for this at a moment."""
    return build_measure(
        f"waits.{kind}_threads", "count", en, zh, _NEEDS, lambda view: _measure_waits(view, kind)
    )


def _measure_waits(view: HostView, kind: str) -> list[Measurement]:
    """Measure programs by name and control group; 0 where no thread of any program was seen waiting for this.

    Programs of one name in two groups are two services: that clients of one wait shows nothing about the other.
    A process that ended before its name was read is itself the place: its wait shows nothing about the whole host.
    """
    programs: defaultdict[Subject, list[TableRow]] = defaultdict(list)
    for row in view.rows("kernel_waits"):
        if row.text("kind") == kind and not row.number("kernel_thread"):
            programs[_build_subject(row)].append(row)
    if programs:
        return [_measure_program(view, kind, subject, rows) for subject, rows in programs.items()]
    return [
        Measurement(0.0, (), (row.citation,), int(row.number("scans") or 0))
        for row in view.rows("kernel_scans")[:1]
    ]


def _build_subject(row: TableRow) -> Subject:
    pairs = {"comm": row.text("comm"), "cgroup": row.text("cgroup")}
    known = {name: value for name, value in pairs.items() if value} or {"pid": row.text("pid")}
    return tuple(sorted(known.items()))


def _measure_program(view: HostView, kind: str, subject: Subject, rows: Sequence[TableRow]) -> Measurement:
    """The interval follows from in how many of the checks its most patient process waited."""
    mean = sum(row.number("mean_threads") or 0.0 for row in rows)
    scans = int(max(row.number("scans") or 1 for row in rows))
    share = max(row.number("scans_waiting") or 0.0 for row in rows) / scans
    widest = rows[0]
    detail: Detail = {
        "comm": widest.text("comm"),
        "pid": widest.text("pid"),
        "function": widest.text("function"),
        "cgroup": widest.text("cgroup") or "/",
        "path": next((row.text("path") for row in rows if row.text("path")), "?"),
        "holder": next((row.text("holder") for row in rows if row.text("holder")), "?"),
        "holder_comm": next((row.text("holder_comm") for row in rows if row.text("holder_comm")), "?"),
        "mount": _name_mount(view, kind, rows),
    }
    return Measurement(
        mean,
        subject,
        cite_rows(rows),
        scans,
        (),
        detail,
        estimate_share(share, scans, 1.0).scale(mean / share),
    )


def _name_mount(view: HostView, kind: str, rows: Sequence[TableRow]) -> str:
    """Return the mount that holds the file that is waited for, else all mounts of that type."""
    mounts = [
        row.text("mountpoint")
        for row in view.rows("super_blocks")
        if row.text("fstype").startswith(_MOUNT_TYPES.get(kind, ()))
    ]
    paths = [row.text("path") for row in rows if row.text("path").startswith("/")]
    holding = [mount for mount in mounts if any(path.startswith(mount) for path in paths)]
    return ", ".join(holding[:1] or mounts[:3]) or "?"


def _stopped(view: HostView) -> list[Measurement]:
    """Measure 1 for each process that a signal stopped, 0 where there is none."""
    stopped = [
        _measure_process(row, {"comm": row.text("comm"), "pid": row.text("pid")})
        for row in view.rows("held_processes")
        if row.text("state") == "T"
    ]
    return stopped or _none(view)


def _traced(view: HostView) -> list[Measurement]:
    traced = [
        _measure_process(
            row,
            {
                "comm": row.text("comm"),
                "pid": row.text("pid"),
                "tracer": row.text("tracer"),
                "tracer_comm": row.text("tracer_comm") or "?",
            },
        )
        for row in view.rows("held_processes")
        if row.number("tracer")
    ]
    return traced or _none(view)


def _measure_process(row: TableRow, detail: Detail) -> Measurement:
    subject = tuple(sorted({"comm": row.text("comm"), "pid": row.text("pid")}.items()))
    return Measurement(1.0, subject, (row.citation,), 1, (), detail)


def _frozen(view: HostView) -> list[Measurement]:
    frozen = [
        Measurement(
            1.0, (("cgroup", row.text("path")),), (row.citation,), 1, (), {"cgroup": row.text("path")}
        )
        for row in view.rows("frozen_groups")
    ]
    return frozen or _none(view)


def _none(view: HostView) -> list[Measurement]:
    return [Measurement(0.0, (), (row.citation,), 1) for row in view.rows("kernel_scans")[:1]]


def _read_only(view: HostView) -> list[Measurement]:
    """Measure 1 for a mount whose file system the kernel made read-only: mounted rw, and its super block is ro.

    `mount -o remount,ro` changes both; an error changes only the super block (fs/ext4/super.c, ext4_handle_error).
    """
    return [
        Measurement(
            float(
                row.text("mounted") == "rw" and (row.text("super") == "ro" or bool(row.number("shut_down")))
            ),
            (("mount", row.text("mountpoint")),),
            (row.citation,),
            1,
            (),
            {"mount": row.text("mountpoint"), "fstype": row.text("fstype")},
        )
        for row in view.rows("super_blocks")
    ]


def _frozen_writes(view: HostView) -> list[Measurement]:
    """Measure the longest wait of each program in a write, before it reaches the block device of its file system.

    Remote and FUSE file systems have a device of major number 0 and are not meant here. 0 where no program waited so.
    """
    programs: defaultdict[str, list[TableRow]] = defaultdict(list)
    for row in view.rows("thread_time"):
        device = row.text("device")
        if row.text("activity") == FILESYSTEM and device and not device.startswith("0:"):
            programs[row.text("pid")].append(row)
    longest = [max(rows, key=lambda row: row.number("longest_ms") or 0.0) for rows in programs.values()]
    if not longest:
        return [
            Measurement(0.0, (), (row.citation,), int(row.number("samples") or 0))
            for row in view.rows("process_time")[:1]
        ]
    return [
        Measurement(
            row.number("longest_ms") or 0.0,
            (("pid", row.text("pid")),),
            (row.citation,),
            int(row.number("samples") or 0),
            (),
            {"comm": row.text("comm"), "path": row.text("target"), "call": row.text("detail")},
        )
        for row in longest
    ]


REMOTE_MOUNT = _build_wait("remote_mount", "Threads that wait for a file server", "等待文件服务器的线程数")
FUSE_MOUNT = _build_wait("fuse_mount", "Threads that wait for a FUSE program", "等待 FUSE 程序的线程数")
JOURNAL = _build_wait("journal", "Threads that wait for the journal", "等待文件系统日志的线程数")
DIRTY_LIMIT = _build_wait("dirty_limit", "Writers held at the dirty limit", "被脏页上限限制的写入线程数")
IO_CONTROLLER = _build_wait(
    "io_controller", "Threads that an I/O controller holds back", "被 I/O 控制器阻挡的线程数"
)
MEMORY_HIGH = _build_wait("memory_high", "Threads held at memory.high", "被 memory.high 限制的线程数")
MEMORY_FULL = _build_wait("memory_full", "Threads that wait in a full group", "在已满控制组中等待的线程数")
RECLAIM = _build_wait("reclaim", "Threads that wait for reclaim", "等待内存回收的线程数")
PIPE_WRITE = _build_wait("pipe_write", "Threads that wait to write to a pipe", "等待写管道的线程数")
UNIX_DATAGRAM = _build_wait(
    "unix_datagram", "Threads that wait to send to a local socket", "等待向本地套接字发送的线程数"
)
FILE_LOCK = _build_wait("file_lock", "Threads that wait for a file lock", "等待文件锁的线程数")
FANOTIFY = _build_wait(
    "fanotify", "Threads that wait for permission to open a file", "等待文件访问许可的线程数"
)
AUDIT = _build_wait("audit", "Threads that wait for the audit queue", "等待审计队列的线程数")
ENTROPY = _build_wait("entropy", "Threads that wait for random numbers", "等待随机数的线程数")
QUEUE_FROZEN = _build_wait(
    "queue_frozen", "Threads that wait for a suspended device", "等待被挂起设备的线程数"
)
STOPPED = build_measure("processes.stopped", "count", "Stopped processes", "被停止的进程", _NEEDS, _stopped)
TRACED = build_measure("processes.traced", "count", "Traced processes", "被跟踪的进程", _NEEDS, _traced)
FROZEN = build_measure("cgroups.frozen", "count", "Frozen control groups", "被冻结的控制组", _NEEDS, _frozen)
FROZEN_WRITE = build_measure(
    "waits.frozen_write_ms", "ms", "Longest write that waits for its file system", "等待文件系统的最长一次写入",
    (("proc_threads",),), _frozen_writes,
)  # fmt: skip
READ_ONLY = build_measure(
    "mounts.read_only_by_error",
    "count",
    "File systems that the kernel made read-only",
    "被内核改为只读的文件系统",
    _NEEDS,
    _read_only,
)
