"""Rules about writes that are flushed to the device one by one."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.disk import queues as disk
from culprit.domain.rules.measures.disk import sync_writes
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_CAUSE = ("sync-write-amplification",)
_DATABASES = Text(
    "The log of a database is synchronous by design. It is reported but not a cause.",
    "数据库日志按设计同步写：仅提示，不归咎。",
)
_REACHES_DEVICE = Condition(
    sync_writes.DEVICE_REQUESTS, ">=", Threshold("requests", 10.0, "the device receives them")
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FD-OSYNC",
        title=Text("A file is written synchronously", "文件以同步方式写入"),
        summary=Text(
            "{comm} writes {value} times a second to {path}, which is open with flags {flags}. "
            "Each write waits for the device.",
            "{comm} 每秒向 {path} 写 {value} 次，打开标志为 {flags}：每次都等待设备。",
        ),
        measure=sync_writes.SYNC_FILES,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "fewer cannot fill any device")),
            (
                "critical",
                Threshold(
                    "critical", 100.0, "a disk with 100 requests/s is full, because one write needs several"
                ),
            ),
        ),
        also=(
            _REACHES_DEVICE,
            AnyCondition(
                (
                    Condition(
                        disk.BLOCKED,
                        ">=",
                        Threshold("blocked", 0.25, "a task waits for it a quarter of the time"),
                    ),
                    Condition(
                        sync_writes.SYNC_WAITERS, ">=", Threshold("waiting", 0.25, "a task waits for it")
                    ),
                )
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("disk", "utilization"),
        suspects=("sync-write-amplification",),
        causes=_CAUSE,
        refutes=_CAUSE,
        caveats=_DATABASES,
        source="O_SYNC is 04010000 and O_DSYNC 010000 in the octal flags of fdinfo: a bit test, not "
        "a comparison of digits",
    ),
    Rule(
        id="F-FD-OSYNC-DATABASE",
        title=Text("A database writes synchronously", "数据库同步写入"),
        summary=Text(
            "{comm} writes {value} times a second to {path}.", "{comm} 每秒向 {path} 写 {value} 次。"
        ),
        measure=sync_writes.DATABASE_SYNC_FILES,
        op=">",
        thresholds=(("info", Threshold("writes", 10.0, "as for other programs")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        caveats=_DATABASES,
        source="as F-FD-OSYNC, for servers whose log is synchronous by design",
    ),
    Rule(
        id="F-IO-FORCED-OUT",
        title=Text("Each small write is flushed to the device", "每次小写入都被强制落盘"),
        summary=Text(
            "{comm} ({pid}) sends {value} times as many bytes to the device as it writes, in "
            "{writes_per_s} writes a second.",
            "{comm}（{pid}）落盘量是写入量的 {value} 倍，每秒 {writes_per_s} 次写。",
        ),
        measure=sync_writes.FORCED_OUT,
        op=">",
        thresholds=(("warn", Threshold("ratio", 4.0, "a page for every write of less than 1 KiB")),),
        also=(
            Condition(
                MetricReading("disk.flush_per_s", "mean"),
                ">=",
                Threshold("flushes", 10.0, "forced writes are flushed"),
            ),
            Condition(
                disk.BLOCKED, ">=", Threshold("blocked", 0.25, "a task waits for it a quarter of the time")
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "utilization"),
        suspects=("sync-write-amplification",),
        causes=_CAUSE,
        refutes=_CAUSE,
        caveats=Text(
            "Small writes across a large file also send full pages. Databases do so by design "
            "and are excluded.",
            "对大文件的随机小写同样按整页落盘；数据库因设计如此而不计入。",
        ),
        source="wchar and write_bytes of /proc/PID/io: a page counts again only after it was cleaned",
    ),
    Rule(
        id="F-SYNC-WAIT",
        title=Text("Threads wait for flushed data", "线程等待强制落盘"),
        summary=Text(
            "On average {value} threads of {comm} ({pid}) wait in {wchan}.",
            "{comm}（{pid}）平均有 {value} 个线程停在 {wchan}。",
        ),
        measure=sync_writes.SYNC_WAITERS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 0.5, "half a thread on average")),
            ("critical", Threshold("critical", 2.0, "several threads on average")),
        ),
        also=(_REACHES_DEVICE,),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        suspects=("sync-write-amplification",),
        causes=_CAUSE,
        refutes=_CAUSE,
        caveats=_DATABASES,
        source="wchan of threads in state D, ten samples a second: commit of a journal, end of a writeback",
    ),
    Rule(
        id="F-SYNC-WAIT-DATABASE",
        title=Text("A database waits for its commits", "数据库等待提交落盘"),
        summary=Text(
            "On average {value} threads of {comm} wait in {wchan}.", "{comm} 有 {value} 个线程停在 {wchan}。"
        ),
        measure=sync_writes.DATABASE_SYNC_WAITERS,
        op=">=",
        thresholds=(("info", Threshold("waiting", 0.5, "as for other programs")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        caveats=_DATABASES,
        source="as F-SYNC-WAIT, for servers whose log is synchronous by design",
    ),
    Rule(
        id="F-SYSCALL-SYNC",
        title=Text("Frequent fsync calls", "频繁调用 fsync"),
        summary=Text(
            "{comm} ({pid}) calls {syscall} {value} times a second.",
            "{comm}（{pid}）每秒调用 {syscall} {value} 次。",
        ),
        measure=sync_writes.SYNC_CALLS,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "as for O_SYNC")),
            ("critical", Threshold("critical", 100.0, "as for O_SYNC")),
        ),
        also=(Condition(sync_writes.SYNC_CALL_MS, ">=", Threshold("waited", 200.0, "a fifth of a thread")),),
        strength=Strength.DIRECT,
        use=Use("disk", "utilization"),
        causes=_CAUSE,
        refutes=_CAUSE,
        caveats=_DATABASES,
        source="perf trace -s: fsync, fdatasync, msync, sync_file_range",
    ),
    Rule(
        id="F-DISK-FLUSHES",
        title=Text("The device cache is flushed continuously", "设备缓存频繁刷新"),
        summary=Text("{value} flushes a second.", "每秒刷新 {value} 次。"),
        measure=MetricReading("disk.flush_per_s", "held"),
        op=">",
        thresholds=(("info", Threshold("flushes", 30.0, "a journal alone commits once in several seconds")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "utilization"),
        suspects=("sync-write-amplification",),
        source="diskstats since 5.5; does not show which program flushes",
    ),
    Rule(
        id="F-DISK-WRITE-AMPLIFICATION",
        title=Text("Several device writes for each request", "每请求多次设备写"),
        summary=Text("{value} device writes per answered request.", "每个请求对应 {value} 次设备写。"),
        measure=sync_writes.WRITES_PER_REQUEST,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold("ratio", 2.0, "a case study: 3, for data and for begin and commit of the journal"),
            ),
        ),
        also=(
            Condition(
                MetricReading("disk.w_iops", "mean"),
                ">",
                Threshold("writes", 50.0, "few writes give no meaningful ratio"),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        suspects=("sync-write-amplification",),
        causes=_CAUSE,
        caveats=Text("Other programs write to the device too.", "该设备还有其他写入者。"),
        source="iostat against the requests of the application",
    ),
    Rule(
        id="F-FLAME-SYNC-WRITE",
        title=Text("Wait time is spent in synchronous writes", "等待时间集中于同步写"),
        summary=Text(
            "{value} % of the waiting time is under {frames}.", "{value}% 的等待时间位于 {frames} 之下。"
        ),
        measure=sync_writes.SYNC_STACKS,
        op=">",
        thresholds=(("warn", Threshold("share", 20.0, "estimate; idle threads wait as well and dilute it")),),
        also=(_REACHES_DEVICE,),
        strength=Strength.MECHANISM,
        use=Use("disk", "saturation"),
        causes=_CAUSE,
        caveats=_DATABASES,
        source="off-CPU stacks",
    ),
    Rule(
        id="F-FLAME-SYNC-WRITE-CPU",
        title=Text("CPU time is spent in synchronous writes", "CPU 时间消耗于同步写"),
        summary=Text(
            "{value} % of the CPU time is under {frames}.", "{value}% 的 CPU 时间位于 {frames} 之下。"
        ),
        measure=sync_writes.SYNC_CPU_STACKS,
        op=">",
        thresholds=(("warn", Threshold("share", 5.0, "estimate")),),
        strength=Strength.CORRELATIONAL,
        use=Use("disk", "utilization"),
        causes=_CAUSE,
        caveats=_DATABASES,
        source="on-CPU stacks: a synchronous writer sleeps, so this shows only a small part",
    ),
)
