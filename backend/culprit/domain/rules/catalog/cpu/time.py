"""Rules about where CPU time goes: busy, one core, kernel, softirqs, steal, load, hot threads."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import peers
from culprit.core.rules.measures.cpu_profile import SERVING_CPU
from culprit.core.rules.measures.cpu_threads import HOT_THREAD

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CPU-BUSY",
        title=Text("The CPUs are busy", "CPU 繁忙"),
        says=Text("{value} % of all CPU time is in use.", "全部 CPU 时间的 {value}% 被使用。"),
        measure=Over("cpu.total_busy_pct", "held"),
        op=">",
        levels=(
            ("warn", Limit("warn", 85.0, "Netdata, PCP")),
            ("critical", Limit("critical", 95.0, "Netdata")),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "A busy CPU that nobody waits for is well used.",
            "CPU 繁忙但无人等待，即为充分利用。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-ONE-CORE",
        title=Text("One CPU is full, the others are not", "单个 CPU 跑满"),
        says=Text("CPU {cpu} is {value} % busy.", "CPU {cpu} 繁忙度 {value}%。"),
        measure=Over("cpu.busy_pct", "held"),
        op=">",
        levels=(("warn", Limit("warn", 95.0, "PCP: one CPU")),),
        also=(
            Condition(
                Over("cpu.total_busy_pct", "mean"), "<", Limit("host_pct", 60.0, "most of the host is idle")
            ),
        ),
        grade=Grade.CONTEXT,
        traps=Text("Polling CPUs are full by design.", "轮询模式的 CPU 本就跑满。"),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-SYS-HIGH",
        title=Text("The kernel uses most of the CPU", "内核态占用过高"),
        says=Text("{value} % of the busy time is the kernel's.", "繁忙时间的 {value}% 在内核态。"),
        measure=Over("cpu.sys_share_of_busy_pct", "held"),
        op=">",
        levels=(("warn", Limit("warn", 40.0, "case study")), ("critical", Limit("critical", 75.0, "PCP"))),
        also=(Condition(Over("cpu.total_busy_pct", "mean"), ">", Limit("busy_pct", 70.0, "PCP")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Legitimate for proxies, packet forwarders and databases with direct I/O.",
            "代理、转发与直接 I/O 的数据库属正常。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-CPU-STEAL",
        title=Text("The hypervisor takes the CPU away", "宿主机窃取 CPU"),
        says=Text("{value} % of CPU {cpu} went to other guests.", "CPU {cpu} 有 {value}% 被其他虚拟机占用。"),
        measure=Over("cpu.steal_pct", "held"),
        op=">",
        levels=(("warn", Limit("warn", 10.0, "Netdata")), ("critical", Limit("critical", 30.0, "own"))),
        grade=Grade.DIRECT,
        beside=(
            Over("cpu.busy_pct", "mean"),
            Over("cpu.total_steal_pct", "mean"),
            Over("sched.runq_per_cpu", "held"),
        ),
        causes=("hypervisor-steal",),
        refutes=("hypervisor-steal",),
        traps=Text(
            "Burstable instances show steal once their credits are used up.",
            "突发型实例在积分耗尽后会出现 steal。",
        ),
        source="steal of /proc/stat; the catalogue asks for a minute, a triage has eight seconds",
    ),
    Rule(
        id="F-SOFTIRQ-HIGH",
        title=Text("Softirqs use a CPU", "软中断占用 CPU"),
        says=Text("Softirqs use {value} % of CPU {cpu}.", "软中断占用 CPU {cpu} 的 {value}%。"),
        measure=Over("cpu.soft_pct", "held"),
        op=">",
        levels=(
            ("warn", Limit("warn", 10.0, "case studies: 10.9 and 12.8")),
            ("critical", Limit("critical", 30.0, "case study: 32.4 and 34.5")),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Line-rate traffic needs it: judge per packet, and by what was lost.",
            "高流量本就需要：按每包成本与丢包判断。",
        ),
        source="/proc/stat",
    ),
    Rule(
        id="F-SOFTIRQ-IMBALANCE",
        title=Text("One CPU takes most received packets", "收包软中断集中于单个 CPU"),
        says=Text(
            "The busiest CPU takes {value} times the mean of received packets.",
            "最忙的 CPU 处理的收包软中断是平均值的 {value} 倍。",
        ),
        measure=Over("softirq.imbalance_max_over_mean", "held", {"vector": "NET_RX"}),
        op=">",
        levels=(("warn", Limit("warn", 2.0, "playbook: balanced is at most 2")),),
        also=(Condition(Over("cpu.soft_pct", "held"), ">", Limit("soft_pct", 10.0, "as for a busy CPU")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Pinned interrupts and fewer queues than CPUs are by design; two CPUs can never pass two.",
            "中断绑核或队列少于 CPU 属设计使然；双 CPU 主机不可能超过 2。",
        ),
        source="/proc/softirqs",
    ),
    Rule(
        id="F-LOAD-HIGH",
        title=Text("The load is high", "负载高"),
        says=Text("Load 1 is {value} for each CPU.", "每个 CPU 的 1 分钟负载为 {value}。"),
        measure=Over("load.avg1_per_cpu", "last"),
        op=">",
        levels=(("warn", Limit("warn", 3.0, "PCP")), ("critical", Limit("critical", 8.0, "Netdata"))),
        also=(Condition(Over("load.avg1", "last"), ">", Limit("load", 4.0, "PCP")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Counts tasks in uninterruptible sleep, and tasks of the lowest priority.",
            "包含不可中断睡眠与最低优先级的任务。",
        ),
        source="/proc/loadavg",
    ),
    Rule(
        id="F-LOAD-HIGH-CPU-LOW",
        title=Text("The load is high while the CPUs are idle", "负载高而 CPU 空闲"),
        says=Text(
            "Load 1 is {value} for each CPU while less than half of them is in use.",
            "每个 CPU 的 1 分钟负载为 {value}，而 CPU 使用率不足一半。",
        ),
        measure=Over("load.avg1_per_cpu", "last"),
        op=">",
        levels=(("warn", Limit("warn", 2.0, "node mixin")),),
        also=(Condition(Over("cpu.total_busy_pct", "mean"), "<", Limit("busy_pct", 50.0, "playbook")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Tasks that no CPU would help: look at D state and at control groups with limits.",
            "增加 CPU 无济于事：查看 D 状态任务与受限控制组。",
        ),
        source="/proc/loadavg and /proc/stat",
    ),
    Rule(
        id="F-THREAD-HOT",
        title=Text("One thread fills a CPU", "单线程跑满 CPU"),
        says=Text(
            "Thread {tid} ({name}) uses {value} % of a CPU.", "线程 {tid}（{name}）占用一个 CPU 的 {value}%。"
        ),
        measure=HOT_THREAD,
        op=">",
        levels=(("info", Limit("info", 90.0, "playbook")),),
        grade=Grade.CONTEXT,
        traps=Text("Event loops under load are fine.", "负载下的事件循环属正常。"),
        source="/proc/PID/task/TID/schedstat",
    ),
    Rule(
        id="F-PROC-SERVING-BUSY",
        title=Text("A program that serves uses the CPU", "服务进程占用 CPU"),
        says=Text("{name} uses {value} % of a CPU.", "{name} 占用一个 CPU 的 {value}%。"),
        measure=SERVING_CPU,
        op=">",
        levels=(("info", Limit("info", 10.0, "own: a tenth; eight seconds at 99 Hz hold 80 samples")),),
        grade=Grade.CONTEXT,
        refutes=("cpu-hot-function",),
        traps=Text("Serving takes CPU: no fault by itself.", "提供服务本就消耗 CPU，并非故障。"),
        source="/proc/PID/stat and listening sockets",
    ),
    Rule(
        id="F-HOST-OUTLIER",
        title=Text("Busier than its twins", "比同类主机繁忙"),
        says=Text(
            "{busy} % busy: {value} times as far from its twins as counts as one of them.",
            "繁忙度 {busy}%，与同类主机的偏离是正常范围的 {value} 倍。",
        ),
        measure=peers.BUSIER,
        op=">",
        levels=(
            ("info", Limit("info", 1.0, "modified z 3.5 of five twins or more; twice the median of fewer")),
        ),
        grade=Grade.CONTEXT,
        traps=Text(
            "Other hardware or another role is no outlier: compare within groups.",
            "硬件或角色不同不算异常：先分组再比较。",
        ),
        source="Iglewicz and Hoaglin 1993",
    ),
)
