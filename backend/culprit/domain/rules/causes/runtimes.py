"""Causes in runtimes of languages, and in how connections are used."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="gc-pauses",
        title=Text("Garbage collection takes the time of the program", "垃圾回收占用程序时间"),
        what=Text(
            "The runtime (JVM, Go) stops the program or takes its CPU to collect garbage, while requests wait.",
            "运行时（JVM、Go）为回收垃圾而停止程序或占用其 CPU，其间请求等待。",
        ),
        fix=Text(
            "Find what allocates (allocation profile) and allocate less. Give the heap more room (-Xmx, GOGC, "
            "GOMEMLIMIT), or use a collector with short pauses (G1, ZGC).",
            "通过分配剖析找出分配者并减少分配；给堆更多空间（-Xmx、GOGC、GOMEMLIMIT），或使用低停顿回收器（"
            "G1、ZGC）。",
        ),
        risk=Text(
            "A larger heap can exceed the memory limit of the group, and single pauses can become longer. Rollback: "
            "restore the options and restart.",
            "更大的堆可能超过控制组内存上限，单次停顿也可能变长。回退：恢复参数并重启。",
        ),
        verify=Text(
            "Capture again under the same load: collections take less than a thirteenth of the time.",
            "相同负载下再次采集：垃圾回收占比低于十三分之一。",
        ),
        mechanisms=("running", "lock", "condition"),
        stops_program=True,
        explains=(
            "cpu-hot-function",
            "slow-dependency",
            "worker-pool-exhausted",
            "listen-queue-overflow",
            "cpu-exhausted",
        ),
        tested_by=("jvm_gc", "perf_record"),
        proven_by=("go-gc-pressure",),
    ),
    Cause(
        id="heap-almost-full",
        title=Text("The heap of a JVM is almost full", "JVM 堆即将耗尽"),
        what=Text(
            "Live data fills the old generation. One full collection follows the other, each frees little, "
            "and in the end "
            "the JVM throws OutOfMemoryError.",
            "存活数据填满老年代，Full GC 接连发生且每次释放很少，最终抛出 OutOfMemoryError。",
        ),
        fix=Text(
            "See what fills the heap (jcmd GC.class_histogram, a heap dump). Bound caches and queues, or raise -Xmx "
            "within the memory limit.",
            "查看堆中内容（jcmd GC.class_histogram、堆转储），限制缓存与队列，或在内存上限内调高 -Xmx。",
        ),
        risk=Text(
            "A heap dump stops the JVM for seconds and holds user data. A larger heap needs a restart. "
            "Rollback: restore "
            "-Xmx.",
            "堆转储会使 JVM 停顿数秒且包含用户数据；增大堆需重启。回退：恢复 -Xmx。",
        ),
        verify=Text(
            "Capture again under the same load: no full collection, and half of the old generation is free.",
            "相同负载下再次采集：没有 Full GC，老年代有一半空闲。",
        ),
        mechanisms=("running", "lock", "condition"),
        explains=("gc-pauses",),
        tested_by=("jvm_gc",),
    ),
    Cause(
        id="tls-handshakes",
        title=Text("TLS handshakes use the CPU", "TLS 握手耗尽 CPU"),
        what=Text(
            "Clients begin a new TLS session for each request. The public-key work of the handshake costs "
            "more than the "
            "requests.",
            "客户端为每个请求建立新的 TLS 会话，握手的公钥运算开销超过请求本身。",
        ),
        fix=Text(
            "Keep connections open (keep-alive, pools), resume sessions (tickets, a shared cache), and use "
            "ECDSA P-256 "
            "keys instead of RSA.",
            "保持连接（keep-alive、连接池）、恢复会话（ticket、共享缓存），并以 ECDSA P-256 代替 RSA 密钥。",
        ),
        risk=Text(
            "Open connections use memory, and keys of tickets must be rotated. Rollback: restore the configuration.",
            "保持连接占用内存，ticket 密钥需轮换。回退：恢复配置。",
        ),
        verify=Text(
            "Capture again under the same load: fewer connections are accepted and less CPU is in "
            "public-key functions.",
            "相同负载下再次采集：新建连接减少，公钥函数 CPU 下降。",
        ),
        mechanisms=("running",),
        explains=("cpu-exhausted", "cpu-hot-function", "worker-pool-exhausted", "blocked-event-loop"),
        tested_by=("perf_record",),
        proven_by=("tls-handshakes",),
    ),
    Cause(
        id="connection-churn",
        title=Text("A new connection is opened for each request", "每个请求都新建连接"),
        what=Text(
            "Connections live for one request only. Opening and closing them costs CPU of the kernel, "
            "ports and time.",
            "连接只用于一个请求；建立与关闭消耗内核 CPU、端口与时间。",
        ),
        fix=Text(
            "Reuse connections: keep-alive between proxy and backend (keepalive in upstream), pools in clients, "
            "persistent connections to databases.",
            "复用连接：代理与后端之间启用 keep-alive（upstream keepalive）、客户端使用连接池、数据库使用长连接。",
        ),
        risk=Text(
            "Idle connections count against limits of the peer. Rollback: disable keep-alive.",
            "空闲连接会占用对端上限。回退：关闭 keep-alive。",
        ),
        verify=Text(
            "Capture again under the same load: connections live for many requests.",
            "相同负载下再次采集：一个连接承载多个请求。",
        ),
        explains=("ephemeral-port-exhaustion", "timewait-port-search", "tls-handshakes"),
    ),
)
