"""Rules about disks and file systems: queues, uninterruptible tasks, and free space."""

from __future__ import annotations

from collectors.contract import Sentence, Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.cpu import turns
from culprit.domain.rules.measures.disk import device_time, queues
from culprit.domain.rules.rule import Condition, Guard, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_BUSY = Threshold("busy", 50.0, "a busy disk explains the waits")
_NO_BUSY_DISK = (Guard(Condition(queues.BUSIEST, "<", _BUSY), Sentence("guard.disk_busy")),)
_SERVICE_WAITS = Condition(
    turns.DISK_WITH_TURNS,
    ">=",
    Threshold("disk_pct", 33.3, "percent: requests take 1.5 times as long (Amdahl 1967)"),
)

_WAITING = (
    Rule(
        id="F-DISK-SATURATED",
        title=Text("Requests queue at a disk", "磁盘请求排队"),
        summary=Text(
            "On {dev}, {value} requests wait longer than the device needs, most of the time.",
            "{dev} 大部分时间有 {value} 个请求的等待超出设备所需。",
        ),
        measure=device_time.QUEUED,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "at any time, at least one request waits that could be done")),
            ("critical", Threshold("critical", 10.0, "node_exporter mixin: queue > 10")),
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        suspects=("disk-saturation",),
        causes=("disk-saturation",),
        refutes=("disk-saturation",),
        caveats=Text(
            "What a device needs is that of its class: 20 ms if it turns or the kernel does not know, 5 ms of an SSD, "
            "2 ms of NVMe.",
            "设备所需时间按其类别：旋转或未知 20 毫秒，SSD 5 毫秒，NVMe 2 毫秒。",
        ),
        source="/proc/diskstats, in 60 % of the readings: short bursts of background writes do not match",
    ),
    Rule(
        id="F-DISK-DELAYS-REQUESTS",
        title=Text("Requests of a service wait in the queue of a disk", "服务的请求在磁盘队列中等待"),
        summary=Text(
            "Requests to {dev} spend {value} % of their time in its queue: it needed {needed_ms} ms for one at best. "
            "A service waits for disks.",
            "发往 {dev} 的请求有 {value} % 的时间在其队列中：单个请求最快只需 {needed_ms} ms；有服务在等待磁盘。",
        ),
        measure=device_time.QUEUE_SHARE,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 75.0, "percent: a device that is busy for 75 % of the time (M/M/1)")),
        ),
        also=(
            Condition(
                device_time.IN_FLIGHT,
                ">=",
                Threshold("requests", 1.0, "at any time, at least one request is in progress"),
            ),
            _SERVICE_WAITS,
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        suspects=("disk-saturation",),
        causes=("disk-saturation",),
        refuted_by=("F-CGROUP-IO-HELD",),
        caveats=Text(
            "Larger requests take longer without a queue: a mix of small and large ones looks like one.",
            "较大的请求本就更慢：大小混合的请求看起来与排队相同。",
        ),
        source="/proc/diskstats: time of requests against the shortest of the capture; samples of system calls",
    ),
    Rule(
        id="F-DISK-SLOW-DEVICE",
        title=Text(
            "A service waits for a disk that is slow even without a queue", "服务在等待无排队也很慢的磁盘"
        ),
        summary=Text(
            "A request to {dev} takes {await_ms} ms, {value} times what such a device needs at most. It is always "
            "busy, and a service waits for disks.",
            "发往 {dev} 的单个请求需 {await_ms} ms，为同类设备最长所需的 {value} 倍；它始终繁忙，且有服务在等待磁盘。",
        ),
        measure=queues.SLOWNESS,
        op=">",
        thresholds=(("warn", Threshold("warn", 1.0, "more than the slowest device of its class needs")),),
        also=(
            Condition(
                MetricReading("disk.util_pct", "held"), ">", Threshold("util", 95.0, "pmie 95, Netdata 98")
            ),
            _SERVICE_WAITS,
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        suspects=("disk-saturation",),
        causes=("disk-saturation",),
        refuted_by=("F-CGROUP-IO-HELD",),
        caveats=Text(
            "A program that writes one record after the other makes no queue. The volume may have a limit, or fail.",
            "逐条写入的程序不会形成队列；该卷可能受限速，或正在损坏。",
        ),
        source="/proc/diskstats: time of requests in 60 % of the readings; data sheets of device classes",
    ),
    Rule(
        id="F-DISK-BULK-WRITES",
        title=Text("Large writes fill the disk", "大块写入占满磁盘"),
        summary=Text(
            "Writes of {value} KiB on average fully use the disk, and requests queue.",
            "平均 {value} KiB 的写入占满磁盘，请求排队。",
        ),
        measure=queues.BULK_WRITES,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 128.0, "KiB: a few pages are a log or a database; larger writes are bulk writes"
                ),
            ),
        ),
        also=(
            Condition(device_time.QUEUED, ">", Threshold("queue", 1.0, "as for a fully used disk")),
            Condition(
                device_time.WRITE_TIME,
                ">",
                Threshold("write_pct", 100.0, "at any time, a write is in progress"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        causes=("disk-saturation",),
        caveats=Text(
            "Backups and copies write this way, possibly by design.", "备份与拷贝本就如此，可能是预期行为。"
        ),
        source="/proc/diskstats: sectors per write",
    ),
    Rule(
        id="F-DISK-BULK-QUEUE",
        title=Text("Requests wait behind large writes", "请求排在大块写入之后"),
        summary=Text(
            "Writes to {dev} are {value} KiB on average, and requests spend most of their time in its queue.",
            "{dev} 的写入平均为 {value} KiB，请求的大部分时间在其队列中。",
        ),
        measure=queues.BULK_WRITES,
        op=">=",
        thresholds=(("info", Threshold("info", 128.0, "KiB: as for a disk that large writes fill")),),
        also=(
            Condition(
                device_time.QUEUE_SHARE,
                ">",
                Threshold("queue_pct", 75.0, "percent: as for a disk that delays requests"),
            ),
            Condition(
                device_time.WRITE_TIME,
                ">",
                Threshold("write_pct", 100.0, "at any time, a write is in progress"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        caveats=Text(
            "This does not show who waits. A backup on a disk of its own does the same.",
            "这并不表明谁在等待：独占磁盘的备份也是如此。",
        ),
        source="/proc/diskstats: sectors per write, and the time of requests against the shortest of the capture",
    ),
    Rule(
        id="F-DISK-UTIL",
        title=Text("A disk is always busy", "磁盘持续繁忙"),
        summary=Text(
            "At least one request was in flight {value} % of the time.", "{value}% 的时间至少有一个在途请求。"
        ),
        measure=MetricReading("disk.util_pct", "held"),
        op=">",
        thresholds=(("info", Threshold("util", 95.0, "pmie 95, Netdata 98")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        source="refuted as a signal: a throttled disk looks idle, a parallel disk looks full",
    ),
    Rule(
        id="F-DISK-INFLIGHT",
        title=Text("Many requests in flight at once", "在途请求过多"),
        summary=Text(
            "{requests} requests are in flight, {value} % of the {holds} that the queues of {dev} hold.",
            "{dev} 在途 {requests} 个请求，占其队列容量 {holds} 的 {value}%。",
        ),
        measure=queues.QUEUE_USED,
        op=">",
        thresholds=(("info", Threshold("requests", 50.0, "half of nr_requests of all hardware queues")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        source="/sys/block/*/inflight, instants",
    ),
    Rule(
        id="F-DISK-READ-RATE",
        title=Text("Much is read from a disk", "磁盘读取量大"),
        summary=Text(
            "{value} reads of {dev} are in progress on average.", "{dev} 平均有 {value} 个读请求在途。"
        ),
        measure=device_time.READING,
        op=">=",
        thresholds=(("info", Threshold("rate", 0.5, "most of the time, a read is in progress")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        source="describes the load, not a fault",
    ),
    Rule(
        id="F-DISK-QUOTA-PLATEAU",
        title=Text("Throughput is constant, as under a quota", "吞吐呈平台，疑似受配额限制"),
        summary=Text("{mb_per_s} MB/s with a variation of {value} %.", "{mb_per_s} MB/s，波动仅 {value}%。"),
        measure=queues.PLATEAU,
        op="<",
        thresholds=(("info", Threshold("variation", 3.0, "estimate")),),
        also=(
            Condition(
                queues.SLOWNESS, ">", Threshold("slow", 1.0, "requests take longer than such a device needs")
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        caveats=Text("A steady load is constant as well.", "平稳负载同样呈平台。"),
        source="estimate; at least ten readings",
    ),
    Rule(
        id="F-DISK-READAHEAD",
        title=Text("Each read uses the full read-ahead", "每次读取都用满预读"),
        summary=Text(
            "{dev} reads {read_kb} KiB per request; the read-ahead is {value} KiB.",
            "{dev} 每次读 {read_kb} KiB，预读 {value} KiB。",
        ),
        measure=queues.READ_AHEAD,
        op=">=",
        thresholds=(("info", Threshold("ahead", 128.0, "default of the kernel")),),
        also=(
            Condition(
                queues.FAULTS_OF_READS,
                ">",
                Threshold("faults", 50.0, "most reads are of a fault, which needs 4 KiB and reads all of it"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        caveats=Text("Sequential readers benefit from it.", "顺序读取能从中受益。"),
        source="read_ahead_kb against the mean size of reads",
    ),
    Rule(
        id="F-PROC-DSTATE",
        title=Text("Tasks are blocked while disks are idle", "磁盘空闲而任务不可中断地等待"),
        summary=Text(
            "{value} tasks ({comm}) have been blocked in {wchan} for seconds, and no disk is busy.",
            "{value} 个任务（{comm}）停在 {wchan} 数秒，而磁盘并不繁忙。",
        ),
        measure=queues.STUCK,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "a task that does not move for seconds serves no request")),
        ),
        guards=_NO_BUSY_DISK,
        strength=Strength.MECHANISM,
        use=Use("kernel", "saturation"),
        suspects=("dstate-pileup",),
        related=(
            queues.BUSIEST,
            MetricReading("sched.blocked", "held"),
            MetricReading("load.avg1", "last"),
            MetricReading("cpu.total_iowait_pct", "mean"),
        ),
        causes=("dstate-pileup",),
        refutes=("dstate-pileup",),
        harm=True,
        caveats=Text(
            "An I/O limit holds requests back before the device counts them, so the disk looks idle.",
            "I/O 限流在设备计数之前就拦下请求：磁盘看起来空闲。",
        ),
        source="state D at the same place in two samples of all tasks, seconds apart, without a turn on a CPU between",
    ),
    Rule(
        id="F-CPU-IOWAIT",
        title=Text("CPUs are idle while I/O is pending", "CPU 空闲等待 I/O"),
        summary=Text(
            "{value} % of the CPU time is idle with I/O in flight.", "{value}% 的 CPU 时间空闲且有 I/O 在途。"
        ),
        measure=MetricReading("cpu.total_iowait_pct", "mean"),
        op=">",
        thresholds=(("info", Threshold("iowait", 40.0, "Netdata 40/20")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        caveats=Text("iowait is idle time. A busy CPU hides it.", "本质是空闲时间：CPU 一忙即被掩盖。"),
        source="refuted as a signal: the same wait counts as idle or iowait, depending on other load",
    ),
    Rule(
        id="F-FLAME-RECLAIM",
        title=Text("CPU time is spent in memory reclaim", "CPU 时间用于内存回收"),
        summary=Text(
            "{value} % of the CPU time is under {frames}.", "{value}% 的 CPU 时间位于 {frames} 之下。"
        ),
        measure=queues.RECLAIM_STACKS,
        op=">",
        thresholds=(("warn", Threshold("share", 5.0, "estimate")),),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "saturation"),
        related=(
            MetricReading("mem.available_pct", "min"),
            MetricReading("mem.pgscan_direct_per_s", "mean"),
            MetricReading("mem.refault_per_s", "mean"),
        ),
        causes=("major-fault-thrashing",),
        caveats=Text(
            "Backups and other streaming readers also cause reclaim.", "备份等流式读取也会触发回收。"
        ),
        source="on-CPU stacks",
    ),
)

_ROOM = (
    Rule(
        id="F-FS-FULL",
        title=Text("A file system is full", "文件系统已满"),
        summary=Text("{mount} is {value} % full.", "{mount} 已用 {value}%。"),
        measure=queues.SPACE,
        op=">",
        thresholds=(
            ("critical", Threshold("critical", queues.FULL_PCT, "little is left on a disk of any size")),
        ),
        also=(
            Condition(
                queues.SPACE_FREE,
                "<",
                Threshold("free_mb", 16.0, "PostgreSQL allocates 16 MiB at once (wal_segment_size)"),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        causes=("disk-full",),
        refutes=("disk-full",),
        caveats=Text(
            "Root may still write into the reserve of ext4. Remote file systems and FUSE are not read.",
            "root 仍可写入 ext4 的保留空间；远程文件系统与 FUSE 未读取。",
        ),
        source="df: space available to users without privileges",
    ),
    Rule(
        id="F-FS-NEARLY-FULL",
        title=Text("A file system is nearly full", "文件系统将满"),
        summary=Text("{mount} is {value} % full.", "{mount} 已用 {value}%。"),
        measure=queues.SPACE,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("warn", 95.0, "node_exporter mixin: 5 % left is critical; ext4 keeps 5 % for root"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        causes=("disk-full",),
        caveats=Text(
            "Caches that clean up automatically may be stored there.", "可能存放着会自动清理的缓存。"
        ),
        source="df: space available to users without privileges",
    ),
    Rule(
        id="F-FS-INODES",
        title=Text("A file system has no free inodes", "文件系统的 inode 已耗尽"),
        summary=Text("{mount}: {value} % of the inodes are used.", "{mount}：inode 已用 {value}%。"),
        measure=queues.INODES,
        op=">=",
        thresholds=(("critical", Threshold("critical", 100.0, "the next file cannot be created")),),
        strength=Strength.DIRECT,
        use=Use("disk", "errors"),
        causes=("inodes-exhausted",),
        refutes=("inodes-exhausted",),
        source="df -i",
    ),
    Rule(
        id="F-FS-INODES-LOW",
        title=Text("A file system is running out of inodes", "inode 将耗尽"),
        summary=Text("{mount}: {value} % of the inodes are used.", "{mount}：inode 已用 {value}%。"),
        measure=queues.INODES,
        op=">",
        thresholds=(("warn", Threshold("warn", 95.0, "as for space")),),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        causes=("inodes-exhausted",),
        source="df -i",
    ),
)

RULES: tuple[Rule, ...] = (*_WAITING, *_ROOM)
