"""Causes related to pools, single threads and caches of applications."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="connection-pool-exhausted",
        title=Text("The application has too few connections to a dependency", "应用到依赖的连接池耗尽"),
        what=Text(
            "Requests wait inside the application until a connection of its pool is free. The dependency itself "
            "answers sooner than callers get their turn.",
            "请求在应用内等待连接池中的空闲连接；依赖本身的应答比排队更快。",
        ),
        fix=Text(
            "Find what holds connections for long: transactions that span calls to others, results that "
            "are not read, "
            "connections that are not returned. Then set the pool to request rate × time per call.",
            "找出长时间占用连接的代码：跨越其他调用的事务、未读完的结果、未归还的连接；再按“请求速率 × "
            "单次调用耗时”设置池大小。",
        ),
        risk=Text(
            "A larger pool adds load to the dependency and counts against its limit of connections. "
            "Rollback: restore "
            "the old size.",
            "更大的池会加重依赖负载并占用其连接上限。回退：恢复原大小。",
        ),
        verify=Text(
            "Capture again under the same load: a part of the connections is idle, and callers wait no longer than "
            "the dependency takes.",
            "相同负载下再次采集：部分连接空闲，调用方等待时间不超过依赖耗时。",
        ),
        mechanisms=("condition", "park", "semaphore", "lock", "unknown"),
        explains=("worker-pool-exhausted", "listen-queue-overflow", "lock-contention", "slow-dependency"),
        proven_by=("hotel-deposits",),
    ),
    Cause(
        id="blocked-event-loop",
        title=Text("A single thread that serves all clients is blocked", "服务所有客户端的单线程被阻塞"),
        what=Text(
            "A server with one working thread (Redis, Node, an event loop) runs a long command or computation, or "
            "waits in a call that blocks. All other clients wait until it ends.",
            "只有一个工作线程的服务（Redis、Node、事件循环）在执行长命令、长计算或阻塞的调用，其他客户端都要等它结束。",
        ),
        fix=Text(
            "Find the command (SLOWLOG) or function (profile). Split it (SCAN for KEYS, smaller batches), "
            "move it to a "
            "worker thread, or run more processes. Use an asynchronous client for calls to other services.",
            "找出该命令（SLOWLOG）或函数（性能剖析），将其拆分（以 SCAN 代替 KEYS、减小批量）、"
            "移到工作线程，或运行多个进程；对其他服务的调用改用异步客户端。",
        ),
        risk=Text(
            "Split work is no longer atomic, and several processes share no memory. Rollback: restore the old code.",
            "拆分后的操作不再是原子的，多进程也不共享内存。回退：恢复原代码。",
        ),
        verify=Text(
            "Capture again under the same load: the thread is below 90 % of a CPU, and no command takes 100 ms.",
            "相同负载下再次采集：该线程低于单核 90 %，没有命令超过 100 ms。",
        ),
        mechanisms=("running", "child", "pipe", "sleep", "unknown"),
        waits_for_peer=True,
        explains=(
            *("cpu-hot-function", "slow-dependency", "worker-pool-exhausted", "listen-queue-overflow"),
            "connection-pool-exhausted",
        ),
        tested_by=("redis_info", "perf_record"),
        proven_by=("regex-backtracking",),
    ),
    Cause(
        id="persistence-stall",
        title=Text("Redis waits for its own log on disk", "Redis 等待自身的持久化刷盘"),
        what=Text(
            "An fsync of the append-only file takes longer than two seconds, so the next write waits for it, and all "
            "clients with it.",
            "AOF 的 fsync 超过两秒，下一次写入要等它完成，所有客户端也随之等待。",
        ),
        fix=Text(
            "Find what keeps the disk busy. Set no-appendfsync-on-rewrite, move the file to a device of its own, or "
            "persist on a replica only.",
            "找出占用磁盘的程序；设置 no-appendfsync-on-rewrite，将文件移到独立设备，或只在副本上持久化。",
        ),
        risk=Text(
            "With fewer flushes, a crash loses more of the last writes. Rollback: restore the setting.",
            "减少刷盘会在崩溃时丢失更多最近的写入。回退：恢复原设置。",
        ),
        verify=Text(
            "Capture again under the same load: aof_delayed_fsync does not grow.",
            "相同负载下再次采集：aof_delayed_fsync 不再增长。",
        ),
        mechanisms=("disk",),
        explains=("blocked-event-loop", "slow-dependency", "worker-pool-exhausted"),
        tested_by=("redis_info",),
    ),
    Cause(
        id="fork-copy-on-write",
        title=Text("A large process forks itself to save its data", "大内存进程通过 fork 保存数据"),
        what=Text(
            "A fork copies the page tables, and the process serves no client until it ends. While the child lives, "
            "the first write to each page copies it, and the child takes CPU, disk and memory that its parent needs.",
            "fork 需要复制页表，期间进程不处理任何请求。子进程存活时，每页的首次写入都要复制该页，"
            "且子进程与父进程争用 CPU、磁盘和内存。",
        ),
        fix=Text(
            "Save less often or at quiet hours (Redis: save, BGSAVE, auto-aof-rewrite-percentage), or only on a "
            "replica. Split the data over several processes. Switch transparent huge pages off for it.",
            "降低保存频率或改到低峰（Redis：save、BGSAVE、auto-aof-rewrite-percentage），或只在副本上保存；"
            "将数据拆分到多个进程；为其关闭透明大页。",
        ),
        risk=Text(
            "With fewer saves, a crash loses more of the last writes. Rollback: restore the setting.",
            "减少保存会在崩溃时丢失更多最近的写入。回退：恢复原设置。",
        ),
        verify=Text(
            "Capture again under the same load: the process forks less often, and the slowest requests are faster.",
            "相同负载下再次采集：该进程 fork 次数减少，最慢的请求变快。",
        ),
        explains=("persistence-stall", "cpu-neighbour-contention", "slow-dependency"),
        tested_by=("process_starts", "redis_info"),
        proven_by=("fork-copy-on-write",),
    ),
    Cause(
        id="cache-memory-limit",
        title=Text("A cache is too small for its data", "缓存内存不足，持续淘汰"),
        what=Text(
            "A cache (Redis, memcached, Varnish, OPcache) has reached its limit and evicts, or takes nothing new. "
            "Entries that are still needed are missing, so callers ask the slower source or compute again.",
            "缓存（Redis、memcached、Varnish、OPcache）达到上限，持续淘汰或不再接收新条目；仍需要的条目丢失，调用方转而访问更慢的数据源或重新计算。",
        ),
        fix=Text(
            "See which entries use the memory (redis-cli --bigkeys, --memkeys). Shorten their lifetime, store less, or "
            "raise the limit (maxmemory, -m, -s, opcache.memory_consumption) where the host has memory.",
            "查看哪些条目占用内存（redis-cli --bigkeys、--memkeys），缩短其生存时间、减少存储，主机有余量时调高上限（"
            "maxmemory、-m、-s、opcache.memory_consumption）。",
        ),
        risk=Text(
            "A higher limit can lead to swapping or a kill by the kernel. Rollback: set the old limit.",
            "更高的上限可能导致换页或被内核终止。回退：恢复原上限。",
        ),
        verify=Text(
            "Capture again under the same load: nothing is evicted, and less is missed.",
            "相同负载下再次采集：不再淘汰，未命中减少。",
        ),
        # What is missed is asked of another service, computed again, or read from a disk.
        mechanisms=("peer", "running", "runnable", "disk"),
        explains=(
            *("slow-dependency", "cpu-exhausted", "cpu-hot-function", "disk-saturation", "database-hot-sql"),
            *("connection-pool-exhausted", "database-connection-limit", "worker-pool-exhausted"),
            "listen-queue-overflow",
        ),
        tested_by=("redis_info", "cache_stats", "perf_record"),
        proven_by=("magazine-cache",),
    ),
    Cause(
        id="connection-limit",
        title=Text("A server has reached its limit of connections", "服务的连接数达到上限"),
        what=Text(
            "The server may hold no more connections (worker_connections, maxconn). New ones wait or are "
            "closed, although "
            "its CPU is idle.",
            "服务不能持有更多连接（worker_connections、maxconn）；尽管 CPU 空闲，新连接仍在等待或被关闭。",
        ),
        fix=Text(
            "Find what holds the connections: slow backends, long keep-alive, clients that do not read. Shorten "
            "timeouts. Then raise the limit and the limit of open files together.",
            "查明占用连接的原因：后端慢、keep-alive 过长、客户端不读取；缩短超时，再同时调高连接上限与打开文件上限。",
        ),
        risk=Text(
            "More connections use memory and add load to backends. Rollback: restore the old limit and reload.",
            "更多连接占用内存并加重后端负载。回退：恢复原上限并重新加载。",
        ),
        verify=Text(
            "Capture again under the same load: no connection waits to be accepted, and the log reports no limit.",
            "相同负载下再次采集：没有连接等待接受，日志不再报告上限。",
        ),
        # A server that limits connections of a client may answer with status 429.
        explains=("worker-pool-exhausted", "listen-queue-overflow", "slow-dependency", "request-limit"),
        tested_by=("worker_pools", "server_logs"),
        proven_by=("nginx-connection-limit",),
    ),
    Cause(
        id="log-flood",
        title=Text("A program floods its log", "程序日志泛滥"),
        what=Text(
            "A program writes the same kind of line again and again. The log uses the disk and fills its "
            "file system.",
            "程序反复写入同一类日志行，占用磁盘并将写满文件系统。",
        ),
        fix=Text(
            "Find why the line is written (it often reports a fault of its own). Limit its rate or its "
            "level, and rotate "
            "logs by size.",
            "查明该行为何出现（往往本身就在报告故障），限制频率或级别，并按大小轮转日志。",
        ),
        risk=Text(
            "Lines that are not written are missing later. Rollback: restore the level.",
            "未写入的日志之后无法查看。回退：恢复日志级别。",
        ),
        verify=Text(
            "Capture again under the same load: the log grows no faster than the file system allows for a week.",
            "相同负载下再次采集：日志增长速度至少可供文件系统使用一周。",
        ),
        mechanisms=("disk", "running"),
        explains=(
            *("disk-saturation", "disk-full", "sync-write-amplification"),
            *("blocked-event-loop", "cpu-hot-function", "worker-pool-exhausted"),
        ),
        tested_by=("server_logs",),
    ),
)
