"""Rules about writes that are forced out to the device one by one."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import disk
from culprit.core.rules.measures import sync_writes as of

_CAUSE = ("sync-write-amplification",)
_DATABASES = Text(
    "The log of a database is synchronous by design: told, not blamed.",
    "数据库日志按设计同步写：仅提示，不归咎。",
)
_REACHES_DEVICE = Condition(of.DEVICE_REQUESTS, ">=", Limit("requests", 10.0, "the device sees them"))

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FD-OSYNC",
        title=Text("A file is written synchronously", "文件以同步方式写入"),
        says=Text(
            "{comm} writes {value} times a second to {path}, opened with flags {flags}: each waits for the device.",
            "{comm} 每秒向 {path} 写 {value} 次，打开标志为 {flags}：每次都等待设备。",
        ),
        measure=of.SYNC_FILES,
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "fewer cannot fill any device")),
            (
                "critical",
                Limit("critical", 100.0, "a disk of 100 requests/s is full, as one write costs several"),
            ),
        ),
        also=(
            _REACHES_DEVICE,
            AnyOf(
                (
                    Condition(
                        disk.BLOCKED,
                        ">=",
                        Limit("blocked", 0.25, "somebody waits for it a quarter of the time"),
                    ),
                    Condition(of.SYNC_WAITERS, ">=", Limit("waiting", 0.25, "somebody waits for it")),
                )
            ),
        ),
        grade=Grade.DIRECT,
        causes=_CAUSE,
        refutes=_CAUSE,
        traps=_DATABASES,
        source="O_SYNC is 04010000 and O_DSYNC 010000 of the octal flags in fdinfo: a test of bits, not of digits",
    ),
    Rule(
        id="F-FD-OSYNC-DATABASE",
        title=Text("A database writes synchronously", "数据库同步写入"),
        says=Text("{comm} writes {value} times a second to {path}.", "{comm} 每秒向 {path} 写 {value} 次。"),
        measure=of.DATABASE_SYNC_FILES,
        op=">",
        levels=(("info", Limit("writes", 10.0, "as of others")),),
        grade=Grade.CONTEXT,
        traps=_DATABASES,
        source="as F-FD-OSYNC, for servers whose log is synchronous by design",
    ),
    Rule(
        id="F-IO-FORCED-OUT",
        title=Text("Every small write is forced out to the device", "每次小写入都被强制落盘"),
        says=Text(
            "{comm} ({pid}) sends {value} times as much to the device as it writes, in {writes_per_s} writes a second.",
            "{comm}（{pid}）落盘量是写入量的 {value} 倍，每秒 {writes_per_s} 次写。",
        ),
        measure=of.FORCED_OUT,
        op=">",
        levels=(("warn", Limit("ratio", 4.0, "a page for every write of less than 1 KiB")),),
        also=(
            Condition(
                Over("disk.flush_per_s", "mean"),
                ">=",
                Limit("flushes", 10.0, "what is forced out is flushed"),
            ),
            Condition(disk.BLOCKED, ">=", Limit("blocked", 0.25, "it waits for that a quarter of the time")),
        ),
        grade=Grade.MECHANISM,
        causes=_CAUSE,
        refutes=_CAUSE,
        traps=Text(
            "Small writes all over a great file send whole pages too; a database is left out, being meant to do so.",
            "对大文件的随机小写同样按整页落盘；数据库因设计如此而不计入。",
        ),
        source="wchar and write_bytes of /proc/PID/io: a page counts again only after it was cleaned",
    ),
    Rule(
        id="F-SYNC-WAIT",
        title=Text("Threads wait for data to be forced out", "线程等待强制落盘"),
        says=Text(
            "{value} threads of {comm} ({pid}) stand at {wchan} at any moment.",
            "{comm}（{pid}）任一时刻有 {value} 个线程停在 {wchan}。",
        ),
        measure=of.SYNC_WAITERS,
        op=">=",
        levels=(
            ("warn", Limit("warn", 0.5, "half a thread, all the time")),
            ("critical", Limit("critical", 2.0, "several, all the time")),
        ),
        also=(_REACHES_DEVICE,),
        grade=Grade.MECHANISM,
        causes=_CAUSE,
        refutes=_CAUSE,
        traps=_DATABASES,
        source="wchan of threads in state D, ten looks a second: the commit of a journal, the end of a writeback",
    ),
    Rule(
        id="F-SYNC-WAIT-DATABASE",
        title=Text("A database waits for its commits", "数据库等待提交落盘"),
        says=Text("{value} threads of {comm} stand at {wchan}.", "{comm} 有 {value} 个线程停在 {wchan}。"),
        measure=of.DATABASE_SYNC_WAITERS,
        op=">=",
        levels=(("info", Limit("waiting", 0.5, "as of others")),),
        grade=Grade.CONTEXT,
        traps=_DATABASES,
        source="as F-SYNC-WAIT, for servers whose log is synchronous by design",
    ),
    Rule(
        id="F-SYSCALL-SYNC",
        title=Text("fsync at every turn", "频繁调用 fsync"),
        says=Text(
            "{comm} ({pid}) calls {syscall} {value} times a second.",
            "{comm}（{pid}）每秒调用 {syscall} {value} 次。",
        ),
        measure=of.SYNC_CALLS,
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "as for O_SYNC")),
            ("critical", Limit("critical", 100.0, "as for O_SYNC")),
        ),
        also=(Condition(of.SYNC_CALL_MS, ">=", Limit("waited", 200.0, "a fifth of a thread")),),
        grade=Grade.DIRECT,
        causes=_CAUSE,
        refutes=_CAUSE,
        traps=_DATABASES,
        source="perf trace -s: fsync, fdatasync, msync, sync_file_range",
    ),
    Rule(
        id="F-DISK-FLUSHES",
        title=Text("The device's cache is flushed all the time", "设备缓存频繁刷新"),
        says=Text("{value} flushes a second.", "每秒刷新 {value} 次。"),
        measure=Over("disk.flush_per_s", "held"),
        op=">",
        levels=(("info", Limit("flushes", 30.0, "a journal alone commits once in seconds")),),
        grade=Grade.CONTEXT,
        source="diskstats since 5.5; opens the question who does it",
    ),
    Rule(
        id="F-DISK-WRITE-AMPLIFICATION",
        title=Text("Several device writes for each request", "每请求多次设备写"),
        says=Text("{value} device writes for each request answered.", "每个请求对应 {value} 次设备写。"),
        measure=of.WRITES_PER_REQUEST,
        op=">",
        levels=(("warn", Limit("ratio", 2.0, "a case study: 3, data and the journal's begin and commit")),),
        also=(
            Condition(Over("disk.w_iops", "mean"), ">", Limit("writes", 50.0, "few writes have no ratio")),
        ),
        grade=Grade.CORRELATIONAL,
        causes=_CAUSE,
        traps=Text("Others write to the device too.", "该设备还有其他写入者。"),
        source="iostat against the requests of the application",
    ),
    Rule(
        id="F-FLAME-SYNC-WRITE",
        title=Text("Waiting time is in synchronous writes", "等待时间集中于同步写"),
        says=Text(
            "{value} % of the waiting time is under {frames}.", "{value}% 的等待时间位于 {frames} 之下。"
        ),
        measure=of.SYNC_STACKS,
        op=">",
        levels=(("warn", Limit("share", 20.0, "own; idle threads wait as well and dilute it")),),
        also=(_REACHES_DEVICE,),
        grade=Grade.MECHANISM,
        causes=_CAUSE,
        traps=_DATABASES,
        source="off-CPU stacks",
    ),
    Rule(
        id="F-FLAME-SYNC-WRITE-CPU",
        title=Text("CPU time is in synchronous writes", "CPU 时间消耗于同步写"),
        says=Text("{value} % of the CPU time is under {frames}.", "{value}% 的 CPU 时间位于 {frames} 之下。"),
        measure=of.SYNC_CPU_STACKS,
        op=">",
        levels=(("warn", Limit("share", 5.0, "own")),),
        grade=Grade.CORRELATIONAL,
        causes=_CAUSE,
        traps=_DATABASES,
        source="on-CPU stacks: a synchronous writer sleeps, so this sees the lesser part",
    ),
)
