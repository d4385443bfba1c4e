"""Rules about writes that are flushed to the device one by one."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.disk import device_time, sync_writes
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_CAUSE = ("sync-write-amplification",)
_DATABASES = Text(
    "The log of a database is synchronous by design. It is reported but not a cause.",
    "数据库日志按设计同步写：仅提示，不归咎。",
)
#: Removing what takes less than a tenth of the time of a thread makes nothing a tenth faster (Amdahl).
TENTH = 10.0
_DEVICE_WORKS = Condition(
    device_time.WRITE_TIME,
    ">",
    Threshold("device_pct", TENTH, "the device works on writes for a tenth of the time"),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FD-OSYNC",
        title=Text("A file is written synchronously", "文件以同步方式写入"),
        summary=Text(
            "{comm} writes {writes} times a second to {path}, which is open with flags {flags}. "
            "Waiting for the device takes {value} % of the time of a thread.",
            "{comm} 每秒向 {path} 写 {writes} 次，打开标志为 {flags}：等待设备占一个线程 {value}% 的时间。",
        ),
        measure=sync_writes.SYNC_FILES,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", TENTH, "a tenth of the time of a thread")),
            ("critical", Threshold("critical", 100.0, "at any time, a thread waits for it")),
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
            "{comm} writes {writes} times a second to {path}. Waiting takes {value} % of the time of a thread.",
            "{comm} 每秒向 {path} 写 {writes} 次，等待占一个线程 {value}% 的时间。",
        ),
        measure=sync_writes.DATABASE_SYNC_FILES,
        op=">",
        thresholds=(("info", Threshold("writes", TENTH, "as for other programs")),),
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
                sync_writes.FLUSHES_OF_WRITES,
                ">",
                Threshold(
                    "flushes", TENTH, "a flush for at most ten writes: a commit of ext4 has one for three"
                ),
            ),
            _DEVICE_WORKS,
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
            "Active threads of {comm} ({pid}) wait in {wchan} for {value} % of the time.",
            "{comm}（{pid}）的活动线程有 {value}% 的时间停在 {wchan}。",
        ),
        measure=sync_writes.SYNC_WAITERS,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 50.0, "its threads wait for it more than for anything else")),
            ("critical", Threshold("critical", 90.0, "hardly anything else takes time")),
        ),
        also=(_DEVICE_WORKS,),
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
            "Active threads of {comm} wait in {wchan} for {value} % of the time.",
            "{comm} 的活动线程有 {value}% 的时间停在 {wchan}。",
        ),
        measure=sync_writes.DATABASE_SYNC_WAITERS,
        op=">=",
        thresholds=(("info", Threshold("waiting", 50.0, "as for other programs")),),
        strength=Strength.CONTEXT,
        use=Use("disk", "saturation"),
        caveats=_DATABASES,
        source="as F-SYNC-WAIT, for servers whose log is synchronous by design",
    ),
    Rule(
        id="F-SYSCALL-SYNC",
        title=Text("Frequent fsync calls", "频繁调用 fsync"),
        summary=Text(
            "{comm} ({pid}) calls {syscall} {calls} times a second, which takes {value} % of the time of a thread.",
            "{comm}（{pid}）每秒调用 {syscall} {calls} 次，占一个线程 {value}% 的时间。",
        ),
        measure=sync_writes.SYNC_CALL_TIME,
        op=">",
        thresholds=(
            ("warn", Threshold("warn", TENTH, "as for O_SYNC")),
            ("critical", Threshold("critical", 100.0, "as for O_SYNC")),
        ),
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
        summary=Text("{dev} is flushing for {value} % of the time.", "{dev} 有 {value}% 的时间在刷新缓存。"),
        measure=device_time.FLUSH_TIME,
        op=">",
        thresholds=(
            ("info", Threshold("flushes", TENTH, "a journal alone commits once in several seconds")),
        ),
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
        also=(_DEVICE_WORKS,),
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
        also=(_DEVICE_WORKS,),
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
