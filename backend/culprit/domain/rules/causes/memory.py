"""Causes related to memory."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="memcg-oom-kill",
        title=Text("Killed at the memory limit of the control group", "因控制组内存限额被终止"),
        what=Text(
            "The group reached its memory limit, nothing could be reclaimed, and the kernel "
            "killed a process of the group.",
            "控制组达到内存限额且无可回收内存，内核终止了其中的进程。",
        ),
        fix=Text(
            "Find what grew (heap, leak, files in a tmpfs) and limit it. Raise the limit if the "
            "demand is justified.",
            "找出增长的部分（堆、泄漏、tmpfs 中的文件）并加以限制；确有需要时提高限额。",
        ),
        risk=Text(
            "A higher limit takes memory from neighbors. Check the free memory of the host "
            "first. Rollback: restore the old limit while use is below it.",
            "提高限额会挤占邻居内存：先确认主机余量。回退：在用量低于旧限额时恢复旧值。",
        ),
        verify=Text(
            "Ten minutes of the same load: oom_kill of the group does not increase, and use "
            "stays below 90 % of the limit.",
            "相同负载十分钟：该组 oom_kill 不再增长，用量低于限额的 90%。",
        ),
        explains=(
            *("memory-leak", "slow-dependency", "worker-pool-exhausted", "connections-refused"),
            "crash-loop",
        ),
        proven_by=("memcg-oom",),
    ),
    Cause(
        id="jvm-heap-over-limit",
        title=Text("The JVM heap exceeds the memory limit", "JVM 堆超出内存限额"),
        what=Text(
            "The maximum heap is larger than the memory of the control group. The heap grows "
            "until the kernel kills the JVM, before the garbage collector runs.",
            "最大堆大于控制组可用内存：堆不断增长，直到内核终止 JVM，而不是触发垃圾回收。",
        ),
        fix=Text(
            "Derive the heap from the limit: -XX:MaxRAMPercentage=75 or less (JDK 8u191 and "
            "later), or -Xmx of at most three quarters of the limit. Or raise the limit.",
            "让堆随限额变化：-XX:MaxRAMPercentage=75 或更低（JDK 8u191 起），"
            "或将 -Xmx 设为限额的四分之三以内；或提高限额。",
        ),
        risk=Text(
            "A smaller heap is collected more often. Check the pauses. Options apply after a "
            "restart. Rollback: restart with the old options.",
            "堆变小会更频繁回收：关注停顿。参数需重启生效；回退：以旧参数重启。",
        ),
        verify=Text(
            "After the restart: MaxHeapSize below 75 % of the limit, and no kill in ten minutes "
            "of the same load.",
            "重启后：MaxHeapSize 低于限额的 75%，相同负载十分钟内无终止。",
        ),
        explains=("memcg-oom-kill", "memory-leak", "major-fault-thrashing", "worker-pool-exhausted"),
        tested_by=("jvm_flags",),
        proven_by=("jvm-heap",),
    ),
    Cause(
        id="major-fault-thrashing",
        title=Text(
            "Pages are read repeatedly because the working set does not fit", "工作集放不下，页被反复读入"
        ),
        what=Text(
            "At the memory limit, code and mapped files are evicted and read again on the next "
            "access. Read-ahead multiplies the bytes per fault.",
            "代码与映射文件在限额处被逐出，访问时又从磁盘读回；预读放大了每次缺页的读取量。",
        ),
        fix=Text(
            "Give the group enough memory for its working set. Until then, reduce read-ahead, or "
            "let the program call madvise(MADV_RANDOM).",
            "为该组提供容纳工作集的内存；期间可减小预读，或让程序使用 madvise(MADV_RANDOM)。",
        ),
        risk=Text(
            "This takes memory from neighbors. Read-ahead is a device setting and affects other "
            "programs. Locked pages count toward the limit. Rollback: restore the old limit and "
            "read_ahead_kb.",
            "会占用邻居内存；预读是设备级设置，会影响其他程序；锁定的页计入限额。回退："
            "恢复旧限额与旧 read_ahead_kb。",
        ),
        verify=Text(
            "Capture again under the same load: refaults near 0, fewer major faults, no threads "
            "wait for pages.",
            "相同负载再次采集：重读接近 0，主缺页下降，无线程等待页。",
        ),
        mechanisms=("fault", "disk"),
        explains=(
            "cpu-exhausted",
            "dstate-pileup",
            "disk-saturation",
            "lock-contention",
            "worker-pool-exhausted",
        ),
        tested_by=("perf_record",),
        proven_by=("major-faults",),
    ),
    Cause(
        id="swap-thrashing",
        title=Text("Swap thrashing", "交换抖动"),
        what=Text(
            "Memory is short. Pages that were swapped out are needed immediately, so pages move "
            "out and in continuously.",
            "内存不足，换出的页立刻又被需要：不断换出换入。",
        ),
        fix=Text(
            "Find the process that grew. Stop or move what uses too much memory, or add memory.",
            "停止或迁移占用过多内存的进程，或增加内存；找出增长的进程。",
        ),
        risk=Text(
            "swapoff needs memory for everything that is swapped out and may cause kills. Do not "
            "use it while memory is short. Rollback: start a stopped service again when memory "
            "is free.",
            "swapoff 需要容纳全部换出内容，可能引发 OOM；内存不足时不要使用。回退：内存充足后重新启动被停的服务。",
        ),
        verify=Text(
            "Pages swapped in and out stay near 0 over minutes of the same load.",
            "相同负载数分钟内换入换出接近 0。",
        ),
        mechanisms=("fault", "disk"),
        explains=(
            "dstate-pileup",
            "disk-saturation",
            "major-fault-thrashing",
            "lock-contention",
            "worker-pool-exhausted",
        ),
        proven_by=("swap-thrash",),
    ),
    Cause(
        id="memory-leak",
        title=Text("The memory of a process grows without limit", "进程内存无限增长"),
        what=Text(
            "Anonymous memory of a process grows steadily with the load and is not released.",
            "进程的匿名内存随负载持续增长且不释放。",
        ),
        fix=Text(
            "Take heap profiles an hour apart and compare them. Limit caches. Until the fix, "
            "restart the process before it reaches the limit.",
            "间隔一小时采集堆快照并比较；限制缓存；在触及限额前先行重启。",
        ),
        risk=Text(
            "A heap dump pauses the process and needs as much disk space as the heap. A restart "
            "discards warm caches. Neither changes a setting.",
            "堆转储期间进程暂停并需等量磁盘；重启会丢失热缓存。二者均不改变设置。",
        ),
        verify=Text(
            "After an hour of the same load, resident memory is stable.",
            "相同负载一小时：常驻内存趋于稳定。",
        ),
        proven_by=("memory-leak",),
    ),
    Cause(
        id="numa-remote-memory",
        title=Text("CPUs on one NUMA node, memory on another", "CPU 与内存位于不同 NUMA 节点"),
        what=Text(
            "The group runs on CPUs of one node and gets memory from another. Each access "
            "crosses the interconnect.",
            "控制组在一个节点的 CPU 上运行，内存却来自另一个节点：每次访问都要跨越互连。",
        ),
        fix=Text(
            "Bind memory to the nodes of the CPUs (cpuset.mems to match cpuset.cpus) and restart "
            "the service.",
            "将内存绑定到 CPU 所在节点（cpuset.mems 与 cpuset.cpus 一致）并重启服务。",
        ),
        risk=Text(
            "Changing cpuset.mems of a running group may move all its pages at once, and the "
            "node may be too full. Rollback: restore the old nodes and restart.",
            "对运行中的组修改 cpuset.mems 可能一次性迁移全部页，目标节点也可能放不下。回退：恢复旧节点并重启。",
        ),
        verify=Text(
            "Capture again under the same load: other_node hardly grows, and numa_maps shows the "
            "pages on the local node.",
            "相同负载再次采集：other_node 几乎不增长，numa_maps 显示页位于近端节点。",
        ),
        mechanisms=("running",),
        explains=("worker-pool-exhausted",),
        tested_by=("numa_maps",),
        proven_by=("numa-remote",),
    ),
)
