"""Rules about garbage collection, full heaps, TLS handshakes and short connections."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import pools, runtimes
from culprit.domain.rules.measures.service_time import shares
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_STOPPED = Condition(
    runtimes.STOPPED, ">=", Threshold("stopped", 1.0, "percent: every hundredth request meets a stop")
)
_COMPUTES = Condition(
    runtimes.STOP_ON_CPU,
    ">=",
    Threshold("on_cpu", 66.7, "percent: it computes, and hardly waits for a CPU"),
)
_NOTICED = Condition(
    shares.OLDEST, ">=", Threshold("oldest", 100.0, "users notice a tenth of a second (Miller 1968)")
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-JVM-PRESENT",
        title=Text("A Java program runs on the host", "主机上运行着 Java 程序"),
        summary=Text("Java runs here ({name}).", "此处运行着 Java（{name}）。"),
        measure=pools.JVM_PRESENT,
        op=">=",
        thresholds=(("info", Threshold("info", 1.0, "its performance data can be read")),),
        strength=Strength.CONTEXT,
        use=Use("application", "utilization"),
        suspects=("gc-pauses", "heap-almost-full"),
        caveats=Text("This does not show the health of the program.", "不说明该程序是否健康。"),
        source="names of processes",
    ),
    Rule(
        id="F-JVM-GC-TIME",
        title=Text("A JVM spends much of its time on garbage", "JVM 大量时间用于垃圾回收"),
        summary=Text(
            "{name} was stopped for {value} % of {seconds} s by {collections} collections, {full} of them full.",
            "{name} 在 {seconds} 秒内因 {collections} 次回收停顿了 {value} % 的时间，其中 {full} 次为 Full GC。",
        ),
        measure=runtimes.GC_TIME,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 100 / 13, "GCTimeRatio=12, the goal of G1: one part of thirteen at most"),
            ),
            ("critical", Threshold("critical", 50.0, "more time in collections than in the program")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        refutes=("gc-pauses",),
        caveats=Text(
            "A batch program without waiting requests may collect that much.",
            "无人等待的批处理程序可以有这么多回收。",
        ),
        source="hsperfdata: sun.gc.collector.*.time. java(1): GCTimeRatio",
    ),
    Rule(
        id="F-JVM-GC-PAUSE",
        title=Text("Collections of a JVM stop it for long", "JVM 单次回收停顿过长"),
        summary=Text(
            "{name} was stopped for {value} ms on average by each of {collections} collections in {seconds} s.",
            "{name} 在 {seconds} 秒内的 {collections} 次回收平均每次停顿 {value} ms。",
        ),
        measure=runtimes.GC_PAUSE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),
            ("critical", Threshold("critical", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.DIRECT,
        use=Use("application", "saturation"),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        caveats=Text(
            "On a host out of CPU, the threads of the collector wait for a CPU too.",
            "主机 CPU 不足时，回收线程同样在等待 CPU。",
        ),
        source="hsperfdata: sun.gc.collector.*.time and invocations. R. B. Miller, 1968",
    ),
    Rule(
        id="F-JVM-STOPS",
        title=Text("A JVM stops its program for long", "JVM 长时间暂停程序"),
        summary=Text(
            "{thread} of Java process {pid} ran for {value} ms without a pause. All threads of the program are stopped "
            "while it runs.",
            "Java 进程 {pid} 的 {thread} 连续运行 {value} ms；它运行时程序的所有线程都被暂停。",
        ),
        measure=runtimes.LONGEST_STOP,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold(
                    "warn", 300.0, "three samples: a tenth of a second that users notice, and its error"
                ),
            ),
            ("critical", Threshold("critical", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            _STOPPED,
            _COMPUTES,
            _NOTICED,
        ),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        harm=True,
        caveats=Text(
            "Thread dumps, heap dumps and deoptimization stop a program too.",
            "线程转储、堆转储和去优化也会暂停程序。",
        ),
        source="names of threads of HotSpot: vmThread.cpp, workerThread.cpp; schedstat. R. B. Miller, 1968",
    ),
    Rule(
        id="F-JVM-STOPS-SAMPLED",
        title=Text("A JVM stops its program again and again", "JVM 反复暂停程序"),
        summary=Text(
            "In Java process {pid} threads that run only while the program is stopped were on a CPU for {value} ms "
            "without a break ({stops} stops were sampled).",
            "Java 进程 {pid} 中仅在程序暂停时运行的线程连续占用 CPU {value} ms（共采样到 {stops} 次暂停）。",
        ),
        measure=runtimes.SAMPLED_STOP,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),
            ("critical", Threshold("critical", 1000.0, "after one second users lose their flow of thought")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            _STOPPED,
            _NOTICED,
        ),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        refutes=(),
        harm=True,
        caveats=Text(
            "Thread dumps, heap dumps and deoptimization stop a program too. The time is a lower bound.",
            "线程转储、堆转储和去优化也会暂停程序。所示时间是下限。",
        ),
        source="names of threads of HotSpot: vmThread.cpp, workerThread.cpp; times of perf samples. R. B. Miller, 1968",
    ),
    Rule(
        id="F-JVM-STOPPED",
        title=Text("A JVM stops its program for much of the time", "JVM 大部分时间处于暂停"),
        summary=Text(
            "Threads of Java process {pid} that run only while the program is stopped ran for {value} % of the time.",
            "Java 进程 {pid} 中仅在程序暂停时运行的线程运行了 {value} % 的时间。",
        ),
        measure=runtimes.STOPPED,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 33.3, "percent: requests take 1.5 times as long")),
            ("critical", Threshold("critical", 66.7, "percent: requests take three times as long")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(_COMPUTES, _NOTICED),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        refutes=(),
        harm=True,
        caveats=Text(
            "Thread dumps, heap dumps and deoptimization stop a program too. Stops may be too short to be seen singly.",
            "线程转储、堆转储和去优化也会暂停程序；单次停顿可能短到无法单独观察。",
        ),
        source="names of threads of HotSpot, schedstat: needs no performance data of the JVM (-XX:-UsePerfData). "
        "Speed-up without a part: Amdahl 1967",
    ),
    Rule(
        id="F-JVM-STOPS-MEET-CLIENTS",
        title=Text("A JVM that has clients stops its program", "有客户端的 JVM 暂停其程序"),
        summary=Text(
            "Java process {pid} was stopped for {value} ms at once, and requests arrive at it. No sample shows a "
            "request that waits: stops are short against the time between samples.",
            "Java 进程 {pid} 一次停顿 {value} ms，而其间有请求到达。采样未见等待中的请求：停顿短于采样间隔。",
        ),
        measure=runtimes.SERVER_STOP,
        op=">=",
        thresholds=(("warn", Threshold("warn", 100.0, "users notice a tenth of a second")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(_STOPPED,),
        causes=("gc-pauses",),
        caveats=Text(
            "A request that arrives during a stop waits for its end. How many did is not measured.",
            "停顿期间到达的请求会等到其结束；未测量有多少请求如此。",
        ),
        source="arrivals meet stops as often as these are a share of the time (Wolff 1982, PASTA)",
    ),
    Rule(
        id="F-JVM-HEAP-FULL",
        title=Text("Full collections free too little", "Full GC 释放的内存过少"),
        summary=Text(
            "{name} ran {value} full collections in {seconds} s, and {old} % of the old generation is in use.",
            "{name} 在 {seconds} 秒内执行了 {value} 次 Full GC，老年代仍占用 {old} %。",
        ),
        measure=runtimes.FULL_COLLECTIONS,
        op=">=",
        thresholds=(
            (
                "critical",
                Threshold("critical", 2.0, "the second one follows because the first freed too little"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "saturation"),
        also=(
            Condition(
                runtimes.OLD_USED,
                ">=",
                Threshold("old", 50.0, "after a full collection more is alive than free"),
            ),
        ),
        suspects=("heap-almost-full",),
        causes=("heap-almost-full",),
        refutes=("heap-almost-full",),
        caveats=Text(
            "System.gc() of the program, or jcmd GC.run, also runs full collections.",
            "程序调用 System.gc() 或执行 jcmd GC.run 也会触发 Full GC。",
        ),
        source="hsperfdata: sun.gc.collector.1.invocations, sun.gc.generation.1.space.0.used",
    ),
    Rule(
        id="F-GO-GC",
        title=Text("A Go program spends much of its CPU on garbage", "Go 程序大量 CPU 用于垃圾回收"),
        summary=Text(
            "{value} % of the CPU samples are in the garbage collector of Go ({frames}).",
            "{value} % 的 CPU 样本位于 Go 的垃圾回收器（{frames}）。",
        ),
        measure=runtimes.GO_GC_SHARE,
        op=">=",
        thresholds=(
            (
                "warn",
                Threshold("warn", 50.0, "more than the program itself; cycles without a gap take a quarter"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "utilization"),
        suspects=("gc-pauses",),
        causes=("gc-pauses",),
        caveats=Text(
            "A program that only allocates has such a share at any load.",
            "只做分配的程序在任何负载下都有此占比。",
        ),
        source="CPU profile. Go: A Guide to the Garbage Collector (gcBackgroundUtilization 25 %)",
    ),
    Rule(
        id="F-TLS-HANDSHAKES",
        title=Text("TLS handshakes use much of the CPU", "TLS 握手消耗大量 CPU"),
        summary=Text(
            "{value} % of the CPU samples are in libraries of cryptography ({frames}), while connections are accepted.",
            "{value} % 的 CPU 样本位于密码库（{frames}），同时不断接受新连接。",
        ),
        measure=runtimes.CRYPTO_SHARE,
        op=">=",
        thresholds=(("warn", Threshold("warn", 25.0, "the largest of four equal parts of the work")),),
        strength=Strength.MECHANISM,
        use=Use("cpu", "utilization"),
        also=(
            Condition(
                runtimes.CRYPTO_MS,
                "<=",
                Threshold(
                    "each", 20.0, "a handshake with RSA 4096 takes less; more is the encryption of data"
                ),
            ),
            Condition(
                MetricReading("tcp.passive_opens_per_s"),
                ">=",
                Threshold("opens", 10.0, "a few handshakes a second use no measurable part of a CPU"),
            ),
        ),
        suspects=("tls-handshakes",),
        causes=("tls-handshakes",),
        caveats=Text(
            "A host that also encrypts much data in short connections looks the same.",
            "在短连接中加密大量数据的主机看起来相同。",
        ),
        source="CPU profile; /proc/net/snmp: PassiveOpens",
    ),
    Rule(
        id="F-TCP-CHURN",
        title=Text("Connections are opened for each request", "为每个请求新建连接"),
        summary=Text(
            "{rate} connections begin each second and live {value} ms on average; {open} are open.",
            "每秒新建 {rate} 个连接，平均存活 {value} ms；当前打开 {open} 个。",
        ),
        measure=runtimes.LIFETIME,
        op="<=",
        thresholds=(("warn", Threshold("warn", 100.0, "so short a life holds one request, not many")),),
        strength=Strength.CORRELATIONAL,
        use=Use("network", "utilization"),
        also=(
            Condition(
                runtimes.OPENS_PER_CPU,
                ">=",
                Threshold("opens", 1000.0, "at about 0.1 ms of CPU for each connection, a tenth of the CPU"),
            ),
        ),
        suspects=("connection-churn",),
        causes=("connection-churn",),
        caveats=Text(
            "Health checks and clients of the public internet open a connection for each request by design.",
            "健康检查与公网客户端本就为每个请求新建连接。",
        ),
        source="/proc/net/snmp: PassiveOpens, ActiveOpens, CurrEstab; J. D. C. Little, 1961",
    ),
)
