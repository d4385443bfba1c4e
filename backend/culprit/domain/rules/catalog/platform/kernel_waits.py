"""Rules about threads that wait in the kernel: for mounts, journals, limits, pipes, locks, permissions."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.platform import kernel_waits as waits
from culprit.domain.rules.measures.service_time import file_locks, shares
from culprit.domain.rules.rule import Condition, Measure, Rule, Threshold
from culprit.domain.rules.use_method import Resource, Use

_WCHAN = "/proc/PID/task/TID/wchan of all threads, at equal distances"
_HALF = Threshold("threads", 0.5, "at most moments a thread waits there: half of one thread's time is lost")


def _rule(
    id: str,
    measure: Measure,
    resource: Resource,
    cause: str,
    *,
    title: Text,
    summary: Text,
    caveats: Text | None = None,
    harm: bool = False,
) -> Rule:
    """Return the rule that threads of a program wait for one thing at most moments."""
    return Rule(
        id=id,
        title=title,
        summary=summary,
        measure=measure,
        op=">=",
        thresholds=(("warn", _HALF),),
        strength=Strength.MECHANISM,
        use=Use(resource, "saturation"),
        causes=(cause,),
        refutes=(cause,),
        harm=harm,
        caveats=caveats,
        source=_WCHAN,
    )


RULES: tuple[Rule, ...] = (
    _rule(
        "F-WAIT-REMOTE-MOUNT",
        waits.REMOTE_MOUNT,
        "disk",
        "hanging-file-system",
        title=Text("Threads wait for a file server", "线程在等待文件服务器"),
        summary=Text(
            "{value} threads of {comm} wait for the server of {mount} ({function}).",
            "{comm} 有 {value} 个线程在等待 {mount} 的服务器（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-FUSE",
        waits.FUSE_MOUNT,
        "disk",
        "hanging-file-system",
        title=Text("Threads wait for a FUSE program", "线程在等待 FUSE 程序"),
        summary=Text(
            "{value} threads of {comm} wait for the program that serves {mount} ({function}).",
            "{comm} 有 {value} 个线程在等待提供 {mount} 的程序（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-JOURNAL",
        waits.JOURNAL,
        "disk",
        "journal-stall",
        title=Text("Threads wait for room in the journal", "线程在等待文件系统日志空间"),
        summary=Text(
            "{value} threads of {comm} wait until the journal of the file system commits ({function}).",
            "{comm} 有 {value} 个线程在等待文件系统日志提交（{function}）。",
        ),
        caveats=Text(
            "A thread that called fsync() waits elsewhere and does not count. These threads only changed metadata.",
            "调用 fsync() 的线程在别处等待，不计入；这些线程只修改了元数据。",
        ),
    ),
    _rule(
        "F-WAIT-DIRTY-LIMIT",
        waits.DIRTY_LIMIT,
        "disk",
        "dirty-limit-reached",
        title=Text("Writers are slowed to the speed of the disk", "写入线程被限制到磁盘速度"),
        summary=Text(
            "{value} threads of {comm} are held in write() because too much is not yet on the disk ({function}).",
            "未落盘的数据过多，{comm} 有 {value} 个线程被阻在 write() 中（{function}）。",
        ),
        caveats=Text(
            "A copy of a large file is slowed as intended. It matters if a service writes on the same disk.",
            "大文件复制被减速属正常；只有服务也写同一磁盘时才有影响。",
        ),
    ),
    _rule(
        "F-WAIT-IO-CONTROLLER",
        waits.IO_CONTROLLER,
        "disk",
        "io-throttled-by-cgroup",
        title=Text("An I/O controller holds requests back", "I/O 控制器在阻挡请求"),
        summary=Text(
            "{value} threads of {comm} in {cgroup} wait for their turn at the disk ({function}).",
            "{cgroup} 中 {comm} 的 {value} 个线程在等待轮到其使用磁盘（{function}）。",
        ),
        caveats=Text(
            "Writeback throttling (wbt_lat_usec) holds background writes back as intended.",
            "回写限流（wbt_lat_usec）本就会延后后台写入。",
        ),
    ),
    _rule(
        "F-WAIT-MEMORY-HIGH",
        waits.MEMORY_HIGH,
        "memory",
        "memory-high-throttling",
        title=Text("Threads are slowed at memory.high", "线程因 memory.high 被减速"),
        summary=Text(
            "{value} threads of {comm} in {cgroup} are put to sleep because the group is above memory.high.",
            "{cgroup} 超过 memory.high，{comm} 的 {value} 个线程被强制休眠。",
        ),
    ),
    _rule(
        "F-WAIT-MEMORY-FULL",
        waits.MEMORY_FULL,
        "memory",
        "memcg-oom-disabled",
        title=Text("Threads hang in a full control group", "线程挂在已满的控制组中"),
        summary=Text(
            "{value} threads of {comm} in {cgroup} wait for memory, and the OOM killer of the group is off.",
            "{cgroup} 内存已满且关闭了 OOM 终止，{comm} 有 {value} 个线程在等待内存。",
        ),
        harm=True,
    ),
    _rule(
        "F-WAIT-RECLAIM",
        waits.RECLAIM,
        "memory",
        "direct-reclaim-stall",
        title=Text("Allocations wait for reclaim", "分配内存时在等待回收"),
        summary=Text(
            "{value} threads of {comm} wait in an allocation until memory is reclaimed ({function}).",
            "{comm} 有 {value} 个线程在分配内存时等待回收（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-PIPE",
        waits.PIPE_WRITE,
        "application",
        "output-pipe-full",
        title=Text("Threads wait to write to a full pipe", "线程在等待写入已满的管道"),
        summary=Text(
            "{value} threads of {comm} wait to write to {path}, because its reader does not read.",
            "{comm} 有 {value} 个线程在等待写入 {path}，因为读端没有读取。",
        ),
        caveats=Text(
            "In a chain of filters the faster program waits for the slower one as intended.",
            "在过滤器链中，较快的程序等待较慢的程序属正常。",
        ),
    ),
    _rule(
        "F-WAIT-UNIX-DATAGRAM",
        waits.UNIX_DATAGRAM,
        "application",
        "log-receiver-blocked",
        title=Text("Threads wait to send to a local socket", "线程在等待向本地套接字发送"),
        summary=Text(
            "{value} threads of {comm} wait to send to a local datagram socket whose reader does not read ({path}).",
            "{comm} 有 {value} 个线程在等待向本地数据报套接字发送，读端没有读取（{path}）。",
        ),
    ),
    _rule(
        "F-WAIT-FILE-LOCK",
        waits.FILE_LOCK,
        "application",
        "file-lock-held",
        title=Text("Threads wait for a file lock", "线程在等待文件锁"),
        summary=Text(
            "{value} threads of {comm} wait for the lock of {path}, which {holder_comm} ({holder}) holds.",
            "{comm} 有 {value} 个线程在等待 {path} 的锁，持有者为 {holder_comm}（{holder}）。",
        ),
        caveats=Text(
            "Programs that take turns (accept mutexes, standby servers) wait for a lock by design.",
            "轮流工作的程序（accept 互斥、备用服务）本就在等待锁。",
        ),
    ),
    Rule(
        id="F-FILE-LOCK-KEPT",
        title=Text(
            "Requests sleep while another process keeps their file locked",
            "请求在休眠，而其文件被其他进程锁住",
        ),
        summary=Text(
            "{holder_comm} ({holder}) kept {path} locked for all of the capture. {name} has it open for writing, and "
            "its requests sleep between attempts (files: {value}).",
            "{holder_comm}（{holder}）在整个采集期间锁住 {path}；{name} 以写方式打开它，"
            "其请求在多次尝试之间休眠（文件数：{value}）。",
        ),
        measure=file_locks.LOCKED_FILES,
        op=">=",
        thresholds=(("warn", Threshold("files", 1.0, "to write it, a request has to wait")),),
        also=(
            Condition(
                shares.OLDEST,
                ">=",
                Threshold("oldest", 100.0, "ms: users notice a tenth of a second (Miller 1968)"),
            ),
            Condition(shares.WAITING, ">=", Threshold("waiting", 1.0, "at any time one request waits")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("file-lock-held",),
        causes=("file-lock-held",),
        caveats=Text(
            "A program that sleeps for another reason, and a lock of a part that it does not need, look alike.",
            "因其他原因休眠的程序，或被锁的部分并非其所需，表现相同。",
        ),
        source="/proc/locks in each look, fdinfo of the holder; sqlite3_busy_timeout: pauses of up to 100 ms",
    ),
    _rule(
        "F-WAIT-FANOTIFY",
        waits.FANOTIFY,
        "kernel",
        "fanotify-permission-wait",
        title=Text("Opening files waits for a scanner", "打开文件时在等待扫描程序"),
        summary=Text(
            "{value} threads of {comm} wait until a program permits the access to a file ({function}).",
            "{comm} 有 {value} 个线程在等待某程序许可其访问文件（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-AUDIT",
        waits.AUDIT,
        "kernel",
        "audit-backlog",
        title=Text("System calls wait for the audit queue", "系统调用在等待审计队列"),
        summary=Text(
            "{value} threads of {comm} wait for room in the audit queue ({function}).",
            "{comm} 有 {value} 个线程在等待审计队列腾出空间（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-ENTROPY",
        waits.ENTROPY,
        "kernel",
        "entropy-missing",
        title=Text("Threads wait for random numbers", "线程在等待随机数"),
        summary=Text(
            "{value} threads of {comm} wait for random numbers of the kernel ({function}).",
            "{comm} 有 {value} 个线程在等待内核随机数（{function}）。",
        ),
    ),
    _rule(
        "F-WAIT-DEVICE-SUSPENDED",
        waits.QUEUE_FROZEN,
        "disk",
        "block-device-suspended",
        title=Text("Threads wait for a suspended device", "线程在等待被挂起的设备"),
        summary=Text(
            "{value} threads of {comm} wait for a block device whose queue is stopped ({function}).",
            "{comm} 有 {value} 个线程在等待队列已停止的块设备（{function}）。",
        ),
    ),
)
