"""Rules about memory on another node than the CPUs that use it."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import AnyOf, Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import numa as of

_BUSY = Limit("pages", 250.0, "1 MB/s of allocations: below, a share means nothing")

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-NUMA-CPUSET-MISMATCH",
        title=Text("CPUs on one node, memory on another", "CPU 与内存绑定在不同节点"),
        says=Text(
            "CPUs {cpus} are on node {cpu_nodes}, memory may only come from node {mem_nodes} (mismatch {value} of 2).",
            "CPU {cpus} 位于节点 {cpu_nodes}，内存却只能来自节点 {mem_nodes}（不一致程度 {value}/2）。",
        ),
        measure=of.MISMATCH,
        op=">=",
        levels=(("critical", Limit("disjoint", 2.0, "the two share no node")),),
        also=(
            AnyOf(
                (
                    Condition(Over("numa.other_node_per_s", "mean"), ">=", _BUSY),
                    Condition(of.FAR_MEMORY, ">", Limit("far", 50.0, "most of the process lies there")),
                )
            ),
        ),
        grade=Grade.DIRECT,
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        traps=Text(
            "Nodes of memory without CPUs (CXL, HBM, PMEM) are meant to be far; an idle group suffers nothing.",
            "无 CPU 的内存节点（CXL、HBM、PMEM）本就较远；空闲的控制组不受影响。",
        ),
        source="cpuset.cpus and cpuset.mems, Cpus_allowed and Mems_allowed",
    ),
    Rule(
        id="F-NUMA-CPUSET-PARTIAL",
        title=Text("CPUs and memory agree in part", "CPU 与内存节点部分一致"),
        says=Text(
            "CPUs are on nodes {cpu_nodes}, memory on {mem_nodes}.",
            "CPU 位于节点 {cpu_nodes}，内存位于 {mem_nodes}。",
        ),
        measure=of.MISMATCH,
        op="==",
        levels=(("info", Limit("partial", 1.0, "the two share some nodes")),),
        grade=Grade.CONTEXT,
        source="often wanted: memory of all nodes for CPUs of one",
    ),
    Rule(
        id="F-NUMA-OTHER-NODE",
        title=Text("Memory is allocated from another node", "跨节点分配内存"),
        says=Text(
            "{value} % of the allocations of the node are for tasks elsewhere.",
            "该节点 {value}% 的分配来自其他节点上的任务。",
        ),
        measure=Over("numa.other_node_ratio_pct", "mean"),
        op=">",
        levels=(("warn", Limit("share", 10.0, "own; counts allocations, not accesses")),),
        also=(Condition(Over("numa.other_node_per_s", "mean"), ">=", _BUSY),),
        grade=Grade.CORRELATIONAL,
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        traps=Text(
            "An interleave policy does this by design; so does a node that is full.",
            "interleave 策略按设计如此；节点内存用尽时也会如此。",
        ),
        source="numastat other_node: a wrong binding counts as a hit, and numa_miss stays 0",
    ),
    Rule(
        id="F-NUMA-MISS",
        title=Text("A node was full when memory was wanted from it", "节点内存不足而分配到别处"),
        says=Text(
            "{value} pages a second were meant for another node.", "每秒 {value} 页本应分配在其他节点。"
        ),
        measure=Over("numa.miss_per_s", "mean"),
        op=">",
        levels=(("info", Limit("pages", 100.0, "own")),),
        grade=Grade.CONTEXT,
        source="refuted as a signal of wrong binding: numa_miss stays 0 there",
    ),
    Rule(
        id="F-NUMA-FAR-MEMORY",
        title=Text("The memory of the process is on another node", "进程内存位于其他节点"),
        says=Text(
            "{value} % of its memory is on node {nodes}, its CPUs are on {cpu_nodes}.",
            "{value}% 的内存在节点 {nodes}，而 CPU 在节点 {cpu_nodes}。",
        ),
        measure=of.FAR_MEMORY,
        op=">",
        levels=(
            (
                "warn",
                Limit("share", 60.0, "most of it, and more than interleaving over two nodes leaves there"),
            ),
        ),
        grade=Grade.MECHANISM,
        causes=("numa-remote-memory",),
        refutes=("numa-remote-memory",),
        source="/proc/PID/numa_maps against the nodes of Cpus_allowed",
    ),
    Rule(
        id="F-NUMA-OWN-PINNING",
        title=Text("Threads are kept to CPUs far from their memory", "线程被绑到远离内存的 CPU"),
        says=Text(
            "Threads of {name} may run on {sets} different sets of CPUs, and {value} % of its memory is far from"
            " those that work.",
            "{name} 的线程分属 {sets} 种 CPU 集合，工作线程有 {value}% 的内存在远端。",
        ),
        measure=of.OWN_PINNING,
        op=">",
        levels=(("warn", Limit("share", 60.0, "as for a process whose memory is far")),),
        grade=Grade.MECHANISM,
        causes=("numa-remote-memory",),
        traps=Text(
            "Somebody may have set them from outside, by taskset or an agent.",
            "也可能由外部（taskset 或代理程序）设置。",
        ),
        source="Cpus_allowed of the threads by their CPU use, numa_maps, and the CPUs of each node",
    ),
    Rule(
        id="F-NUMA-NODES",
        title=Text("The host has several NUMA nodes", "主机有多个 NUMA 节点"),
        says=Text("{value} nodes have CPUs.", "{value} 个节点有 CPU。"),
        measure=of.NODES,
        op=">=",
        levels=(("info", Limit("nodes", 2.0, "with one, no memory is far")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Many virtual machines show one node although the host below has several.",
            "许多虚拟机只显示一个节点，而底层宿主机有多个。",
        ),
        source="/sys/devices/system/node",
    ),
    Rule(
        id="F-NUMA-REMOTE-PMU",
        title=Text("The processor counts remote memory", "处理器统计到远端访问"),
        says=Text("{value} remote accesses a second.", "每秒 {value} 次远端访问。"),
        measure=of.REMOTE_COUNTS,
        op=">",
        levels=(("info", Limit("least", 1e6, "64 MB/s in cache lines: below, nobody notices")),),
        also=(
            Condition(of.REMOTE_COUNTS, ">", Limit("ratio", 3.0, "a case study: thirteen times"), "baseline"),
        ),
        grade=Grade.CORRELATIONAL,
        causes=("numa-remote-memory",),
        traps=Text(
            "Names of events differ; most virtual machines have none.", "事件名称因型号而异；多数虚拟机没有。"
        ),
        source="perf stat with the events that the processor offers",
    ),
    Rule(
        id="F-NUMA-BALANCING-CHURN",
        title=Text("Pages move between nodes all the time", "页在节点间不断迁移"),
        says=Text(
            "{value} pages a second are moved by automatic balancing.", "自动均衡每秒迁移 {value} 页。"
        ),
        measure=Over("mem.numa_migrated_per_s", "held"),
        op=">",
        levels=(("info", Limit("pages", 1000.0, "4 MB/s")),),
        grade=Grade.CONTEXT,
        traps=Text("Normal after a start.", "启动后属正常。"),
        source="vmstat numa_pages_migrated",
    ),
)
