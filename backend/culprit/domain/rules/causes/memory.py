"""Causes about memory."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="memcg-oom-kill",
        title=Text("Killed at the memory limit of the control group", "因控制组内存限额被终止"),
        what=Text(
            "The group reached its memory limit with nothing left to reclaim, and the kernel killed a process in it.",
            "控制组达到内存限额且无可回收内存，内核终止了其中的进程。",
        ),
        fix=Text(
            "Find what grew (a heap, a leak, files in a tmpfs) and bound it; raise the limit if the need is real.",
            "找出增长的部分（堆、泄漏、tmpfs 中的文件）并加以限制；确有需要时提高限额。",
        ),
        risk=Text(
            "A higher limit takes memory from neighbours: check what the host has free. To take it back, set the old"
            " limit while the use is below it.",
            "提高限额会挤占邻居内存：先确认主机余量。回退：在用量低于旧限额时恢复旧值。",
        ),
        verify=Text(
            "Ten minutes of the same load: oom_kill of the group stands still, its use stays below 90 % of the limit.",
            "相同负载十分钟：该组 oom_kill 不再增长，用量低于限额的 90%。",
        ),
        explains=("memory-leak", "worker-pool-exhausted"),
        suspected_by=("F-MEM-OOM-CGROUP", "F-MEM-OOM-CONTAINER"),
        proven_by=("memcg-oom",),
    ),
    Cause(
        id="jvm-heap-over-limit",
        title=Text("The JVM's heap does not fit into the memory limit", "JVM 堆超出内存限额"),
        what=Text(
            "The greatest heap is larger than what the control group may use, so the heap grows until the kernel kills"
            " the JVM instead of the collector cleaning up.",
            "最大堆大于控制组可用内存：堆不断增长，直到内核终止 JVM，而不是触发垃圾回收。",
        ),
        fix=Text(
            "Let the heap follow the limit: -XX:MaxRAMPercentage=75 or less (JDK 8u191 and later), or -Xmx of at most"
            " three quarters of the limit; or raise the limit.",
            "让堆随限额变化：-XX:MaxRAMPercentage=75 或更低（JDK 8u191 起），"
            "或将 -Xmx 设为限额的四分之三以内；或提高限额。",
        ),
        risk=Text(
            "A smaller heap collects more often: watch the pauses. Options act after a restart; to take them back,"
            " restart with the old ones.",
            "堆变小会更频繁回收：关注停顿。参数需重启生效；回退：以旧参数重启。",
        ),
        verify=Text(
            "After the restart: MaxHeapSize below 75 % of the limit, no kill in ten minutes of the same load.",
            "重启后：MaxHeapSize 低于限额的 75%，相同负载十分钟内无终止。",
        ),
        explains=("memcg-oom-kill", "memory-leak", "major-fault-thrashing", "worker-pool-exhausted"),
        suspected_by=("F-JVM-OOM-KILLED",),
        tested_by=("jvm_flags",),
        proven_by=("jvm-heap",),
    ),
    Cause(
        id="major-fault-thrashing",
        title=Text(
            "The working set does not fit: pages are read again and again", "工作集放不下，页被反复读入"
        ),
        what=Text(
            "Code and mapped files are evicted at the memory limit and read from the disk again when they are touched;"
            " read-ahead multiplies what each fault reads.",
            "代码与映射文件在限额处被逐出，访问时又从磁盘读回；预读放大了每次缺页的读取量。",
        ),
        fix=Text(
            "Give the group memory for its working set; meanwhile lessen read-ahead or let the program say"
            " madvise(MADV_RANDOM).",
            "为该组提供容纳工作集的内存；期间可减小预读，或让程序使用 madvise(MADV_RANDOM)。",
        ),
        risk=Text(
            "Memory is taken from neighbours; read-ahead is a setting of the device and others use it too; locked pages"
            " count against the limit. To take it back, set the old limit and the old read_ahead_kb.",
            "会占用邻居内存；预读是设备级设置，会影响他人；锁定的页计入限额。回退：恢复旧限额与旧 read_ahead_kb。",
        ),
        verify=Text(
            "The same load again: refaults near 0, major faults down, no threads waiting for pages.",
            "相同负载再次采集：重读接近 0，主缺页下降，无线程等待页。",
        ),
        explains=("dstate-pileup", "disk-saturation", "lock-contention", "worker-pool-exhausted"),
        suspected_by=("F-MEM-MAJFAULT", "F-MEM-MAJFAULT-PROCESS", "F-MEM-REFAULT-CGROUP", "F-MEM-PSI-CGROUP"),
        tested_by=("perf_record",),
        proven_by=("major-faults",),
    ),
    Cause(
        id="swap-thrashing",
        title=Text("Swap thrashing", "交换抖动"),
        what=Text(
            "Memory is short and pages that were swapped out are needed at once: they go out and come back.",
            "内存不足，换出的页立刻又被需要：不断换出换入。",
        ),
        fix=Text(
            "Stop or move what uses too much memory, or add memory; find the process that grew.",
            "停止或迁移占用过多内存的进程，或增加内存；找出增长的进程。",
        ),
        risk=Text(
            "swapoff needs room for all that is swapped out and may start kills; do not use it while memory is short."
            " To take a stopped service back, start it when memory is free.",
            "swapoff 需要容纳全部换出内容，可能引发 OOM；内存不足时不要使用。回退：内存充足后重新启动被停的服务。",
        ),
        verify=Text(
            "Pages swapped in and out near 0 over minutes of the same load.",
            "相同负载数分钟内换入换出接近 0。",
        ),
        explains=(
            "dstate-pileup",
            "disk-saturation",
            "major-fault-thrashing",
            "lock-contention",
            "worker-pool-exhausted",
        ),
        suspected_by=("F-MEM-SWAP",),
        proven_by=("swap-thrash",),
    ),
    Cause(
        id="memory-leak",
        title=Text("A process grows without bound", "进程内存无限增长"),
        what=Text(
            "Anonymous memory of a process grows steadily with the load and is not given back.",
            "进程的匿名内存随负载持续增长且不归还。",
        ),
        fix=Text(
            "Take heap profiles an hour apart and compare them; bound caches; restart before the limit meanwhile.",
            "间隔一小时采集堆快照并比较；限制缓存；在触及限额前先行重启。",
        ),
        risk=Text(
            "A heap dump stops the process for its length and needs as much disk; a restart drops warm caches. Neither"
            " changes a setting.",
            "堆转储期间进程暂停并需等量磁盘；重启会丢失热缓存。二者均不改变设置。",
        ),
        verify=Text(
            "The same load for an hour: resident memory reaches a level and stays.",
            "相同负载一小时：常驻内存趋于稳定。",
        ),
        suspected_by=("F-MEM-GROWTH",),
        proven_by=("memory-leak",),
    ),
    Cause(
        id="numa-remote-memory",
        title=Text("CPUs on one NUMA node, memory on another", "CPU 与内存位于不同 NUMA 节点"),
        what=Text(
            "The group runs on CPUs of one node and gets its memory from another: every access crosses the link.",
            "控制组在一个节点的 CPU 上运行，内存却来自另一个节点：每次访问都要跨越互连。",
        ),
        fix=Text(
            "Bind memory to the nodes of the CPUs (cpuset.mems to match cpuset.cpus) and restart the service.",
            "将内存绑定到 CPU 所在节点（cpuset.mems 与 cpuset.cpus 一致）并重启服务。",
        ),
        risk=Text(
            "Changing cpuset.mems of a running group may move all of its pages at once, and the node may be too full."
            " To take it back, set the old nodes and restart.",
            "对运行中的组修改 cpuset.mems 可能一次性迁移全部页，目标节点也可能放不下。回退：恢复旧节点并重启。",
        ),
        verify=Text(
            "The same load again: other_node hardly grows, numa_maps shows the pages on the near node.",
            "相同负载再次采集：other_node 几乎不增长，numa_maps 显示页位于近端节点。",
        ),
        explains=("worker-pool-exhausted",),
        suspected_by=("F-NUMA-OTHER-NODE", "F-NUMA-CPUSET-MISMATCH"),
        tested_by=("numa_maps",),
        proven_by=("numa-remote",),
    ),
)
