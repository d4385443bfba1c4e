"""Rules about where CPU time is spent: busy, one core, kernel, softirqs, steal, load, hot threads."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures import peers
from culprit.domain.rules.measures.cpu.profile import SERVING_CPU
from culprit.domain.rules.measures.cpu.threads import HOT_THREAD
from culprit.domain.rules.rule import Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CPU-BUSY",
        title=Text("The CPUs are busy", "CPU 繁忙"),
        summary=Text("{value} % of all CPU time is used.", "全部 CPU 时间的 {value}% 被使用。"),
        measure=MetricReading("cpu.total_busy_pct", "held"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 85.0, "Netdata, PCP")),
            ("critical", Threshold("critical", 95.0, "Netdata")),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text(
            "A busy CPU for which no thread waits is well used.",
            "CPU 繁忙但没有线程等待，即为充分利用。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-ONE-CORE",
        title=Text("One CPU is fully used, the others are not", "单个 CPU 跑满"),
        summary=Text("CPU {cpu} is {value} % busy.", "CPU {cpu} 繁忙度 {value}%。"),
        measure=MetricReading("cpu.busy_pct", "held"),
        op=">",
        thresholds=(("warn", Threshold("warn", 95.0, "PCP: one CPU")),),
        also=(
            Condition(
                MetricReading("cpu.total_busy_pct", "mean"),
                "<",
                Threshold("host_pct", 60.0, "most of the host is idle"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text("Polling CPUs are fully used by design.", "轮询模式的 CPU 本就跑满。"),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-SYS-HIGH",
        title=Text("The kernel uses most of the CPU", "内核态占用过高"),
        summary=Text("{value} % of the busy time is kernel time.", "繁忙时间的 {value}% 在内核态。"),
        measure=MetricReading("cpu.sys_share_of_busy_pct", "held"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 40.0, "case study")),
            ("critical", Threshold("critical", 75.0, "PCP")),
        ),
        also=(
            Condition(MetricReading("cpu.total_busy_pct", "mean"), ">", Threshold("busy_pct", 70.0, "PCP")),
        ),
        strength=Strength.CONTEXT,
        use=Use("kernel", "utilization"),
        caveats=Text(
            "Normal for proxies, packet forwarders and databases with direct I/O.",
            "代理、转发与直接 I/O 的数据库属正常。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-STEAL",
        title=Text("The hypervisor withholds CPU time", "宿主机占用 CPU（steal）"),
        summary=Text(
            "{value} % of the time of CPU {cpu} was used by other guests.",
            "CPU {cpu} 有 {value}% 被其他虚拟机占用。",
        ),
        measure=MetricReading("cpu.steal_pct", "held"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "Netdata")),
            ("critical", Threshold("critical", 30.0, "estimate")),
        ),
        strength=Strength.DIRECT,
        use=Use("cpu", "saturation"),
        suspects=("hypervisor-steal",),
        related=(
            MetricReading("cpu.busy_pct", "mean"),
            MetricReading("cpu.total_steal_pct", "mean"),
            MetricReading("sched.runq_per_cpu", "held"),
        ),
        causes=("hypervisor-steal",),
        refutes=("hypervisor-steal",),
        caveats=Text(
            "Burstable instances show steal when their credits are used up.",
            "突发型实例在积分耗尽后会出现 steal。",
        ),
        source="steal of /proc/stat; the source recommends a minute, a triage measures eight seconds",
    ),
    Rule(
        id="F-SOFTIRQ-HIGH",
        title=Text("Softirqs use a CPU", "软中断占用 CPU"),
        summary=Text("Softirqs use {value} % of CPU {cpu}.", "软中断占用 CPU {cpu} 的 {value}%。"),
        measure=MetricReading("cpu.soft_pct", "held"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "case studies: 10.9 and 12.8")),
            ("critical", Threshold("critical", 30.0, "case study: 32.4 and 34.5")),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text(
            "Traffic at line rate needs this. Judge by cost per packet and by lost packets.",
            "高流量本就需要：按每包成本与丢包判断。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-SOFTIRQ-IMBALANCE",
        title=Text("One CPU receives most packets", "收包软中断集中于单个 CPU"),
        summary=Text(
            "The busiest CPU receives {value} times as many packets as the average CPU.",
            "最忙的 CPU 处理的收包软中断是平均值的 {value} 倍。",
        ),
        measure=MetricReading("softirq.imbalance_max_over_mean", "held", {"vector": "NET_RX"}),
        op=">",
        thresholds=(("warn", Threshold("warn", 2.0, "playbook: balanced means at most 2")),),
        also=(
            Condition(
                MetricReading("cpu.soft_pct", "held"), ">", Threshold("soft_pct", 10.0, "as for a busy CPU")
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("network", "utilization"),
        caveats=Text(
            "Pinned interrupts and fewer queues than CPUs are by design. With two CPUs the ratio "
            "cannot exceed 2.",
            "中断绑核或队列少于 CPU 属设计使然；双 CPU 主机不可能超过 2。",
        ),
        source="/proc/softirqs",
    ),
    Rule(
        id="F-LOAD-HIGH",
        title=Text("The load is high", "负载高"),
        summary=Text("The 1-minute load per CPU is {value}.", "每个 CPU 的 1 分钟负载为 {value}。"),
        measure=MetricReading("load.avg1_per_cpu", "last"),
        op=">",
        thresholds=(
            ("warn", Threshold("warn", 3.0, "PCP")),
            ("critical", Threshold("critical", 8.0, "Netdata")),
        ),
        also=(Condition(MetricReading("load.avg1", "last"), ">", Threshold("load", 4.0, "PCP")),),
        strength=Strength.CONTEXT,
        use=Use("cpu", "saturation"),
        caveats=Text(
            "The load includes tasks in uninterruptible sleep and tasks of the lowest priority.",
            "包含不可中断睡眠与最低优先级的任务。",
        ),
        source="/proc/loadavg",
    ),
    Rule(
        id="F-LOAD-HIGH-CPU-LOW",
        title=Text("The load is high while the CPUs are idle", "负载高而 CPU 空闲"),
        summary=Text(
            "The 1-minute load per CPU is {value}, but less than half of the CPU time is used.",
            "每个 CPU 的 1 分钟负载为 {value}，而 CPU 使用率不足一半。",
        ),
        measure=MetricReading("load.avg1_per_cpu", "last"),
        op=">",
        thresholds=(("warn", Threshold("warn", 2.0, "node mixin")),),
        also=(
            Condition(
                MetricReading("cpu.total_busy_pct", "mean"), "<", Threshold("busy_pct", 50.0, "playbook")
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("kernel", "saturation"),
        caveats=Text(
            "More CPUs do not help these tasks. Check D state and control groups with limits.",
            "增加 CPU 无济于事：查看 D 状态任务与受限控制组。",
        ),
        source="/proc/loadavg and /proc/stat",
    ),
    Rule(
        id="F-THREAD-HOT",
        title=Text("One thread uses a full CPU", "单线程跑满 CPU"),
        summary=Text(
            "Thread {tid} ({name}) uses {value} % of a CPU.", "线程 {tid}（{name}）占用一个 CPU 的 {value}%。"
        ),
        measure=HOT_THREAD,
        op=">",
        thresholds=(("info", Threshold("info", 90.0, "playbook")),),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text("Event loops under load are normal.", "负载下的事件循环属正常。"),
        source="/proc/PID/task/TID/schedstat",
    ),
    Rule(
        id="F-PROC-SERVING-BUSY",
        title=Text("A serving program uses CPU", "服务进程占用 CPU"),
        summary=Text("{name} uses {value} % of a CPU.", "{name} 占用一个 CPU 的 {value}%。"),
        measure=SERVING_CPU,
        op=">",
        thresholds=(
            ("info", Threshold("info", 10.0, "estimate: a tenth; eight seconds at 99 Hz contain 80 samples")),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        suspects=("cpu-hot-function",),
        refutes=("cpu-hot-function",),
        caveats=Text("Serving requests costs CPU. This is not a fault.", "提供服务本就消耗 CPU，并非故障。"),
        source="/proc/PID/stat and listening sockets",
    ),
    Rule(
        id="F-HOST-OUTLIER",
        title=Text("Busier than its peers", "比同类主机繁忙"),
        summary=Text(
            "{busy} % busy. The deviation from its peers is {value} times the normal limit.",
            "繁忙度 {busy}%，与同类主机的偏离是正常范围的 {value} 倍。",
        ),
        measure=peers.BUSIER,
        op=">",
        thresholds=(
            (
                "info",
                Threshold("info", 1.0, "modified z 3.5 with five or more peers; twice the median with fewer"),
            ),
        ),
        strength=Strength.CONTEXT,
        use=Use("cpu", "utilization"),
        caveats=Text(
            "Different hardware or a different role is no outlier. Compare within groups.",
            "硬件或角色不同不算异常：先分组再比较。",
        ),
        source="Iglewicz and Hoaglin 1993",
    ),
)
