"""Causes related to memory that something other than programs holds, and to stalls while memory is freed."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

_SHORT = ("swap-thrashing", "direct-reclaim-stall", "major-fault-thrashing", "memory-leak")

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="slab-growth",
        title=Text("Kernel objects fill the memory", "内核对象占满内存"),
        what=Text(
            "Unreclaimable slab holds most of the memory: a leak of the kernel, or millions of sockets or files.",
            "不可回收的 slab 占用大部分内存：内核或驱动泄漏，或存在数百万套接字或文件。",
        ),
        fix=Text(
            "See which cache grows (slabtop -s c) and what uses it. Update the kernel or driver; until then, restart.",
            "用 slabtop -s c 查看增长的缓存及其使用者；升级内核或驱动，之前可重启。",
        ),
        risk=Text("A restart ends all services of the host.", "重启会中断主机上所有服务。"),
        verify=Text(
            "SUnreclaim is stable for an hour of the same load.", "相同负载一小时内 SUnreclaim 稳定。"
        ),
        explains=(*_SHORT, "memcg-page-cache-thrashing"),
        proven_by=("slab-growth",),
    ),
    Cause(
        id="page-tables-large",
        title=Text("Page tables fill the memory", "页表占满内存"),
        what=Text(
            "Many processes map the same large memory. Each has page tables of its own: 2 MiB for each GiB.",
            "大量进程映射同一大块内存，各有自己的页表：每 GiB 约 2 MiB。",
        ),
        fix=Text(
            "Use huge pages for the shared memory (huge_pages of PostgreSQL), or fewer processes (a connection pool).",
            "共享内存使用大页（如 PostgreSQL 的 huge_pages），或减少进程（连接池）。",
        ),
        risk=Text(
            "Reserved huge pages serve nothing else. Rollback: 0.", "预留的大页不能他用。回退：设为 0。"
        ),
        verify=Text("PageTables falls after the restart.", "重启后 PageTables 下降。"),
        explains=_SHORT,
    ),
    Cause(
        id="memory-file-system-large",
        title=Text("Files in memory fill the memory", "内存文件占满内存"),
        what=Text(
            "Files in a tmpfs (/dev/shm, /tmp, /run) or shared memory segments hold most of the memory.",
            "tmpfs（/dev/shm、/tmp、/run）中的文件或共享内存段占用大部分内存。",
        ),
        fix=Text(
            "Delete what is not needed (du -x, ipcs -m). Limit the file system: mount -o remount,size=.",
            "删除不需要的内容（du -x、ipcs -m），并限制大小：mount -o remount,size=。",
        ),
        risk=Text("Deleted data is gone. Rollback: the old size.", "删除的数据无法恢复。回退：恢复旧大小。"),
        verify=Text("Shmem falls and memory is available.", "Shmem 下降，内存可用。"),
        explains=(*_SHORT, "memcg-oom-kill", "memcg-page-cache-thrashing"),
        proven_by=("library-readings",),
    ),
    Cause(
        id="huge-pages-unused",
        title=Text("Huge pages are reserved and not used", "预留的大页未被使用"),
        what=Text(
            "vm.nr_hugepages reserves memory that no program uses and nothing else can have.",
            "vm.nr_hugepages 预留了没有程序使用、也不能他用的内存。",
        ),
        fix=Text(
            "Reduce vm.nr_hugepages to what is used (HugePages_Total - HugePages_Free), or let the service use them.",
            "将 vm.nr_hugepages 降到实际用量（HugePages_Total - HugePages_Free），或让服务使用它们。",
        ),
        risk=Text(
            "A service that starts later may find none. Rollback: the old number, best at boot.",
            "之后启动的服务可能分不到。回退：恢复旧值，最好在启动时设置。",
        ),
        verify=Text("MemAvailable rises by the difference.", "MemAvailable 相应增加。"),
        explains=_SHORT,
    ),
    Cause(
        id="memory-fragmented",
        title=Text("Memory is fragmented", "内存碎片化"),
        what=Text(
            "There is free memory, but not in one piece. Allocations of the kernel stop to move pages.",
            "有空闲内存但不连续，内核分配（网络、磁盘）需停下来移动页面。",
        ),
        fix=Text(
            "Raise vm.min_free_kbytes so that kcompactd works ahead. Use a smaller MTU or buffers than jumbo frames.",
            "提高 vm.min_free_kbytes 以便 kcompactd 提前规整；巨帧改用较小 MTU 或缓冲。",
        ),
        risk=Text(
            "The reserve is taken from programs. Rollback: the old value.", "会占用程序内存。回退：恢复旧值。"
        ),
        verify=Text("compact_stall does not grow.", "compact_stall 不再增长。"),
        mechanisms=("fault", "running"),
    ),
    Cause(
        id="transparent-huge-pages",
        title=Text("Transparent huge pages stall programs", "透明大页造成停顿"),
        what=Text(
            "A page fault tries to build a huge page of 2 MiB at once and compacts memory for it.",
            "缺页时试图立即拼出 2 MiB 大页，并为此规整内存。",
        ),
        fix=Text(
            "Write madvise to /sys/kernel/mm/transparent_hugepage/enabled, and defer to defrag.",
            "向 /sys/kernel/mm/transparent_hugepage/enabled 写 madvise，向 defrag 写 defer。",
        ),
        risk=Text(
            "Programs with large heaps may lose some speed. Rollback: the old words.",
            "大堆程序可能略微变慢。回退：写回旧值。",
        ),
        verify=Text(
            "compact_stall does not grow, and the latency is even.", "compact_stall 不再增长，延迟平稳。"
        ),
        mechanisms=("fault", "running"),
    ),
    Cause(
        id="swap-despite-free-memory",
        title=Text("The host swaps although there is memory", "内存充足仍在交换"),
        what=Text(
            "The kernel swaps programs out for the page cache (vm.swappiness), or a NUMA node or zone is full.",
            "内核为页缓存换出程序（vm.swappiness），或某个 NUMA 节点或内存区已满。",
        ),
        fix=Text(
            "Lower vm.swappiness (1 to 10 on servers). See numastat for a node that is full.",
            "降低 vm.swappiness（服务器用 1～10），并用 numastat 查看是否有节点已满。",
        ),
        risk=Text(
            "The page cache is reclaimed earlier. Rollback: the old value.",
            "页缓存会更早被回收。回退：恢复旧值。",
        ),
        verify=Text("pswpin stays near 0.", "pswpin 接近 0。"),
        explains=("swap-thrashing", "major-fault-thrashing", "direct-reclaim-stall"),
        mechanisms=("fault", "disk"),
    ),
    Cause(
        id="memcg-page-cache-thrashing",
        title=Text("The group is too small for the files that it reads", "控制组放不下其读取的文件"),
        what=Text(
            "At the memory limit, each page that is read evicts another. read() waits for the disk.",
            "达到内存限额后，每读入一页就逐出很快又要用的另一页，read() 在等待磁盘。",
        ),
        fix=Text(
            "Raise the limit until the refaults end, or reduce what the group keeps besides (heap, shared buffers).",
            "提高限额直至重读消失，或减少该组其他占用（堆、共享缓冲）。",
        ),
        risk=Text(
            "This takes memory from neighbors. Rollback: the old limit.", "会占用邻居内存。回退：恢复旧限额。"
        ),
        verify=Text("Refaults of the group are near 0 under the same load.", "相同负载下该组重读接近 0。"),
        explains=(
            *("major-fault-thrashing", "disk-saturation", "dstate-pileup", "io-throttled-by-cgroup"),
            *("worker-pool-exhausted", "direct-reclaim-stall"),
        ),
        mechanisms=("disk", "fault"),
        proven_by=("memcg-page-cache-thrash",),
    ),
)
