"""Rules about statistics of databases and Redis, and about many small calls to them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application.services import STATEMENT_SHARE
from culprit.domain.rules.measures.database import databases, redis_server, small_calls
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-DB-LOCK-WAIT",
        title=Text("Sessions wait for each other's locks", "会话互相等待锁"),
        summary=Text(
            "{sessions} sessions wait for locks, one of them for {value} s. Session {head} is "
            "first in the queue.",
            "{sessions} 个会话在等待锁，最久 {value} 秒；队首为会话 {head}。",
        ),
        measure=databases.LOCK_WAIT,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 1.0, "deadlock_timeout: PostgreSQL itself logs a wait that is longer"),
            ),
            ("critical", Threshold("critical", 10.0, "beyond the typical timeouts of clients")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        suspects=("database-lock-wait",),
        causes=("database-lock-wait",),
        refutes=("database-lock-wait",),
        harm=True,
        caveats=Text(
            "This is a single sample. The first session may be idle in a transaction.",
            "这只是一次采样；队首会话可能处于 idle in transaction。",
        ),
        source="pg_stat_activity and pg_blocking_pids()",
    ),
    Rule(
        id="F-DB-IDLE-BLOCKER",
        title=Text("An idle transaction holds locks that others wait for", "空闲事务持有他人等待的锁"),
        summary=Text(
            "Session {session} has been idle in a transaction for {value} s, and {waiting} sessions wait for it.",
            "会话 {session} 在事务中空闲已 {value} 秒，{waiting} 个会话在等待它。",
        ),
        measure=databases.IDLE_BLOCKER,
        op=">=",
        thresholds=(
            (
                "critical",
                Threshold("critical", 1.0, "deadlock_timeout: PostgreSQL itself logs a wait that is longer"),
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "errors"),
        suspects=("idle-in-transaction",),
        causes=("idle-in-transaction",),
        refutes=("idle-in-transaction",),
        harm=True,
        caveats=Text(
            "The client may be busy with its own work between two statements.",
            "客户端可能正忙于两条语句之间自身的工作。",
        ),
        source="pg_stat_activity: state and state_change; pg_blocking_pids()",
    ),
    Rule(
        id="F-DB-OWES-ANSWERS",
        title=Text("A database is late with answers", "数据库应答迟缓"),
        summary=Text(
            "A client of the database on port {port} has waited {value} ms for an answer.",
            "端口 {port} 的数据库有客户端已等待应答 {value} ms。",
        ),
        measure=databases.OLDEST_REQUEST,
        op=">=",
        thresholds=(
            (
                "info",
                Threshold("info", 1000.0, "deadlock_timeout: a wait for a lock is atypical from here on"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        suspects=("database-lock-wait", "idle-in-transaction"),
        harm=True,
        caveats=Text("Reports take that long by nature.", "报表本就需要这么久。"),
        source="unanswered data on connections to the server, TCP only",
    ),
    Rule(
        id="F-DB-ROWS-PER-CALL",
        title=Text("The most expensive statement returns few rows", "最耗时语句返回行很少"),
        summary=Text(
            "{query} takes {mean} ms per call and returns {rows} rows: {value} ms per row.",
            "{query} 每次耗时 {mean} ms、返回 {rows} 行：每行 {value} ms。",
        ),
        measure=databases.TIME_PER_ROW,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 10.0, "an index lookup takes 0.1 ms per row; this is a hundred times as long"
                ),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "utilization"),
        also=(
            Condition(
                STATEMENT_SHARE,
                ">",
                Threshold("share", 50.0, "otherwise it is not the main work of the server"),
            ),
            Condition(
                databases.CALLS, ">=", Threshold("calls", 10.0, "a report that ran once is no pattern")
            ),
        ),
        causes=("database-hot-sql",),
        refuted_by=("F-DB-LOCK-WAIT",),
        caveats=Text(
            "Sums and counts return one row by nature. Waits for locks and disks are part of the time.",
            "聚合查询本就只返回一行；等待锁与磁盘的时间也计入。",
        ),
        source="pg_stat_statements: rows counts rows returned or changed, not rows read",
    ),
    Rule(
        id="F-DB-TOP-OF-CPU",
        title=Text("A database uses most of the CPU time", "数据库占用大部分 CPU"),
        summary=Text(
            "Databases use {value} % of the CPU time of all programs ({cpu} of {all} % of a CPU).",
            "数据库占全部程序 CPU 时间的 {value} %（单核 {cpu} %，合计 {all} %）。",
        ),
        measure=databases.OF_ALL_CPU,
        op=">=",
        thresholds=(("info", Threshold("info", 50.0, "more than all other programs together")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        caveats=Text("Normal on a dedicated database host.", "独占主机的数据库本就如此。"),
        source="/proc/PID/stat of all programs",
    ),
    Rule(
        id="F-REDIS-MAIN-THREAD",
        title=Text("The main thread of Redis is saturated and requests wait", "Redis 主线程占满且请求排队"),
        summary=Text(
            "The main thread uses {value} % of a CPU while requests wait on its sockets.",
            "主线程占用单核 {value} %，同时有请求在其套接字上等待。",
        ),
        measure=redis_server.MAIN_THREAD,
        op=">",
        thresholds=(("warn", Threshold("warn", 90.0, "as for any thread: too little is left to catch up")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(
            Condition(redis_server.IN_HAND, ">=", Threshold("held", 3.0, "one is served, two are no queue")),
        ),
        causes=("slow-dependency",),
        harm=True,
        caveats=Text(
            "An average over seconds hides a stall of one second. Long pipelines use the full CPU by design.",
            "数秒平均会掩盖一秒的停顿；长 pipeline 会有意占满它。",
        ),
        source="INFO cpu before and after; unanswered requests on its connections",
    ),
    Rule(
        id="F-REDIS-UPKEEP",
        title=Text("Redis paused for its own maintenance", "Redis 因自身维护而停顿"),
        summary=Text(
            "{event} took {value} ms, {age} s before the end of the capture.",
            "{event} 耗时 {value} ms，发生于采集结束前 {age} 秒。",
        ),
        measure=redis_server.UPKEEP_MS,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 100.0, "users notice a tenth of a second; all clients wait during that time"
                ),
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        causes=("slow-dependency",),
        caveats=Text(
            "Only events above latency-monitor-threshold are stored. The default, 0, disables it.",
            "只记录超过 latency-monitor-threshold 的事件；默认值 0 表示关闭。",
        ),
        source="LATENCY LATEST of the last five minutes",
    ),
    Rule(
        id="F-CALLS-MANY-SMALL",
        title=Text(
            "Each request makes many small calls to another service", "每个请求对另一服务发起大量小调用"
        ),
        summary=Text(
            "{name} makes about {value} calls to {peer} for each of {requests} requests a second, one every {ms} ms.",
            "{name} 每秒 {requests} 个请求，每个请求对 {peer} 调用约 {value} 次，每 {ms} ms 一次。",
        ),
        measure=small_calls.PER_REQUEST,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 50.0, "at 2 ms for a call they are the tenth of a second that users notice"
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                small_calls.CALL_TIME,
                "<",
                Threshold(
                    "call",
                    2.0,
                    "milliseconds for a call and what follows: no single part of the request is long",
                ),
            ),
        ),
        suspects=("many-small-calls",),
        causes=("many-small-calls",),
        caveats=Text(
            "Calls of jobs that answer no request count too. Requests are those of the log that has most. Answers that "
            "arrive at once are not counted.",
            "不服务于请求的任务的调用也计入；请求数取自请求最多的日志；立即到达的应答不计入。",
        ),
        source="voluntary switches in /proc/PID/task/TID/status and Tcp OutSegs, the lesser of both; statuses in logs; "
        "Little's law",
    ),
)
