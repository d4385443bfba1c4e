"""Rules about databases and Redis as they speak of themselves: who waits for whom, and who works too long."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Rule
from culprit.core.rules.measures import databases, redis_server
from culprit.core.rules.measures.app_services import STATEMENT_SHARE

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-DB-LOCK-WAIT",
        title=Text("Sessions wait for each other's locks", "会话互相等待锁"),
        says=Text(
            "{sessions} sessions wait for locks, one of them for {value} s; session {head} stands at the head.",
            "{sessions} 个会话在等待锁，最久 {value} 秒；队首为会话 {head}。",
        ),
        measure=databases.LOCK_WAIT,
        op=">=",
        levels=(
            ("warn", Limit("warn", 1.0, "deadlock_timeout: from then on PostgreSQL itself logs a wait")),
            ("critical", Limit("critical", 10.0, "beyond the usual time limits of clients")),
        ),
        grade=Grade.MECHANISM,
        traps=Text(
            "One look is one moment. The session at the head may be idle in a transaction.",
            "只是一个瞬间；队首会话可能处于 idle in transaction。",
        ),
        source="pg_stat_activity and pg_blocking_pids()",
    ),
    Rule(
        id="F-DB-ROWS-PER-CALL",
        title=Text("The costliest statement returns little for its time", "最耗时语句返回行很少"),
        says=Text(
            "{query} takes {mean} ms and returns {rows} rows a call: {value} ms for each.",
            "{query} 每次耗时 {mean} ms、返回 {rows} 行：每行 {value} ms。",
        ),
        measure=databases.TIME_PER_ROW,
        op=">=",
        levels=(("warn", Limit("warn", 10.0, "by index a row takes 0.1 ms; a hundred times as long")),),
        grade=Grade.CORRELATIONAL,
        also=(
            Condition(STATEMENT_SHARE, ">", Limit("share", 50.0, "else it is not what the server does")),
            Condition(databases.CALLS, ">=", Limit("calls", 10.0, "a report that ran once is no pattern")),
        ),
        causes=("database-hot-sql",),
        refuted_by=("F-DB-LOCK-WAIT",),
        traps=Text(
            "Sums and counts return one row by nature; waiting for locks and disks is in the time as well.",
            "聚合查询本就只返回一行；等待锁与磁盘的时间也计入。",
        ),
        source="pg_stat_statements: rows are those returned or changed; those that were read it does not count",
    ),
    Rule(
        id="F-DB-TOP-OF-CPU",
        title=Text("A database uses most of the CPU time", "数据库占用大部分 CPU"),
        says=Text(
            "Databases use {value} % of all CPU time that programs use ({cpu} of {all} % of a CPU).",
            "数据库占全部程序 CPU 时间的 {value} %（单核 {cpu} %，合计 {all} %）。",
        ),
        measure=databases.OF_ALL_CPU,
        op=">=",
        levels=(("info", Limit("info", 50.0, "more than all others together")),),
        grade=Grade.CONTEXT,
        traps=Text("On a host of its own that is what it is there for.", "独占主机的数据库本就如此。"),
        source="/proc/PID/stat of all programs",
    ),
    Rule(
        id="F-REDIS-MAIN-THREAD",
        title=Text("Redis' one thread is full, and requests wait for it", "Redis 主线程占满且请求排队"),
        says=Text(
            "Its main thread uses {value} % of a CPU while requests wait on its sockets.",
            "主线程占用单核 {value} %，同时有请求在其套接字上等待。",
        ),
        measure=redis_server.MAIN_THREAD,
        op=">",
        levels=(("warn", Limit("warn", 90.0, "as for any thread: what is left is too little to catch up")),),
        grade=Grade.CORRELATIONAL,
        also=(Condition(redis_server.IN_HAND, ">=", Limit("held", 3.0, "one is served, two are no queue")),),
        causes=("slow-dependency",),
        traps=Text(
            "An average over seconds hides a stall of one; long pipelines keep it full on purpose.",
            "数秒平均会掩盖一秒的停顿；长 pipeline 会有意占满它。",
        ),
        source="INFO cpu before and after; questions on its connections that are not answered",
    ),
    Rule(
        id="F-REDIS-UPKEEP",
        title=Text("Redis stopped for its own upkeep", "Redis 因自身维护而停顿"),
        says=Text(
            "{event} took {value} ms, {age} s before the end of the capture.",
            "{event} 耗时 {value} ms，发生于采集结束前 {age} 秒。",
        ),
        measure=redis_server.UPKEEP_MS,
        op=">=",
        levels=(("warn", Limit("warn", 100.0, "a tenth of a second is felt; all clients wait meanwhile")),),
        grade=Grade.CORRELATIONAL,
        causes=("slow-dependency",),
        traps=Text(
            "Only what is longer than latency-monitor-threshold is kept; it is 0 (off) by default.",
            "只记录超过 latency-monitor-threshold 的事件；默认值 0 表示关闭。",
        ),
        source="LATENCY LATEST, of the last five minutes",
    ),
)
