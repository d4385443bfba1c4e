"""Causes in applications and their dependencies."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="slow-dependency",
        title=Text("A dependency answers late", "依赖的服务应答慢"),
        what=Text(
            "Requests wait for the response of one peer that has received them. On this host the "
            "CPU is idle and no packets are lost.",
            "请求在等待某个对端的应答，而对端已收到请求；本机 CPU 空闲，网络也没有丢包。",
        ),
        fix=Text(
            "Diagnose the peer: slow commands, CPU, its own dependencies. On this host, add a "
            "timeout and a circuit breaker for the call, and cache responses that may be old.",
            "诊断对端本身（慢命令、CPU、它自己的依赖）。本机：为该调用设置超时与熔断，可容忍旧数据处加缓存。",
        ),
        risk=Text(
            "A short timeout turns slow responses into errors, and retries add load to a slow "
            "peer. Rollback: restore the old timeout.",
            "超时过短会把慢应答变成错误，重试会加重已经变慢的对端。回退：恢复原超时。",
        ),
        verify=Text(
            "Capture again under the same load: no request to that peer is unanswered for long, "
            "and latency decreases.",
            "相同负载下再次采集：对该对端不再有长时间未应答的请求，延迟随之下降。",
        ),
        mechanisms=("peer",),
        explains=("worker-pool-exhausted", "listen-queue-overflow", "lock-contention"),
        proven_by=("slow-dependency",),
    ),
    Cause(
        id="fd-leak-close-wait",
        title=Text("Connections are never closed", "连接泄漏（CLOSE_WAIT）"),
        what=Text(
            "The peer closes the connection but this program does not. Each connection keeps a "
            "descriptor until none is left; then the program cannot accept or open anything.",
            "对端已关闭而本程序不关闭：每个连接占用一个描述符直到耗尽，之后无法再接受连接或打开文件。",
        ),
        fix=Text(
            "Close connections on every path, including errors and end of stream (with, defer, "
            "try-with-resources). Let the pool test idle connections.",
            "在所有路径上关闭连接，包括出错与读到流结束时（with、defer、try-with-resources）；让连接池检测空闲连接。",
        ),
        risk=Text(
            "A restart or a higher limit of open files only gains time, and a restart aborts "
            "open requests. Rollback: restore the old limit.",
            "重启或提高打开文件限额只能争取时间，重启还会中断请求。回退：恢复原限额。",
        ),
        verify=Text(
            "Capture again under the same load: CLOSE_WAIT stays near zero and the number of "
            "open files is stable.",
            "相同负载下再次采集：CLOSE_WAIT 接近零，打开文件数平稳。",
        ),
        explains=("worker-pool-exhausted", "listen-queue-overflow"),
        proven_by=("fd-leak",),
    ),
    Cause(
        id="small-read-pattern",
        title=Text("A file is read in very small pieces", "以极小块反复读取文件"),
        what=Text(
            "The program reads a few hundred bytes per call. The calls cost far more than the "
            "data, which is already in memory.",
            "程序每次只向内核读取几百字节；调用的开销远超数据本身，而数据早已在内存中。",
        ),
        fix=Text(
            "Read through a buffer of at least 64 kB, map the file, or store the parsed result. "
            "Unpack class archives, or let the loader cache its index.",
            "通过 64 kB 以上的缓冲读取、映射文件，或保留解析结果；类归档可解包，或让加载器缓存索引。",
        ),
        risk=Text(
            "Buffers use memory for each open file, and cached content may be outdated. "
            "Rollback: disable the buffer.",
            "缓冲会按打开的文件占用内存，缓存的内容可能过期。回退：关闭缓冲。",
        ),
        verify=Text(
            "Capture again under the same load: fewer reads per second, more bytes per read, "
            "less kernel CPU time.",
            "相同负载下再次采集：每秒读次数减少、每次字节数增加、内核态 CPU 下降。",
        ),
        mechanisms=("running", "disk"),
        explains=("cpu-exhausted", "cpu-hot-function", "worker-pool-exhausted"),
        proven_by=("small-reads",),
    ),
    Cause(
        id="duplicate-logging",
        title=Text("Log lines are written twice", "日志重复写入"),
        what=Text(
            "Two outputs of the same logger receive every line. This doubles formatting, writes "
            "and disk use.",
            "同一日志器的两个输出都收到每一行：格式化、写入与磁盘占用都翻倍。",
        ),
        fix=Text(
            "Remove one handler, or disable propagation to the parent logger (additivity, propagate).",
            "去掉一个输出，或关闭向父日志器的传递（additivity、propagate）。",
        ),
        risk=Text(
            "Other programs may read the file that is removed. Check first. Rollback: restore the handler.",
            "被移除的文件可能有其他程序在读：请先确认。回退：恢复该输出。",
        ),
        verify=Text(
            "Capture again under the same load: half the bytes written, and no line occurs in two files.",
            "相同负载下再次采集：写入字节减半，且没有同一行出现在两个文件中。",
        ),
        mechanisms=("running", "disk"),
        explains=(
            "cpu-exhausted",
            "worker-pool-exhausted",
        ),
        proven_by=("duplicate-logging",),
    ),
    Cause(
        id="database-hot-sql",
        title=Text("A statement uses most of the database CPU", "SQL 语句耗尽数据库 CPU"),
        what=Text(
            "A statement processes far more rows than it returns, because an index is missing or "
            "an expensive expression is evaluated for each row.",
            "某条语句处理的行数远多于返回的行数：缺少索引，或对每一行计算昂贵的表达式。",
        ),
        fix=Text(
            "Find the statement (pg_stat_statements, slow log) and check its plan with EXPLAIN. "
            "Add the missing index or rewrite the expression.",
            "找到该语句（pg_stat_statements、慢日志），用 EXPLAIN 查看执行计划，补上缺失的索引或改写表达式。",
        ),
        risk=Text(
            "An index costs writes and disk space. Building it locks the table unless "
            "CONCURRENTLY is used. Rollback: drop the index.",
            "索引会增加写入与磁盘开销；不用 CONCURRENTLY 创建会锁表。回退：删除该索引。",
        ),
        verify=Text(
            "Capture again under the same load: the CPU time per statement is lower by orders of magnitude.",
            "相同负载下再次采集：每条语句的 CPU 下降数个量级。",
        ),
        mechanisms=("running",),
        explains=("cpu-exhausted", "cpu-hot-function", "worker-pool-exhausted"),
        tested_by=("perf_record",),
        proven_by=("hot-sql",),
    ),
    Cause(
        id="many-small-calls",
        title=Text("A request makes many small calls one after the other", "单个请求依次发起大量小调用"),
        what=Text(
            "A request sends one small statement or command after the other, such as one for each row of a list "
            "(N+1). Each is quick, and their round trips add up. Neither side is saturated.",
            "一个请求依次发送大量小语句或命令，例如列表中每行一次（N+1 查询）；"
            "单次都很快，但往返时间累加，两端都未饱和。",
        ),
        fix=Text(
            "Find the loop (statement log of one request, tracing). Read all rows in one statement (JOIN, IN, eager "
            "loading of the ORM), or send commands in a pipeline (MGET). Cache what does not change.",
            "找出循环（单个请求的语句日志、链路追踪）；用一条语句读取全部行（JOIN、IN、ORM 预加载），"
            "或使用管道（MGET）；缓存不变的数据。",
        ),
        risk=Text(
            "A large statement can take a worse plan or much memory: limit the number of rows. Rollback: deploy the "
            "old version.",
            "大语句可能选用更差的计划或占用更多内存：请限制行数。回退：部署旧版本。",
        ),
        verify=Text(
            "Capture again under the same load: each request makes a few calls only, and latency decreases.",
            "相同负载下再次采集：每个请求只有少量调用，延迟随之下降。",
        ),
        mechanisms=("peer", "running", "runnable", "unknown"),
        explains=(
            *(
                "slow-dependency",
                "worker-pool-exhausted",
                "listen-queue-overflow",
                "connection-pool-exhausted",
            ),
            *("cpu-hot-function", "cpu-exhausted"),
        ),
        tested_by=("server_logs",),
    ),
)
