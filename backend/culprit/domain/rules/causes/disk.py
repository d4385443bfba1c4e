"""Causes about disks and file systems."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="sync-write-amplification",
        title=Text("Every small write waits for the disk", "每次小写入都等待磁盘"),
        what=Text(
            "A file is written synchronously (O_SYNC, O_DSYNC or fsync): each write costs the data and the journal's"
            " begin and commit on the device, and the thread waits for all of them.",
            "文件以同步方式写入（O_SYNC、O_DSYNC 或 fsync）：每次写入需落盘数据及日志的开始与提交，线程等待全部完成。",
        ),
        fix=Text(
            "Write logs buffered, by time or size; where durability is needed, put many records into one fdatasync and"
            " allocate the file beforehand.",
            "日志改为按时间或大小缓冲写；需要持久性时，将多条记录合并为一次 fdatasync，并预分配文件。",
        ),
        risk=Text(
            "What was not yet written is lost when power fails: the owner of the data must agree. To take it back, open"
            " the file as before.",
            "断电时会丢失尚未落盘的数据，须经数据所有者同意。回退：恢复原来的打开方式。",
        ),
        verify=Text(
            "The same load again: at most one device write for each request, hardly a flush, no thread in commits.",
            "相同负载再次采集：每请求至多一次设备写，几乎无刷新，无线程停在提交处。",
        ),
        explains=("disk-saturation", "dstate-pileup", "lock-contention", "worker-pool-exhausted"),
        suspected_by=(
            "F-FD-OSYNC",
            "F-SYNC-WAIT",
            "F-IO-FORCED-OUT",
            "F-DISK-FLUSHES",
            "F-DISK-WRITE-AMPLIFICATION",
        ),
        tested_by=("perf_trace",),
        proven_by=("osync-log",),
    ),
    Cause(
        id="disk-saturation",
        title=Text("A disk has more requests than it can do", "磁盘请求超出其能力"),
        what=Text(
            "Requests queue at the device and each takes many times as long as the device needs for one.",
            "请求在设备处排队，每个请求的耗时远超设备本身所需。",
        ),
        fix=Text(
            "Find who sends most (I/O by process), limit it or move it to another time or disk; then ask for a faster"
            " disk or a higher quota.",
            "找出发出最多请求的进程，限制它或改到其他时间、其他磁盘；然后再考虑更快的磁盘或更高配额。",
        ),
        risk=Text(
            "A limited backup takes longer and may miss its window. To take it back, remove the limit.",
            "受限的备份耗时更长，可能错过窗口。回退：取消限制。",
        ),
        verify=Text(
            "The same load again: the queue below 1 and the time of a request as the device's data sheet has it.",
            "相同负载再次采集：队列小于 1，请求耗时回到设备标称水平。",
        ),
        explains=("dstate-pileup", "lock-contention", "worker-pool-exhausted"),
        suspected_by=("F-DISK-SATURATED",),
        proven_by=("disk-saturation",),
    ),
    Cause(
        id="dstate-pileup",
        title=Text("Tasks pile up in uninterruptible sleep", "任务堆积在不可中断睡眠"),
        what=Text(
            "Many tasks wait in the kernel for what does not come, while disks and CPUs are idle: an I/O limit,"
            " a frozen file system, a server of files that is gone, a lock. The load is high of waiting.",
            "大量任务在内核中等待而磁盘与 CPU 空闲：I/O 限流、文件系统冻结、文件服务器失联或内核锁。负载因此升高。",
        ),
        fix=Text(
            "Read where they stand (wchan, /proc/PID/stack): raise the I/O limit (io.max, blkio.throttle), thaw the"
            " file system (fsfreeze -u), bring the server back.",
            "查看停在何处（wchan、/proc/PID/stack）：提高 I/O 限额（io.max、blkio.throttle）、"
            "解冻文件系统（fsfreeze -u）、恢复文件服务器。",
        ),
        risk=Text(
            "Without its limit the group may take the disk from others; a thaw tears a snapshot that is being made."
            " To take it back, set the old limit.",
            "取消限额后该组可能挤占他人磁盘；解冻会破坏正在制作的快照。回退：恢复旧限额。",
        ),
        verify=Text(
            "No task stands at the same place in two looks; the load falls within minutes.",
            "两次查看中没有任务停在同一处；负载在数分钟内下降。",
        ),
        explains=(
            "lock-contention",
            "worker-pool-exhausted",
        ),
        suspected_by=("F-PROC-DSTATE",),
        proven_by=("dstate",),
    ),
    Cause(
        id="failing-disk",
        title=Text("A disk is failing", "磁盘正在损坏"),
        what=Text(
            "The disk or the array reports errors; each costs seconds of retries, and data may be lost.",
            "磁盘或阵列报告错误；每次错误都要重试数秒，且可能丢失数据。",
        ),
        fix=Text(
            "Make sure of a backup, take the disk out of the array or the host out of service, replace it.",
            "确认备份，将磁盘移出阵列或将主机下线，然后更换。",
        ),
        risk=Text(
            "Rebuilding loads the other disks, of which one may fail as well. Taking the disk back in is no way back:"
            " keep it for recovery.",
            "重建会加重其余磁盘负担，可能再坏一块。不要重新启用旧盘，请保留以备恢复。",
        ),
        verify=Text(
            "SMART passes, the array is whole, no new errors in the kernel's log for a day.",
            "SMART 通过，阵列完整，一天内内核日志无新错误。",
        ),
        explains=("disk-saturation", "dstate-pileup", "lock-contention", "worker-pool-exhausted"),
        suspected_by=("F-DISK-ILL", "F-DISK-ERRORS"),
        proven_by=("failing-disk",),
    ),
)
