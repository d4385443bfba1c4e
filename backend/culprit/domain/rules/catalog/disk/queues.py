"""Rules about disks and file systems: queues, tasks that nobody can interrupt, room, and health."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.core.rules.contract import Condition, Grade, Guard, Limit, Over, Rule
from culprit.core.rules.measures import disk as of
from culprit.core.rules.measures import disk_told as told

_WAITING = (
    Rule(
        id="F-DISK-SATURATED",
        title=Text("Requests queue at a disk", "磁盘请求排队"),
        says=Text(
            "{value} requests wait at {dev}, most of the time.", "{dev} 大部分时间有 {value} 个请求排队。"
        ),
        measure=of.QUEUE,
        op=">",
        levels=(
            ("warn", Limit("warn", 2.0, "Gregg: more than one per hardware queue; pmie and mixins: rising")),
            ("critical", Limit("critical", 10.0, "node_exporter mixin: queue > 10")),
        ),
        also=(
            Condition(Over("disk.util_pct", "held"), ">", Limit("util", 95.0, "pmie 95, Netdata 98")),
            Condition(
                of.SLOWNESS, ">", Limit("slow", 1.0, "longer than such a device needs: 20 ms, SSD 5, NVMe 2")
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("disk-saturation",),
        refutes=("disk-saturation",),
        traps=Text(
            "Utilisation alone says nothing of a parallel device; a mapped device counts every request again.",
            "仅凭利用率不能判断可并行设备；映射设备会重复计数。",
        ),
        source="/proc/diskstats, held in 60 % of the readings: bursts of background writing pass",
    ),
    Rule(
        id="F-DISK-BULK-WRITES",
        title=Text("Much is written in large pieces", "大块写入占满磁盘"),
        says=Text(
            "Writes of {value} KiB on average keep the disk full, and requests queue at it.",
            "平均 {value} KiB 的写入占满磁盘，请求排队。",
        ),
        measure=Over("disk.wareq_kb", "mean"),
        op=">=",
        levels=(
            ("warn", Limit("warn", 128.0, "KiB: a page or a few is a log or a database; pieces are bulk")),
        ),
        also=(
            Condition(Over("disk.write_mb_s", "mean"), ">", Limit("rate", 20.0, "less fills no disk")),
            Condition(of.QUEUE, ">", Limit("queue", 2.0, "as for a disk that is full")),
            Condition(Over("disk.util_pct", "held"), ">", Limit("util", 95.0, "pmie 95, Netdata 98")),
            Condition(of.SLOWNESS, ">", Limit("slow", 1.0, "as for a disk that is full")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("disk-saturation",),
        traps=Text("Backups and copies write so, and may be meant to.", "备份与拷贝本就如此。"),
        source="/proc/diskstats: sectors for each write",
    ),
    Rule(
        id="F-DISK-UTIL",
        title=Text("A disk is always busy", "磁盘持续繁忙"),
        says=Text(
            "At least one request in flight {value} % of the time.", "{value}% 的时间至少有一个在途请求。"
        ),
        measure=Over("disk.util_pct", "held"),
        op=">",
        levels=(("info", Limit("util", 95.0, "pmie 95, Netdata 98")),),
        grade=Grade.CONTEXT,
        source="refuted as a signal: a throttled disk looks idle, a parallel one looks full",
    ),
    Rule(
        id="F-DISK-INFLIGHT",
        title=Text("Many requests in flight at once", "在途请求过多"),
        says=Text(
            "{value} requests in flight; the queue takes {nr_requests}.",
            "在途 {value} 个请求，队列深度 {nr_requests}。",
        ),
        measure=of.IN_FLIGHT,
        op=">",
        levels=(("info", Limit("requests", 64.0, "half of the usual queue")),),
        grade=Grade.CONTEXT,
        source="/sys/block/*/inflight, instants",
    ),
    Rule(
        id="F-DISK-READ-RATE",
        title=Text("Much is read from a disk", "磁盘读取量大"),
        says=Text("{value} MB/s are read.", "读取 {value} MB/s。"),
        measure=Over("disk.read_mb_s", "mean"),
        op=">",
        levels=(("info", Limit("rate", 50.0, "a case study: 100 MB/s at the quota, 4 MB/s when well")),),
        grade=Grade.CONTEXT,
        source="a fact about the load, not an illness",
    ),
    Rule(
        id="F-DISK-QUOTA-PLATEAU",
        title=Text("Throughput is flat, as under a quota", "吞吐呈平台，疑似受配额限制"),
        says=Text("{mb_per_s} MB/s with {value} % variation.", "{mb_per_s} MB/s，波动仅 {value}%。"),
        measure=of.PLATEAU,
        op="<",
        levels=(("info", Limit("variation", 3.0, "own")),),
        also=(
            Condition(of.SLOWNESS, ">", Limit("slow", 1.0, "requests take longer than such a device needs")),
        ),
        grade=Grade.CONTEXT,
        traps=Text("A steady load is flat as well.", "平稳负载同样呈平台。"),
        source="own; at least ten readings",
    ),
    Rule(
        id="F-DISK-READAHEAD",
        title=Text("Every read takes the whole read-ahead", "每次读取都用满预读"),
        says=Text(
            "{dev} reads {read_kb} KiB at a time, read-ahead {value} KiB.",
            "{dev} 每次读 {read_kb} KiB，预读 {value} KiB。",
        ),
        measure=of.READ_AHEAD,
        op=">=",
        levels=(("info", Limit("ahead", 128.0, "the kernel's default")),),
        also=(
            Condition(
                Over("mem.pgmajfault_per_s", "mean"),
                ">",
                Limit("faults", 50.0, "a fault of 4 KiB reads it all"),
            ),
        ),
        grade=Grade.CONTEXT,
        traps=Text("Sequential readers want it.", "顺序读取需要它。"),
        source="read_ahead_kb against the mean size of reads",
    ),
    Rule(
        id="F-PROC-DSTATE",
        title=Text("Tasks are stuck while disks are idle", "磁盘空闲而任务不可中断地等待"),
        says=Text(
            "{value} tasks ({comm}) stand at {wchan} for seconds, and no disk is busy.",
            "{value} 个任务（{comm}）停在 {wchan} 数秒，而磁盘并不繁忙。",
        ),
        measure=of.STUCK,
        op=">=",
        levels=(
            ("warn", Limit("warn", 4.0, "the case study of a high load: 4")),
            ("critical", Limit("critical", 16.0, "own")),
        ),
        guards=(
            Guard(
                Condition(
                    of.BUSIEST, "<", Limit("busy", 50.0, "what waits for a busy disk is explained by it")
                ),
                Sentence("guard.disk_busy"),
            ),
        ),
        grade=Grade.MECHANISM,
        beside=(
            of.BUSIEST,
            Over("sched.blocked", "held"),
            Over("load.avg1", "last"),
            Over("cpu.total_iowait_pct", "mean"),
        ),
        causes=("dstate-pileup",),
        refutes=("dstate-pileup",),
        traps=Text(
            "A limit on I/O holds requests back before the device counts them: the disk looks idle.",
            "I/O 限流在设备计数之前就拦下请求：磁盘看起来空闲。",
        ),
        source="state D at the same place in two looks over all tasks, five seconds apart",
    ),
    Rule(
        id="F-PROC-BLOCKED",
        title=Text("Many tasks wait for I/O", "大量任务等待 I/O"),
        says=Text("{value} tasks are blocked most of the time.", "大部分时间有 {value} 个任务阻塞。"),
        measure=Over("sched.blocked", "held"),
        op=">=",
        levels=(("warn", Limit("tasks", 4.0, "as F-PROC-DSTATE")),),
        grade=Grade.CONTEXT,
        source="procs_blocked of /proc/stat: says that they wait, not for what",
    ),
    Rule(
        id="F-CPU-IOWAIT",
        title=Text("CPUs idle while I/O is awaited", "CPU 空闲等待 I/O"),
        says=Text(
            "{value} % of the CPU time is idle with I/O in flight.", "{value}% 的 CPU 时间空闲且有 I/O 在途。"
        ),
        measure=Over("cpu.total_iowait_pct", "mean"),
        op=">",
        levels=(("info", Limit("iowait", 40.0, "Netdata 40/20")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "It is idle time under another name: a busy CPU hides it.", "本质是空闲时间：CPU 一忙即被掩盖。"
        ),
        source="refuted as a signal: the same wait shows as idle or iowait, by what else runs",
    ),
    Rule(
        id="F-FLAME-RECLAIM",
        title=Text("CPU time goes into reclaim", "CPU 时间用于内存回收"),
        says=Text("{value} % of the CPU time is under {frames}.", "{value}% 的 CPU 时间位于 {frames} 之下。"),
        measure=of.RECLAIM_STACKS,
        op=">",
        levels=(("warn", Limit("share", 5.0, "own")),),
        grade=Grade.CORRELATIONAL,
        beside=(
            Over("mem.available_pct", "min"),
            Over("mem.pgscan_direct_per_s", "mean"),
            Over("mem.refault_per_s", "mean"),
        ),
        causes=("major-fault-thrashing",),
        traps=Text("Backups and other streaming readers reclaim as well.", "备份等流式读取也会触发回收。"),
        source="on-CPU stacks",
    ),
)

_ROOM = (
    Rule(
        id="F-FS-FULL",
        title=Text("A file system is nearly full", "文件系统将满"),
        says=Text("{mount} is {value} % full.", "{mount} 已用 {value}%。"),
        measure=of.SPACE,
        op=">",
        levels=(
            (
                "warn",
                Limit("warn", 95.0, "node_exporter mixin: 5 % left is critical; ext4 keeps 5 % for root"),
            ),
            ("critical", Limit("critical", 99.5, "the next write fails")),
        ),
        grade=Grade.DIRECT,
        traps=Text("Caches that clean up after themselves may live there.", "可能是会自行清理的缓存。"),
        source="df, of what users without privileges may have",
    ),
    Rule(
        id="F-FS-INODES",
        title=Text("A file system runs out of inodes", "inode 将耗尽"),
        says=Text("{mount}: {value} % of the inodes are used.", "{mount}：inode 已用 {value}%。"),
        measure=of.INODES,
        op=">",
        levels=(
            ("warn", Limit("warn", 95.0, "as for space")),
            ("critical", Limit("critical", 99.5, "the next file cannot be made")),
        ),
        grade=Grade.DIRECT,
        source="df -i",
    ),
)

_HEALTH = (
    Rule(
        id="F-DISK-ILL",
        title=Text("A disk says that it is failing", "磁盘自报故障"),
        says=Text(
            "{dev}: {source} says {state} ({value} of its signs).",
            "{dev}：{source} 报告 {state}（{value} 项）。",
        ),
        measure=of.ILL,
        op=">",
        levels=(("critical", Limit("ill", 0.0, "its own word")),),
        grade=Grade.DIRECT,
        beside=(
            told.COUNTED_ERRORS,
            told.ERROR_LINES,
            Over("disk.r_await_ms", "max"),
            Over("disk.r_iops", "mean"),
        ),
        causes=("failing-disk",),
        refutes=("failing-disk",),
        source="SMART, mdstat, state of the device; ioerr_cnt counts refused commands too, and is no evidence",
    ),
    Rule(
        id="F-DISK-ERRORS",
        title=Text("The kernel logs errors of a disk", "内核记录磁盘错误"),
        says=Text(
            "{value} kinds of errors of {dev} in the kernel's log.", "内核日志中 {dev} 有 {value} 组错误。"
        ),
        measure=of.IO_ERRORS,
        op=">",
        levels=(("critical", Limit("errors", 0.0, "a disk that is well has none")),),
        grade=Grade.DIRECT,
        beside=(
            told.ERROR_LINES,
            told.REFUSED_COMMANDS,
            Over("disk.r_await_ms", "max"),
            Over("disk.r_iops", "mean"),
        ),
        causes=("failing-disk",),
        refutes=("failing-disk",),
        traps=Text(
            "A cable, a controller or a removed disk says the same.", "线缆、控制器或被拔出的磁盘也会如此。"
        ),
        source="I/O error, timeout and reset lines",
    ),
    Rule(
        id="F-FS-ERRORS",
        title=Text("The kernel logs errors of a file system", "内核记录文件系统错误"),
        says=Text("{dev}: {value} kinds of errors of the file system.", "{dev}：{value} 组文件系统错误。"),
        measure=of.FS_ERRORS,
        op=">",
        levels=(("critical", Limit("errors", 0.0, "one that is well has none")),),
        grade=Grade.CORRELATIONAL,
        beside=(told.FS_ERROR_LINES, Over("disk.r_await_ms", "max"), Over("disk.w_await_ms", "max")),
        causes=("failing-disk",),
        source="ext4, XFS and btrfs; may be left from an earlier crash",
    ),
)

RULES: tuple[Rule, ...] = (*_WAITING, *_ROOM, *_HEALTH)
