"""Causes related to disks and file systems."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_SLOW_DISK = ("disk-saturation", "dstate-pileup", "journal-stall", "worker-pool-exhausted")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="sync-write-amplification",
        title=Text("Each small write waits for the disk", "每次小写入都等待磁盘"),
        what=Text(
            "A file is written synchronously (O_SYNC, O_DSYNC or fsync). Each write sends the "
            "data plus the begin and commit of the journal to the device, and the thread waits "
            "for all of them.",
            "文件以同步方式写入（O_SYNC、O_DSYNC 或 fsync）：每次写入需落盘数据及日志的开始与提交，线程等待全部完成。",
        ),
        fix=Text(
            "Buffer log writes by time or size. Where durability is required, combine many "
            "records into one fdatasync and allocate the file in advance.",
            "日志改为按时间或大小缓冲写；需要持久性时，将多条记录合并为一次 fdatasync，并预分配文件。",
        ),
        risk=Text(
            "A power failure loses data that is not yet written, so the owner of the data must "
            "agree. Rollback: open the file as before.",
            "断电时会丢失尚未落盘的数据，须经数据所有者同意。回退：恢复原来的打开方式。",
        ),
        verify=Text(
            "Capture again under the same load: at most one device write per request, almost no "
            "flushes, no thread waits in commits.",
            "相同负载再次采集：每请求至多一次设备写，几乎无刷新，无线程停在提交处。",
        ),
        mechanisms=("disk",),
        explains=("disk-saturation", "dstate-pileup", "lock-contention", "worker-pool-exhausted"),
        tested_by=("perf_trace",),
        proven_by=("osync-log",),
    ),
    Cause(
        id="disk-saturation",
        title=Text("A disk has more requests than it can process", "磁盘请求超出其能力"),
        what=Text(
            "Requests queue at the device. Each takes many times as long as the device needs for "
            "one request.",
            "请求在设备处排队，每个请求的耗时远超设备本身所需。",
        ),
        fix=Text(
            "Find the process with the most I/O and limit it, or move it to another time or "
            "disk. Then consider a faster disk or a higher quota.",
            "找出发出最多请求的进程，限制它或改到其他时间、其他磁盘；然后再考虑更快的磁盘或更高配额。",
        ),
        risk=Text(
            "A limited backup takes longer and may miss its window. Rollback: remove the limit.",
            "受限的备份耗时更长，可能错过窗口。回退：取消限制。",
        ),
        verify=Text(
            "Capture again under the same load: queue below 1, and request times as in the data "
            "sheet of the device.",
            "相同负载再次采集：队列小于 1，请求耗时回到设备标称水平。",
        ),
        mechanisms=("disk", "fault"),
        explains=(
            "dstate-pileup",
            "lock-contention",
            "database-lock-wait",
            "sync-write-amplification",
            "worker-pool-exhausted",
        ),
        proven_by=("disk-saturation",),
    ),
    Cause(
        id="dstate-pileup",
        title=Text("Tasks accumulate in uninterruptible sleep", "任务堆积在不可中断睡眠"),
        what=Text(
            "Many tasks wait in the kernel while disks and CPUs are idle: an I/O limit, a frozen "
            "file system, an unreachable file server, or a kernel lock. Their waits raise the "
            "load.",
            "大量任务在内核中等待而磁盘与 CPU 空闲：I/O 限流、文件系统冻结、文件服务器失联或内核锁。负载因此升高。",
        ),
        fix=Text(
            "Find where they wait (wchan, /proc/PID/stack). Raise the I/O limit (io.max, "
            "blkio.throttle), thaw the file system (fsfreeze -u), or restore the file server.",
            "查看任务停在何处（wchan、/proc/PID/stack）：提高 I/O "
            "限额（io.max、blkio.throttle）、解冻文件系统（fsfreeze -u）、恢复文件服务器。",
        ),
        risk=Text(
            "Without a limit, the group may slow down other users of the disk. Thawing corrupts "
            "a snapshot in progress. Rollback: restore the old limit.",
            "取消限额后该组可能挤占其他磁盘用户；解冻会破坏正在制作的快照。回退：恢复旧限额。",
        ),
        verify=Text(
            "No task is at the same place in two samples. The load decreases within minutes.",
            "两次采样中没有任务停在同一处；负载在数分钟内下降。",
        ),
        mechanisms=("disk", "filesystem"),
        explains=(
            "lock-contention",
            "worker-pool-exhausted",
        ),
        proven_by=("dstate",),
    ),
    Cause(
        id="io-throttled-by-cgroup",
        title=Text("An I/O limit holds the group back", "I/O 限额使该组受限"),
        what=Text(
            "The group uses up its I/O limit. Further requests wait in the kernel before the device sees them, so the "
            "device looks idle.",
            "该组已用尽 I/O 限额；其余请求在到达设备之前就在内核中等待，因此设备看起来空闲。",
        ),
        fix=Text(
            "Raise the limit (io.max, blkio.throttle, the limit of the container) to the demand at peak, or reduce "
            "what the group reads and writes. Use a weight (io.weight) where a limit is not required.",
            "按峰值需求提高限额（io.max、blkio.throttle 或容器限额），或减少该组的读写；"
            "无需硬限额时改用权重（io.weight）。",
        ),
        risk=Text(
            "Without a limit, the group may slow down other users of the disk. Rollback: restore the old limit.",
            "取消限额后该组可能挤占其他磁盘用户。回退：恢复旧限额。",
        ),
        verify=Text(
            "Capture again under the same load: the limit is not used up, and tasks of the group do not wait for I/O.",
            "相同负载再次采集：限额未用尽，该组任务不再等待 I/O。",
        ),
        explains=("dstate-pileup", "disk-saturation", "lock-contention", "worker-pool-exhausted"),
        mechanisms=("disk", "filesystem"),
        proven_by=("io-throttled-by-cgroup",),
    ),
    Cause(
        id="failing-disk",
        title=Text("A disk is failing", "磁盘正在损坏"),
        what=Text(
            "The disk or the array reports errors. Each error costs seconds of retries, and data "
            "may be lost.",
            "磁盘或阵列报告错误；每次错误都要重试数秒，且可能丢失数据。",
        ),
        fix=Text(
            "Verify the backup. Remove the disk from the array or take the host out of service, "
            "then replace the disk.",
            "确认备份，将磁盘移出阵列或将主机下线，然后更换。",
        ),
        risk=Text(
            "A rebuild adds load to the other disks, and another one may fail. Do not use the "
            "old disk again; keep it for recovery.",
            "重建会加重其余磁盘负担，可能再坏一块。不要重新启用旧盘，请保留以备恢复。",
        ),
        verify=Text(
            "SMART passes, the array is complete, and the kernel log has no new errors for a day.",
            "SMART 通过，阵列完整，一天内内核日志无新错误。",
        ),
        mechanisms=("disk", "fault", "filesystem"),
        explains=("disk-saturation", "dstate-pileup", "lock-contention", "worker-pool-exhausted"),
        proven_by=("failing-disk",),
    ),
    Cause(
        id="deleted-open-file",
        title=Text("A deleted file that is open holds the space", "已删除但仍打开的文件占用空间"),
        what=Text(
            "A file was deleted while a program had it open, often a log. Its space is free after it is closed.",
            "文件（常为日志）在被程序打开时删除，程序关闭后空间才会释放。",
        ),
        fix=Text(
            "Let the program reopen its log (a signal, logrotate copytruncate), or restart it. At once: truncate "
            "/proc/PID/fd/N.",
            "让程序重新打开日志（信号、logrotate 的 copytruncate）或重启；应急可截断 /proc/PID/fd/N。",
        ),
        risk=Text(
            "Truncating a file that is not a log destroys data that is in use. Copy it first.",
            "截断非日志文件会毁坏正在使用的数据，请先复制。",
        ),
        verify=Text(
            "df shows the space, and no deleted file is left.", "df 显示空间已释放，且无遗留的已删除文件。"
        ),
        explains=("disk-full",),
        proven_by=("deleted-open-file",),
    ),
    Cause(
        id="array-rebuild",
        title=Text("An array rebuilds", "阵列正在重建"),
        what=Text(
            "A RAID array copies or checks all its members. Other requests share the disks with it.",
            "RAID 阵列正在复制或检查全部成员，其他请求与其共享磁盘。",
        ),
        fix=Text(
            "Lower /proc/sys/dev/raid/speed_limit_max in busy hours. Move monthly checks to a quiet time.",
            "繁忙时段降低 /proc/sys/dev/raid/speed_limit_max；将每月检查移到空闲时段。",
        ),
        risk=Text(
            "A slower rebuild leaves the array without redundancy for longer. Rollback: the old limit.",
            "重建变慢会延长无冗余的时间。回退：恢复旧限速。",
        ),
        verify=Text("Requests are as fast as before the rebuild.", "请求恢复到重建前的速度。"),
        explains=_SLOW_DISK,
        mechanisms=("disk",),
    ),
    Cause(
        id="block-session-lost",
        title=Text("The connection to a network disk is lost", "与网络磁盘的连接已断开"),
        what=Text(
            "An iSCSI session or a path to a disk failed. Requests wait for the recovery timeout, then fail.",
            "iSCSI 会话或磁盘路径失败，请求等到恢复超时后失败。",
        ),
        fix=Text(
            "Check the target and the network to it. Log in again (iscsiadm --login). Use several paths (multipath).",
            "检查目标端及到它的网络，重新登录（iscsiadm --login），并使用多路径。",
        ),
        risk=Text(
            "File systems may have become read-only: check them before use.",
            "文件系统可能已变为只读，使用前请检查。",
        ),
        verify=Text(
            "All sessions are LOGGED_IN and all devices run.", "所有会话为 LOGGED_IN，设备为 running。"
        ),
        explains=(*_SLOW_DISK, "failing-disk", "filesystem-read-only", "block-device-suspended"),
        mechanisms=("disk", "filesystem"),
    ),
    Cause(
        id="volume-rate-limit",
        title=Text("The volume is at its rate limit", "卷达到速率上限"),
        what=Text(
            "The provider or the device allows a constant number of requests or bytes a second. All else queues.",
            "云厂商或设备每秒只允许固定的请求数或字节数，其余排队。",
        ),
        fix=Text(
            "Compare the rate with the limit of the volume and of the instance. Raise it, or read and write less.",
            "将速率与卷及实例的限额核对；提高限额，或减少读写。",
        ),
        risk=Text(
            "A higher limit costs money. Burst credits hide the limit for a while. Rollback: the old type.",
            "更高限额需付费；突发额度会暂时掩盖限制。回退：恢复原类型。",
        ),
        verify=Text("Requests no longer queue at the same load.", "相同负载下请求不再排队。"),
        explains=_SLOW_DISK,
        mechanisms=("disk",),
    ),
)
