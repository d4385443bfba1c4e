"""Causes related to CPUs, the scheduler, locks and hardware."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="thread-oversubscription",
        title=Text("Too many runnable threads for the available CPUs", "可运行线程远超可用 CPU"),
        what=Text(
            "There are many more runnable threads than CPUs that the group or process may use. "
            "Each thread, including those that serve requests, waits for many others before each "
            "time slice.",
            "可运行线程远多于该组或进程可用的 CPU；每个线程上 CPU "
            "前都要等待许多其他线程，处理请求的线程同样如此。",
        ),
        fix=Text(
            "Limit the pool to one or two threads per available CPU (two to four in small "
            "containers). Set GOMAXPROCS, ActiveProcessorCount or the pool size from the limit "
            "instead of the host's CPUs. Queue further work.",
            "限制线程池：每个可用 CPU "
            "一到两个线程（小容器二到四个）；GOMAXPROCS、ActiveProcessorCount "
            "或池大小应按限额而非主机 CPU 数设置；其余任务排队。",
        ),
        risk=Text(
            "Services that mostly wait for disks or replies need more threads than CPUs. Reduce "
            "the number in steps under load. Rollback: restore the old number and restart.",
            "以等待磁盘或应答为主的服务需要多于 CPU 的线程：在负载下逐步降低。回退：恢复原值并重启。",
        ),
        verify=Text(
            "Capture again under the same load: wait per time slice below 1 ms, p99 back to "
            "normal, the same throughput with fewer threads.",
            "相同负载下：每次等待低于 1 毫秒，p99 恢复，以更少线程达到同样吞吐。",
        ),
        mechanisms=("runnable", "throttled"),
        explains=(
            "cpu-exhausted",
            "cpu-quota-throttling",
            "cpu-neighbour-contention",
            "cpu-hot-function",
            "listen-queue-overflow",
            "worker-pool-exhausted",
            "lock-contention",
        ),
        proven_by=("oversubscription", "oversubscription-validation", "neighbour-decoy"),
    ),
    Cause(
        id="cpu-quota-throttling",
        title=Text("The CPU limit throttles the group", "CPU 限额使该组被限流"),
        what=Text(
            "The group uses its CPU limit within each period and is then stopped until the next "
            "period. Requests wait for up to a period, although the host has idle CPUs.",
            "该组在每个周期内用完 CPU 限额，随后停止运行直到下一周期；即使主机有空闲 "
            "CPU，请求也会等待近一个周期。",
        ),
        fix=Text(
            "Raise cpu.max (the limit of the container) to the peak demand, or reduce the CPU "
            "cost of requests. For short bursts, set cpu.max.burst, or use a weight instead of a "
            "limit.",
            "按峰值需求提高 cpu.max（容器限额），或降低请求的 CPU 成本；短时突发可用 cpu.max.burst，"
            "或以权重代替限额。",
        ),
        risk=Text(
            "CPU time for this group is taken from other groups on the host. Check their wait "
            "times first. Rollback: restore the old value of cpu.max.",
            "该组增加的 CPU 时间来自同机其他组：先查看它们的等待。回退：将旧值写回 cpu.max。",
        ),
        verify=Text(
            "Capture again under the same load: throttled periods near zero, wait per time slice below 1 ms.",
            "相同负载下：受限周期接近零，每次等待低于 1 毫秒。",
        ),
        mechanisms=("throttled",),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
        proven_by=("quota-throttling", "quota-throttling-validation", "oversubscription-decoy"),
    ),
    Cause(
        id="cpuset-too-small",
        title=Text("The set of CPUs is too small", "CPU 集合太小"),
        what=Text(
            "The threads of the group may use only some CPUs, by a cpuset or their affinity. They fill these and wait, "
            "while other CPUs of the host are idle.",
            "该组线程因 cpuset 或亲和性只能使用部分 CPU：这些 CPU 被其占满且线程在等待，而主机其他 CPU 空闲。",
        ),
        fix=Text(
            "Extend the set (cpuset.cpus, CPUAffinity, taskset -p), or replace it by a weight (cpu.weight).",
            "扩大集合（cpuset.cpus、CPUAffinity、taskset -p），或改用权重（cpu.weight）。",
        ),
        risk=Text(
            "Services on the added CPUs get neighbors, and memory of other NUMA nodes may be used. Rollback: restore "
            "the old set.",
            "新增 CPU 上的服务会多出邻居，还可能用到其他 NUMA 节点的内存。回退：恢复原集合。",
        ),
        verify=Text(
            "Capture again under the same load: threads wait less than they run, and latency is back to normal.",
            "相同负载下：线程等待少于运行，延迟恢复。",
        ),
        mechanisms=("runnable",),
        explains=(
            "thread-oversubscription",
            "cpu-exhausted",
            "listen-queue-overflow",
            "worker-pool-exhausted",
        ),
        proven_by=("cpuset-too-small",),
    ),
    Cause(
        id="cpu-neighbour-contention",
        title=Text("Neighbors use the CPU", "邻居占用 CPU"),
        what=Text(
            "Other groups on the host use the CPUs for which this group waits. The group is not "
            "throttled by its own limit and does not have too many threads.",
            "主机上的其他组占用了本组等待的 CPU；本组未因自身限额被限流，线程也不多。",
        ),
        fix=Text(
            "Increase the weight of the service (cpu.weight), limit the neighbors (cpu.max), or "
            "separate them (cpuset, other host). Run batch work at the lowest priority.",
            "提高该服务的权重（cpu.weight），限制邻居（cpu.max），或隔离（cpuset、另一台主机）；"
            "让批处理以最低优先级运行。",
        ),
        risk=Text(
            "The neighbors become slower, and limits leave CPUs idle. Rollback: restore the old values.",
            "邻居会变慢，且限额会使 CPU 闲置。回退：写回旧值。",
        ),
        verify=Text(
            "Capture again under the same load while the neighbor runs: wait per time slice "
            "below 1 ms, latency back to normal.",
            "在邻居运行时以相同负载再测：每次等待低于 1 毫秒，延迟恢复。",
        ),
        mechanisms=("runnable",),
        explains=("cpu-exhausted", "listen-queue-overflow", "worker-pool-exhausted"),
        proven_by=("neighbour", "neighbour-validation", "kernel-thread-decoy"),
    ),
    Cause(
        id="cpu-exhausted",
        title=Text("The host has more work than its CPUs can do", "主机的工作量超出其 CPU"),
        what=Text(
            "All CPUs are busy, and threads wait for one as long as they run or longer. No limit holds them back: the "
            "programs of the host together want more CPU time than there is.",
            "所有 CPU 都繁忙，线程等待的时间不少于运行的时间；并非限额所致："
            "主机上的程序合计需要的 CPU 时间超过其所有。",
        ),
        fix=Text(
            "See which programs use the CPU time and which of them can move to another host or time. Give the services "
            "that matter a higher weight (cpu.weight). Then add CPUs, or profile the largest user.",
            "查看哪些程序占用 CPU 时间，哪些可移到其他主机或时段；提高重要服务的权重（cpu.weight）；"
            "然后增加 CPU，或剖析占用最多者。",
        ),
        risk=Text(
            "What gets less weight becomes slower. Rollback: restore the old weight, or start the moved program again.",
            "权重降低的程序会变慢。回退：恢复旧权重，或重新启动被移走的程序。",
        ),
        verify=Text(
            "Capture again under the same load: CPU work takes less than 1.5 times its CPU time.",
            "相同负载下：CPU 工作耗时低于其 CPU 时间的 1.5 倍。",
        ),
        mechanisms=("runnable",),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
    ),
    Cause(
        id="cpu-hot-function",
        title=Text("One function takes most of the CPU time of the service", "单个函数占据服务的大部分 CPU"),
        what=Text(
            "Most of the CPU time of the service is spent in one function. Each request pays for it.",
            "服务的大部分 CPU 时间花在同一个函数上，每个请求都要付出这份代价。",
        ),
        fix=Text(
            "Inspect the function and how often it is called: a search without an index, work "
            "that is repeated for each item, a missing cache. Roll back the release that "
            "introduced it.",
            "检查该函数及其调用频率：缺少索引的查找、逐项重复的工作、缺失的缓存；回退引入它的版本。",
        ),
        risk=Text(
            "This is a code change. Measure the old and the new version under the same load. "
            "Rollback: deploy the old version.",
            "属于代码变更：在相同负载下对比新旧版本。回退：部署旧版本。",
        ),
        verify=Text(
            "Differential flame graph at the same request rate: the share of the function and "
            "the CPU time per request are lower.",
            "相同速率下的差分火焰图：该函数占比下降，单请求 CPU 也下降。",
        ),
        mechanisms=("running",),
        explains=("cpu-exhausted",),
        tested_by=("perf_record",),
        proven_by=("hot-function",),
    ),
    Cause(
        id="kernel-thread-busy",
        title=Text("Kernel threads use the CPU", "内核线程占用 CPU"),
        what=Text(
            "Kernel threads use a CPU for which programs wait: page merging, compression, "
            "writeback, encryption.",
            "内核线程占用了程序等待的 CPU：合并内存页、压缩、回写、加密等。",
        ),
        fix=Text(
            "Find the origin of the work (thread name, stacks, workqueue events) and reduce it: "
            "slow down or stop ksmd, lower the compression level, limit the writer.",
            "查明工作的来源（线程名称、调用栈、workqueue 事件）并减少之：放慢或停止 "
            "ksmd，降低压缩级别，限制写入者。",
        ),
        risk=Text(
            "Without page merging, memory use grows. Weaker compression needs more disk space. "
            "Rollback: restore the old values.",
            "停止合并会增加内存占用；降低压缩会占用更多磁盘。回退：恢复原值。",
        ),
        verify=Text(
            "Capture again under the same load: the thread uses less than 5 % of a CPU, wait per "
            "time slice below 1 ms.",
            "相同负载下：该线程低于一个 CPU 的 5%，每次等待低于 1 毫秒。",
        ),
        mechanisms=("runnable",),
        explains=(
            "cpu-exhausted",
            "listen-queue-overflow",
            "worker-pool-exhausted",
            "cpu-neighbour-contention",
        ),
        proven_by=("kernel-thread",),
    ),
    Cause(
        id="lock-contention",
        title=Text("Threads wait for one lock", "线程争用同一把锁"),
        what=Text(
            "Work that could run in parallel passes one lock in sequence while the CPUs are idle.",
            "本可并行的工作须逐个通过同一把锁，而 CPU 空闲。",
        ),
        fix=Text(
            "Do less work under the lock, and no I/O or waits. Split the lock by key, or use a "
            "lock with shared readers.",
            "减少锁内的工作，尤其不要在锁内做 I/O 或等待；按键拆分，或使用读写锁。",
        ),
        risk=Text(
            "Smaller critical sections can cause races. Review what the lock protects and test "
            "under load. Rollback: deploy the old version.",
            "缩小锁范围可能引入竞态：审查锁所保护的数据并在负载下测试。回退：部署旧版本。",
        ),
        verify=Text(
            "Capture again under the same load: almost no thread waits below functions that take "
            "locks, and throughput grows with threads.",
            "相同负载下：几乎没有线程停在加锁函数之下，吞吐随线程增长。",
        ),
        mechanisms=("lock", "semaphore", "park", "condition"),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
        tested_by=("offcpu", "jstack"),
        proven_by=("lock", "lock-validation"),
    ),
    Cause(
        id="cpu-frequency-limited",
        title=Text("The CPUs run below their clock rate", "CPU 低于额定频率运行"),
        what=Text(
            "Settings or heat keep the CPUs below their possible clock rate. All work takes longer.",
            "设置或过热使 CPU 低于其可达频率，所有工作都变慢。",
        ),
        fix=Text(
            "Raise scaling_max_freq or select another governor. If heat is the reason, check "
            "fans, dust, room temperature and the power limit.",
            "提高 scaling_max_freq 或更换调速器；过热则检查风扇、灰尘、机房与功率上限。",
        ),
        risk=Text(
            "Power use and heat increase. Rollback: restore the old value or governor.",
            "功耗与发热增加。回退：写回旧值或旧调速器。",
        ),
        verify=Text(
            "Under load, the clock rate reaches what the CPU supports, and there are no throttle events.",
            "负载下频率达到 CPU 能力，且无限频事件。",
        ),
        mechanisms=("running", "runnable"),
        explains=("cpu-exhausted",),
    ),
    Cause(
        id="hypervisor-steal",
        title=Text("The hypervisor withholds CPU time", "宿主机占用 CPU（steal）"),
        what=Text(
            "The hypervisor runs other guests, or limits this guest by its credits, while this "
            "guest has work to do.",
            "本机有任务待执行时，宿主机在运行其他虚拟机，或按积分限制本机。",
        ),
        fix=Text(
            "Move to another physical host, a larger size or dedicated CPUs. On burstable sizes, "
            "buy credits or reduce the load.",
            "迁移到其他宿主机、更大规格或独享 CPU；突发型实例购买积分或减载。",
        ),
        risk=Text(
            "This causes costs and a restart. Rollback: select the old size.",
            "会产生费用并需要一次重启。回退：恢复原规格。",
        ),
        verify=Text("Steal below 2 % under the same load.", "相同负载下 steal 低于 2%。"),
        mechanisms=("running", "runnable"),
        explains=("cpu-exhausted",),
    ),
    Cause(
        id="hardware-error",
        title=Text("Hardware errors", "硬件错误"),
        what=Text(
            "Memory, a bus or a CPU has errors. Corrections take time, and uncorrected errors "
            "kill processes.",
            "内存、总线或 CPU 报告错误；纠正耗时，不可纠正的错误会终止进程。",
        ),
        fix=Text(
            "Drain the host and replace the part that the log names (slot, bank).",
            "排空主机，更换日志所指的部件（插槽、bank）。",
        ),
        risk=Text(
            "Only the downtime of the host. Use the host again when it has passed a memory test.",
            "仅为停机影响；通过内存测试后再投入使用。",
        ),
        verify=Text("No new errors after a day under load.", "负载下一天内无新错误。"),
        proven_by=("hardware-error",),
    ),
    Cause(
        id="clock-unsynchronised",
        title=Text("The clock has an offset", "时钟不同步"),
        what=Text(
            "The clock of the host has an offset. Checks of certificates, tokens, caches and "
            "timeouts fail, and logs do not align with those of other hosts.",
            "主机时钟有偏差：证书、令牌、缓存与超时判断出错，日志也与其他主机对不上。",
        ),
        fix=Text(
            "Run one time service (chrony) with several reachable sources, and let it slew the clock.",
            "运行一个时间服务（chrony）并配置多个可达时间源，以渐进方式校正。",
        ),
        risk=Text(
            "A clock that steps back disturbs databases and timers. Slew the clock instead. "
            "Rollback: stop the service.",
            "时间回跳会扰乱数据库与定时器：应渐进校正。回退：停止该服务。",
        ),
        verify=Text("The offset stays below 10 ms for an hour.", "一小时内偏差低于 10 毫秒。"),
        proven_by=("clock-off",),
    ),
)
