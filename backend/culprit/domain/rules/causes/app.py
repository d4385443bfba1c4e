"""Causes in applications and in what they ask."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="slow-dependency",
        title=Text("Another service answers late", "依赖的服务应答慢"),
        what=Text(
            "Requests wait for the answer of one peer, which has received the question; here the CPU is free and"
            " nothing is lost on the way.",
            "请求在等待某个对端的应答，而对端已收到请求；本机 CPU 空闲，网络也没有丢包。",
        ),
        fix=Text(
            "Diagnose the peer itself (slow commands, its CPU, its own dependencies). Here: a time limit and a circuit"
            " breaker for that call, and answers kept for a while where they may be old.",
            "诊断对端本身（慢命令、CPU、它自己的依赖）。本机：为该调用设置超时与熔断，可容忍旧数据处加缓存。",
        ),
        risk=Text(
            "A short time limit turns slow answers into errors, and retries multiply the load of a peer that is"
            " already slow. To take it back, restore the old limit.",
            "超时过短会把慢应答变成错误，重试会加重已经变慢的对端。回退：恢复原超时。",
        ),
        verify=Text(
            "The same load again: no question to that peer is unanswered for long, and latency follows.",
            "相同负载下再次采集：对该对端不再有长时间未应答的请求，延迟随之下降。",
        ),
        explains=("worker-pool-exhausted", "listen-queue-overflow", "lock-contention"),
        suspected_by=("F-DEP-SLOW-REPLY",),
        proven_by=("slow-dependency",),
    ),
    Cause(
        id="fd-leak-close-wait",
        title=Text("Connections are never closed", "连接泄漏（CLOSE_WAIT）"),
        what=Text(
            "The other side closes, this program does not: each connection keeps a descriptor until none is left, and"
            " then nothing can be accepted or opened.",
            "对端已关闭而本程序不关闭：每个连接占用一个描述符直到耗尽，之后无法再接受或打开任何东西。",
        ),
        fix=Text(
            "Close on every path, errors and ends of stream included (with, defer, try-with-resources); let the pool"
            " test connections that are idle.",
            "在所有路径上关闭连接，包括出错与读到流结束时（with、defer、try-with-resources）；让连接池检测空闲连接。",
        ),
        risk=Text(
            "A restart or a higher limit of open files only gains time, and a restart cuts open requests. Both can"
            " be taken back at any time.",
            "重启或提高打开文件限额只能争取时间，重启还会中断请求；两者都可随时回退。",
        ),
        verify=Text(
            "The same load again: CLOSE_WAIT stays near nought and open files stay level.",
            "相同负载下再次采集：CLOSE_WAIT 接近零，打开文件数平稳。",
        ),
        explains=(
            "worker-pool-exhausted",
            "listen-queue-overflow",
        ),
        suspected_by=("F-TCP-CLOSE-WAIT", "F-FD-LEAK"),
        proven_by=("fd-leak",),
    ),
    Cause(
        id="small-read-pattern",
        title=Text("A file is read in tiny pieces", "以极小块反复读取文件"),
        what=Text(
            "The program asks the kernel for a few hundred bytes at a time, so that the calls cost far more than the"
            " data, which is in memory anyway.",
            "程序每次只向内核读取几百字节；调用的开销远超数据本身，而数据早已在内存中。",
        ),
        fix=Text(
            "Read through a buffer of 64 kB or more, map the file, or keep what was parsed; for archives of classes,"
            " unpack them or let the loader keep its index.",
            "通过 64 kB 以上的缓冲读取、映射文件，或保留解析结果；类归档可解包，或让加载器缓存索引。",
        ),
        risk=Text(
            "Buffers take memory for each open file, and what is kept may grow old. To take it back, switch the"
            " buffer off.",
            "缓冲会按打开的文件占用内存，缓存的内容可能过期。回退：关闭缓冲。",
        ),
        verify=Text(
            "The same load again: fewer reads a second, more bytes in each, less CPU in the kernel.",
            "相同负载下再次采集：每秒读次数减少、每次字节数增加、内核态 CPU 下降。",
        ),
        explains=("cpu-hot-function", "worker-pool-exhausted"),
        suspected_by=("F-IO-TINY-READS", "F-IO-JAR-REREAD"),
        proven_by=("small-reads",),
    ),
    Cause(
        id="duplicate-logging",
        title=Text("Logs are written twice", "日志重复写入"),
        what=Text(
            "Two outputs of the same logger get every line: twice the formatting, twice the writes, twice the disk.",
            "同一日志器的两个输出都收到每一行：格式化、写入与磁盘占用都翻倍。",
        ),
        fix=Text(
            "Remove one handler, or switch off that lines are passed on to the parent logger (additivity, propagate).",
            "去掉一个输出，或关闭向父日志器的传递（additivity、propagate）。",
        ),
        risk=Text(
            "Somebody may read the file that goes: ask before. To take it back, put the handler back.",
            "被去掉的文件可能有人在读：先确认。回退：恢复该输出。",
        ),
        verify=Text(
            "The same load again: half of the bytes written, and no line in two files.",
            "相同负载下再次采集：写入字节减半，且没有同一行出现在两个文件中。",
        ),
        explains=("worker-pool-exhausted",),
        suspected_by=("F-IO-DUP-LINES", "F-IO-DUP-WRITE"),
        proven_by=("duplicate-logging",),
    ),
    Cause(
        id="database-hot-sql",
        title=Text("A statement burns the database's CPU", "SQL 语句耗尽数据库 CPU"),
        what=Text(
            "A statement works on far more rows than it returns, for want of an index or because of an expression"
            " that is evaluated for every row.",
            "某条语句处理的行数远多于返回的行数：缺少索引，或对每一行计算昂贵的表达式。",
        ),
        fix=Text(
            "Find the statement (pg_stat_statements, slow log), look at its plan with EXPLAIN, and give it the index"
            " it lacks or rewrite the expression.",
            "找到该语句（pg_stat_statements、慢日志），用 EXPLAIN 查看执行计划，补上缺失的索引或改写表达式。",
        ),
        risk=Text(
            "An index costs writes and disk, and building it locks the table unless it is built CONCURRENTLY. To take"
            " it back, drop the index.",
            "索引会增加写入与磁盘开销；不用 CONCURRENTLY 创建会锁表。回退：删除该索引。",
        ),
        verify=Text(
            "The same load again: CPU for each statement is down by orders of magnitude.",
            "相同负载下再次采集：每条语句的 CPU 下降数个量级。",
        ),
        explains=("cpu-hot-function", "worker-pool-exhausted"),
        suspected_by=("F-DB-BUSY", "F-DB-HOT-STATEMENT"),
        tested_by=("perf_record",),
        proven_by=("hot-sql",),
    ),
)
