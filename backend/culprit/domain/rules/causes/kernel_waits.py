"""Causes that make threads wait in the kernel for something that can be named."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_STUCK = ("dstate-pileup", "worker-pool-exhausted", "listen-queue-overflow", "lock-contention")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="hanging-file-system",
        title=Text("A file server or FUSE program does not answer", "文件服务器或 FUSE 程序没有应答"),
        what=Text(
            "A mount waits for its server (NFS, CIFS, Ceph, 9p) or for the program behind it (sshfs, s3fs). "
            "Each thread that uses the mount waits.",
            "挂载在等待其服务器（NFS、CIFS、Ceph、9p）或背后的程序（sshfs、s3fs），使用该挂载的线程全部等待。",
        ),
        fix=Text(
            "Check the server or the program, and the network to it. To release the threads of a FUSE mount, write 1 "
            "to /sys/fs/fuse/connections/ID/abort; unmount NFS lazily (umount -l). Restart what hung.",
            "检查服务器或程序以及到它的网络；FUSE 可向 /sys/fs/fuse/connections/ID/abort 写入 1 释放线程，"
            "NFS 可延迟卸载（umount -l）；随后重启挂起的程序。",
        ),
        risk=Text(
            "Writes that the server does not have are lost. Rollback: mount it again.",
            "服务器尚未收到的写入会丢失。回退：重新挂载。",
        ),
        verify=Text("No thread waits for the mount.", "没有线程等待该挂载。"),
        explains=(*_STUCK, "slow-dependency"),
        mechanisms=("filesystem", "disk", "fault"),
        proven_by=("fuse-hang",),
    ),
    Cause(
        id="journal-stall",
        title=Text("The journal of a file system is full or commits slowly", "文件系统日志已满或提交缓慢"),
        what=Text(
            "Changes of metadata wait until the journal has room. One slow commit stops all others.",
            "元数据修改要等日志有空间；一次缓慢的提交或大量 fsync() 会阻住其他所有修改。",
        ),
        fix=Text(
            "Reduce what syncs so often. Move the journal to a faster device, or make it larger (tune2fs -J size=).",
            "减少频繁同步的来源；将日志移到更快的设备，或加大日志（tune2fs -J size=）。",
        ),
        risk=Text(
            "The file system must be unmounted to change its journal. Rollback: the old size.",
            "更改日志需要卸载文件系统。回退：恢复旧大小。",
        ),
        verify=Text("No thread waits for a transaction.", "没有线程等待事务。"),
        explains=_STUCK,
        mechanisms=(
            "disk",
            "filesystem",
        ),
        tested_by=("offcpu",),
    ),
    Cause(
        id="dirty-limit-reached",
        title=Text("Writers wait for writeback", "写入线程在等待回写"),
        what=Text(
            "Data is written faster than the disk takes it. At the dirty limit each write() waits.",
            "写入速度超过磁盘；达到脏页上限后每次 write() 都要等待。",
        ),
        fix=Text(
            "Limit the bulk writer (io.max, ionice, rsync --bwlimit), or write in smaller portions with O_DIRECT.",
            "限制大量写入者（io.max、ionice、rsync --bwlimit），或用 O_DIRECT 分批写入。",
        ),
        risk=Text(
            "A higher dirty limit only delays the wait and loses more data in a crash. Rollback: remove the limit.",
            "调高脏页上限只是推迟等待，崩溃时丢失更多数据。回退：撤销限制。",
        ),
        verify=Text(
            "Writers of the service wait no more, and Dirty falls.", "服务的写入不再等待，Dirty 下降。"
        ),
        explains=_STUCK,
        mechanisms=("disk",),
    ),
    Cause(
        id="memory-high-throttling",
        title=Text("The control group is above memory.high", "控制组超过 memory.high"),
        what=Text(
            "Above memory.high the kernel puts the threads of the group to sleep, up to two seconds each time.",
            "超过 memory.high 后，内核让该组线程休眠，每次分配最长两秒。",
        ),
        fix=Text(
            "Raise memory.high (systemd: MemoryHigh=) to what the service needs, or reduce what it holds.",
            "将 memory.high（systemd：MemoryHigh=）提高到服务所需，或减少其占用。",
        ),
        risk=Text(
            "A higher value takes memory from neighbors. Rollback: write the old value.",
            "提高后会挤占邻居内存。回退：写回旧值。",
        ),
        verify=Text(
            "The event `high` in memory.events does not increase.", "memory.events 的 high 不再增长。"
        ),
        explains=(*_STUCK, "major-fault-thrashing", "direct-reclaim-stall"),
        mechanisms=(
            "fault",
            "unknown",
        ),
    ),
    Cause(
        id="memcg-oom-disabled",
        title=Text("The control group is full and may not kill", "控制组已满且禁止终止进程"),
        what=Text(
            "The group is at its limit and oom_kill_disable is set: its threads wait for memory that never comes.",
            "控制组达到限额且设置了 oom_kill_disable，线程等待永远不会到来的内存。",
        ),
        fix=Text(
            "Raise the limit of the group to release its threads. Then remove oom_kill_disable.",
            "提高限额以释放线程，然后取消 oom_kill_disable。",
        ),
        risk=Text(
            "With the OOM killer on, the kernel kills a process of the group. Rollback: write 1 to memory.oom_control.",
            "启用后内核会终止组内进程。回退：向 memory.oom_control 写入 1。",
        ),
        verify=Text("`under_oom` of memory.oom_control is 0.", "memory.oom_control 的 under_oom 为 0。"),
        explains=_STUCK,
        mechanisms=(
            "fault",
            "unknown",
        ),
    ),
    Cause(
        id="output-pipe-full",
        title=Text("The reader of a pipe does not read", "管道读端没有读取"),
        what=Text(
            "A program writes to a pipe, often its log to a container engine, and the reader is slow or stopped.",
            "程序向管道写入（常为交给容器引擎的日志），而读端缓慢或已停止。",
        ),
        fix=Text(
            "Find the reader (the other process with the same pipe in /proc/PID/fd) and make it read. Write logs "
            "without blocking (mode=non-blocking) or write less.",
            "找到读端（/proc/PID/fd 中有同一管道的另一进程）并使其恢复读取；日志改为非阻塞，或减少输出。",
        ),
        risk=Text(
            "Logs that do not block can lose lines. Rollback: the old mode.",
            "非阻塞日志可能丢行。回退：恢复旧模式。",
        ),
        verify=Text("No thread waits to write to the pipe.", "没有线程等待写入管道。"),
        explains=_STUCK,
        mechanisms=("pipe",),
        proven_by=("printed-log",),
    ),
    Cause(
        id="log-receiver-blocked",
        title=Text("The receiver of logs does not read", "日志接收端没有读取"),
        what=Text(
            "syslog() and similar calls send to a local socket. Its queue is full, so each caller waits.",
            "syslog() 等调用向本地套接字发送；其队列已满，每个调用者都在等待接收端。",
        ),
        fix=Text(
            "Check the logging service (journald, rsyslog): its disk, its remote target, its limits. Restart it.",
            "检查日志服务（journald、rsyslog）的磁盘、远端与限额，必要时重启。",
        ),
        risk=Text(
            "Lines in the queue are lost at a restart. Nothing to roll back.",
            "重启会丢失队列中的行；无需回退。",
        ),
        verify=Text("No thread waits to send to the socket.", "没有线程等待向该套接字发送。"),
        explains=_STUCK,
        mechanisms=(
            "peer",
            "unknown",
        ),
        proven_by=("claims-log",),
    ),
    Cause(
        id="file-lock-held",
        title=Text("Another process holds a file lock", "其他进程持有文件锁"),
        what=Text(
            "Processes wait for flock() or fcntl() on a file that another process keeps locked, or try again "
            "and again.",
            "进程在等待某文件的 flock() 或 fcntl() 锁，而另一进程一直持有。",
        ),
        fix=Text(
            "See why the holder keeps it: it is slow, stuck or waits itself. End it if it is not needed.",
            "查明持有者为何不释放：缓慢、卡住或自身在等待；不需要时结束它。",
        ),
        risk=Text(
            "What a killed holder did is not finished. Rollback: start it again.",
            "被终止的持有者工作未完成。回退：重新启动。",
        ),
        verify=Text(
            "/proc/locks shows no waiter for the file, and no lock that stays.",
            "/proc/locks 中该文件没有等待者，也没有长期持有的锁。",
        ),
        explains=_STUCK,
        mechanisms=("lock", "sleep"),
        proven_by=("php-kept-sessions",),
    ),
    Cause(
        id="fanotify-permission-wait",
        title=Text("A file scanner delays every access", "文件扫描程序延迟每次访问"),
        what=Text(
            "A security scanner asked the kernel to hold accesses to files until it permits them, and it answers late.",
            "安全扫描程序要求内核在其许可之前阻住文件访问，而它应答缓慢。",
        ),
        fix=Text(
            "Exclude the directories of the service from on-access scans, or give the scanner more CPU.",
            "将服务目录排除在实时扫描之外，或为扫描程序提供更多 CPU。",
        ),
        risk=Text(
            "Excluded files are not scanned. Rollback: remove the exclusion.",
            "被排除的文件不再扫描。回退：取消排除。",
        ),
        verify=Text("No thread waits for permission.", "没有线程等待许可。"),
        explains=_STUCK,
        mechanisms=("permission", "unknown"),
        proven_by=("mailboxes-of-a-company",),
    ),
    Cause(
        id="audit-backlog",
        title=Text("The audit queue is full", "审计队列已满"),
        what=Text(
            "Audit rules log more than auditd writes. Each audited system call waits until the queue has room.",
            "审计规则产生的记录多于 auditd 的写入，每个被审计的系统调用都要等队列腾出空间。",
        ),
        fix=Text(
            "Remove or narrow the rules that log most (aureport --syscall). Raise the backlog only after that.",
            "删除或收窄记录最多的规则（aureport --syscall），之后再考虑加大 backlog。",
        ),
        risk=Text(
            "Fewer rules record less; ask who needs them. Rollback: load the old rules.",
            "规则减少则记录减少，请先确认谁需要。回退：重新加载旧规则。",
        ),
        verify=Text(
            "auditctl -s: backlog near 0, lost does not grow.", "auditctl -s：backlog 接近 0，lost 不增长。"
        ),
        explains=_STUCK,
        mechanisms=("unknown",),
    ),
    Cause(
        id="entropy-missing",
        title=Text("The kernel has no random numbers yet", "内核尚无可用随机数"),
        what=Text(
            "A program reads /dev/random or calls getrandom() before the generator is seeded (new VM, old kernel).",
            "程序读取 /dev/random 或调用 getrandom() 时随机数发生器尚未初始化（新虚拟机、旧内核）。",
        ),
        fix=Text(
            "Give the VM a virtio-rng device, or run rngd. Read /dev/urandom where the program can be set so.",
            "为虚拟机添加 virtio-rng，或运行 rngd；可配置时改读 /dev/urandom。",
        ),
        risk=Text("None known. Rollback: remove the device.", "无已知风险。回退：移除设备。"),
        verify=Text("No thread waits for random numbers.", "没有线程等待随机数。"),
        explains=_STUCK,
        mechanisms=("unknown",),
    ),
    Cause(
        id="block-device-suspended",
        title=Text("A block device is suspended", "块设备被挂起"),
        what=Text(
            "The queue of a device is stopped: a snapshot, a table change (dmsetup suspend) or a reset has not ended.",
            "设备队列已停止：快照、映射变更（dmsetup suspend）或复位尚未结束。",
        ),
        fix=Text(
            "See dmsetup info for a suspended device and resume it. End the snapshot that hangs.",
            "用 dmsetup info 查找被挂起的设备并 resume；结束卡住的快照。",
        ),
        risk=Text(
            "Resuming in the middle of a snapshot can spoil the snapshot. Nothing to roll back.",
            "快照中途恢复可能损坏该快照；无需回退。",
        ),
        verify=Text("No thread waits for the device.", "没有线程等待该设备。"),
        explains=_STUCK,
        mechanisms=(
            "disk",
            "fault",
        ),
    ),
    Cause(
        id="filesystem-frozen",
        title=Text("A file system is frozen", "文件系统被冻结"),
        what=Text(
            "A backup, a snapshot or an administrator has frozen the file system (fsfreeze, FIFREEZE). Reads go on; "
            "each write waits until it is thawed, and all that waits for the writer waits too.",
            "备份、快照或管理员冻结了文件系统（fsfreeze、FIFREEZE）。读取照常；每次写入都要等到解冻，"
            "等待写入者的线程也随之等待。",
        ),
        fix=Text(
            "Find who freezes: the job of the backup or the agent of the volume. Thaw it with fsfreeze -u MOUNT. Limit "
            "the time between freeze and thaw, or take the snapshot where no freeze is needed.",
            "找出冻结者（备份任务或卷的代理程序），用 fsfreeze -u 挂载点 解冻；限制冻结到解冻的时间，"
            "或改用无需冻结的快照方式。",
        ),
        risk=Text(
            "A snapshot that is under way when the file system is thawed may be inconsistent. Take it again.",
            "解冻时正在进行的快照可能不一致，需要重新创建。",
        ),
        verify=Text("No write waits before it reaches the device.", "没有写入在到达设备之前等待。"),
        explains=(*_STUCK, "slow-dependency", "hanging-file-system"),
        mechanisms=("filesystem", "lock", "condition", "semaphore", "disk"),
        proven_by=("dairy-rounds",),
    ),
    Cause(
        id="direct-reclaim-stall",
        title=Text("Programs reclaim memory themselves", "程序自行回收内存"),
        what=Text(
            "Free memory is gone before kswapd can restore it. Each allocation first reclaims pages, and waits.",
            "kswapd 来不及恢复空闲内存，每次分配都要先回收页面并等待。",
        ),
        fix=Text(
            "Find what takes memory so fast. Give kswapd a head start (vm.watermark_scale_factor), or add memory.",
            "找出快速占用内存者；提前唤醒 kswapd（vm.watermark_scale_factor），或增加内存。",
        ),
        risk=Text(
            "A higher factor keeps more memory free and unused. Rollback: the old value.",
            "调高该值会保留更多闲置内存。回退：恢复旧值。",
        ),
        verify=Text("allocstall does not grow under the same load.", "相同负载下 allocstall 不增长。"),
        explains=_STUCK,
        mechanisms=(
            "fault",
            "running",
            "disk",
        ),
        tested_by=("perf_record",),
    ),
)
