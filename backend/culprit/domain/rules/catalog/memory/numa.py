"""Rules about memory on a different node than the CPUs that use it."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.memory import numa
from culprit.domain.rules.rule import AnyCondition, Condition, MetricReading, Rule, Threshold
from culprit.domain.rules.use_method import Use

_BUSY = Threshold("pages", 250.0, "1 MB/s of allocations: below, a share is meaningless")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NUMA-CPUSET-MISMATCH",
        title=Text("CPUs and memory are on different nodes", "CPU 与内存绑定在不同节点"),
        summary=Text(
            "CPUs {cpus} are on node {cpu_nodes}. Memory can only come from node {mem_nodes} "
            "(mismatch {value} of 2).",
            "CPU {cpus} 位于节点 {cpu_nodes}，内存却只能来自节点 {mem_nodes}（不一致程度 {value}/2）。",
        ),
        measure=numa.MISMATCH,
        op=">=",
        thresholds=(("critical", Threshold("disjoint", 2.0, "the two sets share no node")),),
        also=(
            AnyCondition(
                (
                    Condition(MetricReading("numa.other_node_per_s", "mean"), ">=", _BUSY),
                    Condition(
                        numa.FAR_MEMORY, ">", Threshold("far", 50.0, "most of the process memory is there")
                    ),
                )
            ),
        ),
        strength=Strength.DIRECT,
        use=Use("memory", "utilization"),
        suspects=("numa-remote-memory",),
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        caveats=Text(
            "Memory nodes without CPUs (CXL, HBM, PMEM) are remote by design. An idle group has "
            "no disadvantage.",
            "无 CPU 的内存节点（CXL、HBM、PMEM）本就较远；空闲的控制组不受影响。",
        ),
        source="cpuset.cpus and cpuset.mems, Cpus_allowed and Mems_allowed",
    ),
    Rule(
        id="F-NUMA-CPUSET-PARTIAL",
        title=Text("CPU and memory nodes overlap only in part", "CPU 与内存节点部分一致"),
        summary=Text(
            "CPUs are on nodes {cpu_nodes}, memory on {mem_nodes}.",
            "CPU 位于节点 {cpu_nodes}，内存位于 {mem_nodes}。",
        ),
        measure=numa.MISMATCH,
        op="==",
        thresholds=(("info", Threshold("partial", 1.0, "the two sets share some nodes")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "utilization"),
        source="often intended: memory of all nodes for CPUs of one",
    ),
    Rule(
        id="F-NUMA-OTHER-NODE",
        title=Text("Memory is allocated from another node", "跨节点分配内存"),
        summary=Text(
            "{value} % of the allocations of the node are for tasks on other nodes.",
            "该节点 {value}% 的分配来自其他节点上的任务。",
        ),
        measure=MetricReading("numa.other_node_ratio_pct", "mean"),
        op=">",
        thresholds=(("warn", Threshold("share", 10.0, "estimate; counts allocations, not accesses")),),
        also=(Condition(MetricReading("numa.other_node_per_s", "mean"), ">=", _BUSY),),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "utilization"),
        suspects=("numa-remote-memory",),
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        caveats=Text(
            "An interleave policy or a full node has the same effect.",
            "interleave 策略按设计如此；节点内存用尽时也会如此。",
        ),
        source="numastat other_node: a wrong binding counts as a hit, and numa_miss stays 0",
    ),
    Rule(
        id="F-NUMA-MISS",
        title=Text("A node was too full for an allocation", "节点内存不足而分配到别处"),
        summary=Text(
            "{value} pages a second were intended for another node.", "每秒 {value} 页本应分配在其他节点。"
        ),
        measure=MetricReading("numa.miss_per_s", "mean"),
        op=">",
        thresholds=(("info", Threshold("pages", 100.0, "estimate")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "saturation"),
        source="refuted as a signal of wrong binding: numa_miss stays 0 there",
    ),
    Rule(
        id="F-NUMA-FAR-MEMORY",
        title=Text("The memory of the process is on another node", "进程内存位于其他节点"),
        summary=Text(
            "{value} % of its memory is on node {nodes}; its CPUs are on {cpu_nodes}.",
            "{value}% 的内存在节点 {nodes}，而 CPU 在节点 {cpu_nodes}。",
        ),
        measure=numa.FAR_MEMORY,
        op=">",
        thresholds=(
            (
                "warn",
                Threshold(
                    "share", 60.0, "most of it, and more than interleaving over two nodes leaves there"
                ),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("memory", "utilization"),
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        source="/proc/PID/numa_maps against the nodes of Cpus_allowed",
    ),
    Rule(
        id="F-NUMA-OWN-PINNING",
        title=Text("Threads are bound to CPUs far from their memory", "线程被绑到远离内存的 CPU"),
        summary=Text(
            "Threads of {name} have {sets} different CPU sets. {value} % of its memory is remote "
            "for the working threads.",
            "{name} 的线程分属 {sets} 种 CPU 集合，工作线程有 {value}% 的内存在远端。",
        ),
        measure=numa.OWN_PINNING,
        op=">",
        thresholds=(("warn", Threshold("share", 60.0, "as for a process with remote memory")),),
        strength=Strength.MECHANISM,
        use=Use("memory", "utilization"),
        causes=("numa-remote-memory",),
        caveats=Text(
            "The binding may come from outside, for example taskset or an agent.",
            "也可能由外部（taskset 或代理程序）设置。",
        ),
        source="Cpus_allowed of the threads by their CPU use, numa_maps, and the CPUs of each node",
    ),
    Rule(
        id="F-NUMA-NODES",
        title=Text("The host has several NUMA nodes", "主机有多个 NUMA 节点"),
        summary=Text("{value} nodes have CPUs.", "{value} 个节点有 CPU。"),
        measure=numa.NODES,
        op=">=",
        thresholds=(("info", Threshold("nodes", 2.0, "with one node, no memory is remote")),),
        strength=Strength.CONTEXT,
        use=None,
        caveats=Text(
            "Many virtual machines show one node although the physical host has several.",
            "许多虚拟机只显示一个节点，而底层宿主机有多个。",
        ),
        source="/sys/devices/system/node",
    ),
    Rule(
        id="F-NUMA-REMOTE-PMU",
        title=Text("The processor counts remote memory accesses", "处理器统计到远端访问"),
        summary=Text("{value} remote accesses a second.", "每秒 {value} 次远端访问。"),
        measure=numa.REMOTE_COUNTS,
        op=">",
        thresholds=(
            ("info", Threshold("least", 1e6, "64 MB/s in cache lines: below, the effect is not noticeable")),
        ),
        also=(
            Condition(
                numa.REMOTE_COUNTS, ">", Threshold("ratio", 3.0, "a case study: thirteen times"), "baseline"
            ),
        ),
        strength=Strength.CORRELATIONAL,
        use=Use("memory", "utilization"),
        causes=("numa-remote-memory",),
        caveats=Text(
            "Event names differ, and most virtual machines have none.", "事件名称因型号而异；多数虚拟机没有。"
        ),
        source="perf stat with the events of the processor",
    ),
    Rule(
        id="F-NUMA-BALANCING-CHURN",
        title=Text("Pages move between nodes continuously", "页在节点间不断迁移"),
        summary=Text("Automatic balancing moves {value} pages a second.", "自动均衡每秒迁移 {value} 页。"),
        measure=MetricReading("mem.numa_migrated_per_s", "held"),
        op=">",
        thresholds=(("info", Threshold("pages", 1000.0, "4 MB/s")),),
        strength=Strength.CONTEXT,
        use=Use("memory", "utilization"),
        caveats=Text("Normal after a start.", "启动后属正常。"),
        source="vmstat numa_pages_migrated",
    ),
)
