"""Rules about what programs ask of the kernel needlessly."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Rule
from culprit.core.rules.measures import app_calls as calls

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-IO-TINY-READS",
        title=Text("Reads are tiny", "读操作过小"),
        says=Text(
            "{name} reads {value} times a second, {bytes} bytes each, and writes a tenth as often at most.",
            "{name} 每秒读 {value} 次，每次 {bytes} 字节，写次数不到其十分之一。",
        ),
        measure=calls.TINY_READS,
        op=">=",
        levels=(
            (
                "warn",
                Limit(
                    "warn", 100_000.0, "a tenth of a CPU for the calls alone; readers of /proc reach 23 000"
                ),
            ),
            ("critical", Limit("critical", 400_000.0, "as the sick services of the lab")),
        ),
        grade=Grade.MECHANISM,
        also=(
            Condition(calls.CPU, ">=", Limit("cpu", 2.0, "percent of one CPU: less hurts nobody")),
            Condition(calls.CPU_PER_READ, "<=", Limit("each", 20.0, "us: a call costs one, so 5 % at least")),
        ),
        causes=("small-read-pattern",),
        refutes=("small-read-pattern",),
        traps=Text(
            "Who reads /proc or sockets reads little at a time by nature; but then a server answers what it reads.",
            "读取 /proc 的程序与读套接字的服务天然每次读得很少；后者会写出应答。",
        ),
        source="/proc/PID/io instead of strace: calls and bytes; calls a second instead of a request",
    ),
    Rule(
        id="F-IO-JAR-REREAD",
        title=Text("An archive is read again and again", "反复读取归档文件"),
        says=Text(
            "{value} % of a thread's time in calls goes to {file}, which never changes.",
            "线程在系统调用中 {value} % 的时间花在从不变化的 {file} 上。",
        ),
        measure=calls.ARCHIVE_TIME,
        op=">",
        levels=(("warn", Limit("warn", 50.0, "most of the thread's time in calls")),),
        grade=Grade.MECHANISM,
        causes=("small-read-pattern",),
        traps=Text("The first request after a start loads classes.", "启动后的首个请求会加载类。"),
        source="strace: lseek and read by descriptor; a thread's calls instead of one request",
    ),
    Rule(
        id="F-IO-DUP-LINES",
        title=Text("Every line is written twice", "每行日志写了两遍"),
        says=Text(
            "{value} % of the lines that {name} wrote to {twin} it wrote to {file} as well.",
            "{name} 写入 {twin} 的行有 {value} % 也写入了 {file}。",
        ),
        measure=calls.REPEATED_LINES,
        op=">=",
        levels=(("info", Limit("info", 30.0, "of the lines of one file")),),
        grade=Grade.DIRECT,
        also=(Condition(calls.REPEATED_COUNT, ">=", Limit("lines", 50.0, "different lines, in one window")),),
        beside=(calls.TWIN_LINES, calls.WRITTEN, calls.WRITES),
        causes=("duplicate-logging",),
        refutes=("duplicate-logging",),
        traps=Text(
            "Some keep two copies by design: tee, an audit log, a system log with several targets.",
            "有些是有意为之：tee、审计日志、多目标的系统日志。",
        ),
        source="lines that stand in both files, counted on the host, instead of payloads of strace",
    ),
    Rule(
        id="F-IO-DUP-WRITE",
        title=Text("The same is written to two files", "相同内容写入两个文件"),
        says=Text(
            "{value} % of what was written to {file} was written to {twin} within 5 ms.",
            "写入 {file} 的内容有 {value} % 在 5 毫秒内又写入了 {twin}。",
        ),
        measure=calls.REPEATED_PAYLOADS,
        op=">",
        levels=(("info", Limit("info", 30.0, "of the writes to one descriptor")),),
        grade=Grade.DIRECT,
        causes=("duplicate-logging",),
        traps=Text(
            "tee does so by design; one of them may be /dev/null.", "tee 本就如此；其中之一可能是 /dev/null。"
        ),
        source="strace: equal payloads, as ordinals",
    ),
    Rule(
        id="F-APP-EPIPE",
        title=Text("Clients have hung up", "客户端已断开"),
        says=Text("{value} broken pipes a second.", "每秒 {value} 次管道断开。"),
        measure=calls.BROKEN_PIPES,
        op=">",
        levels=(("info", Limit("info", 0.0, "each is an answer that nobody waited for")),),
        grade=Grade.CORRELATIONAL,
        traps=Text(
            "It is a consequence: clients gave up before. Those on mobile networks hang up by nature.",
            "这是结果而非原因：客户端此前已放弃。移动网络客户端也会自然断开。",
        ),
        source="EPIPE of strace, broken pipe of a log",
    ),
)
