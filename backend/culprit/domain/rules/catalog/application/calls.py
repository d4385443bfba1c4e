"""Rules about unnecessary system calls of programs."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import calls
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-IO-TINY-READS",
        title=Text("Reads are very small", "读操作过小"),
        summary=Text(
            "{name} reads {value} times a second with {bytes} bytes per read. It writes at most "
            "a tenth as often.",
            "{name} 每秒读 {value} 次，每次 {bytes} 字节，写次数不到其十分之一。",
        ),
        measure=calls.TINY_READS,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 100_000.0, "the calls alone cost a tenth of a CPU; readers of /proc reach 23 000"
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("disk", "utilization"),
        suspects=("small-read-pattern",),
        also=(
            Condition(
                calls.CPU, ">=", Threshold("cpu", 2.0, "percent of one CPU: less has no noticeable cost")
            ),
            Condition(
                calls.CPU_PER_READ,
                "<=",
                Threshold("each", 20.0, "us: a call costs about one, so at least 5 %"),
            ),
        ),
        causes=("small-read-pattern",),
        refutes=("small-read-pattern",),
        caveats=Text(
            "Programs that read /proc or sockets read little at a time by design. Servers that "
            "read sockets also write responses.",
            "读取 /proc 或套接字的程序每次读取的数据本就很少；读取套接字的服务同时会写出应答。",
        ),
        source="calls and bytes of /proc/PID/io instead of strace; calls per second instead of "
        "calls per request",
    ),
    Rule(
        id="F-IO-JAR-REREAD",
        title=Text("An archive is read repeatedly", "反复读取归档文件"),
        summary=Text(
            "{value} % of the time that a thread spends in system calls is spent on {file}, "
            "which never changes.",
            "线程在系统调用中 {value} % 的时间花在从不变化的 {file} 上。",
        ),
        measure=calls.ARCHIVE_TIME,
        op=">",
        thresholds=(("warn", Threshold("warn", 50.0, "most of the thread's time in calls")),),
        strength=Strength.MECHANISM,
        use=Use("disk", "utilization"),
        suspects=("small-read-pattern",),
        causes=("small-read-pattern",),
        caveats=Text("The first requests after a start load classes.", "启动后的首个请求会加载类。"),
        source="strace: lseek and read by descriptor; calls of a thread instead of one request",
    ),
    Rule(
        id="F-IO-DUP-LINES",
        title=Text("Each log line is written twice", "每行日志写了两遍"),
        summary=Text(
            "{name} wrote {value} % of the lines of {copy} to {file} as well.",
            "{name} 写入 {copy} 的行有 {value} % 也写入了 {file}。",
        ),
        measure=calls.REPEATED_LINES,
        op=">=",
        thresholds=(("info", Threshold("info", 30.0, "of the lines of one file")),),
        strength=Strength.DIRECT,
        use=Use("disk", "utilization"),
        suspects=("duplicate-logging",),
        also=(
            Condition(calls.REPEATED_COUNT, ">=", Threshold("lines", 50.0, "different lines in one window")),
        ),
        related=(calls.OTHER_LINES, calls.WRITTEN, calls.WRITES),
        causes=("duplicate-logging",),
        refutes=("duplicate-logging",),
        caveats=Text(
            "Some programs write two copies by design: tee, audit logs, system logs with several targets.",
            "有些是有意为之：tee、审计日志、多目标的系统日志。",
        ),
        source="lines that occur in both files, counted on the host, instead of strace payloads",
    ),
    Rule(
        id="F-IO-DUP-WRITE",
        title=Text("The same data is written to two files", "相同内容写入两个文件"),
        summary=Text(
            "{value} % of the data written to {file} was written to {copy} within 5 ms.",
            "写入 {file} 的内容有 {value} % 在 5 毫秒内又写入了 {copy}。",
        ),
        measure=calls.REPEATED_PAYLOADS,
        op=">",
        thresholds=(("info", Threshold("info", 30.0, "of the writes to one descriptor")),),
        strength=Strength.DIRECT,
        use=Use("disk", "utilization"),
        suspects=("duplicate-logging",),
        causes=("duplicate-logging",),
        caveats=Text(
            "tee does this by design. One of the files may be /dev/null.",
            "tee 本就如此；其中之一可能是 /dev/null。",
        ),
        source="strace: equal payloads, compared by ordinal",
    ),
    Rule(
        id="F-APP-EPIPE",
        title=Text("Clients closed the connection early", "客户端已断开"),
        summary=Text("{value} broken pipes a second.", "每秒 {value} 次管道断开。"),
        measure=calls.BROKEN_PIPES,
        op=">",
        thresholds=(("info", Threshold("info", 0.0, "each is a response that no client waited for")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "errors"),
        caveats=Text(
            "This is a consequence: the clients had already given up. Mobile clients often "
            "disconnect as well.",
            "这是结果而非原因：客户端此前已放弃。移动网络客户端也会自然断开。",
        ),
        source="EPIPE in strace, broken pipe in a log",
    ),
)
