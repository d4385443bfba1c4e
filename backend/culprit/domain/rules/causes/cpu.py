"""Causes about CPUs, the scheduler, locks and the machine itself."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.cause import Cause

CAUSES: tuple[Cause, ...] = (
    Cause(
        id="thread-oversubscription",
        title=Text("Too many runnable threads for the CPUs allowed", "可运行线程远超可用 CPU"),
        what=Text(
            "Many more threads want to run than the group or process may use CPUs; each waits for a"
            " long row of others"
            " before every turn, and so do the threads that serve requests.",
            "想运行的线程远多于该组或进程可用的 CPU；每个线程上 CPU 前都要等待一长串其他线程，"
            "处理请求的线程同样如此。",
        ),
        fix=Text(
            "Bound the pool: one or two threads for each CPU allowed (two to four in small containers);"
            " set GOMAXPROCS,"
            " ActiveProcessorCount or the pool size to the limit instead of the host's CPUs; queue work"
            " instead.",
            "限制线程池：每个可用 CPU 一到两个线程（小容器二到四个）；将 GOMAXPROCS、"
            "ActiveProcessorCount 或池大小设为限额"
            "而非主机 CPU 数；把任务排队。",
        ),
        risk=Text(
            "Services that mostly wait for disks or replies need more threads than CPUs: lower in steps"
            " under load. To take"
            " it back, restore the old number and restart.",
            "以等待磁盘或应答为主的服务需要多于 CPU 的线程：在负载下逐步降低。回退：恢复原值并重启。",
        ),
        verify=Text(
            "The same load again: wait before a turn below 1 ms, p99 back, the same throughput with"
            " less threads.",
            "相同负载下：每次等待低于 1 毫秒，p99 恢复，以更少线程达到同样吞吐。",
        ),
        explains=(
            "cpu-quota-throttling",
            "cpu-neighbour-contention",
            "cpu-hot-function",
            "listen-queue-overflow",
            "worker-pool-exhausted",
            "lock-contention",
        ),
        suspected_by=("F-THREADS-OVERSUB",),
        proven_by=("oversubscription", "oversubscription-blind", "neighbour-lookalike"),
    ),
    Cause(
        id="cpu-quota-throttling",
        title=Text("The CPU limit holds the group back", "CPU 限额压住该组"),
        what=Text(
            "The group uses its CPU limit up within each period and stands still until the next one;"
            " requests wait for up"
            " to a period although the host has CPUs to spare.",
            "该组在每个周期内用完 CPU 限额，随后停到下一周期；即使主机有空闲 CPU，请求也会等待近一个周期。",
        ),
        fix=Text(
            "Raise cpu.max (the limit of the container) to what the load needs at its peaks, or make"
            " requests cheaper; for"
            " short bursts give cpu.max.burst, or a weight instead of a limit.",
            "按峰值需求提高 cpu.max（容器限额），或降低请求的 CPU 成本；短时突发可用 cpu.max.burst，"
            "或以权重代替限额。",
        ),
        risk=Text(
            "What this group gains, others on the host lose: look at their waiting first. To take it"
            " back, write the old"
            " value into cpu.max.",
            "该组多得的正是同机其他组失去的：先查看它们的等待。回退：将旧值写回 cpu.max。",
        ),
        verify=Text(
            "The same load again: throttled periods near zero, wait before a turn below 1 ms.",
            "相同负载下：受限周期接近零，每次等待低于 1 毫秒。",
        ),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
        suspected_by=("F-CPU-THROTTLED", "F-CPU-THROTTLED-WAITING"),
        proven_by=("quota-throttling", "quota-throttling-blind", "oversubscription-lookalike"),
    ),
    Cause(
        id="cpu-neighbour-contention",
        title=Text("Neighbours take the CPU", "邻居抢占 CPU"),
        what=Text(
            "Other groups on the host use the CPUs that this one waits for; it has no limit that"
            " strikes and no crowd of its"
            " own threads.",
            "主机上的其他组占用了本组等待的 CPU；本组限额未生效，自身线程也不多。",
        ),
        fix=Text(
            "Give the service more weight (cpu.weight), limit the neighbours (cpu.max), or separate"
            " them (cpuset, other"
            " host); let batch work run at the lowest priority.",
            "提高该服务的权重（cpu.weight），限制邻居（cpu.max），或隔离（cpuset、另一台主机）；"
            "让批处理以最低优先级运行。",
        ),
        risk=Text(
            "The neighbours get slower, and limits waste CPUs that nobody else wants. To take it back,"
            " write the old values.",
            "邻居会变慢，且限额会浪费无人使用的 CPU。回退：写回旧值。",
        ),
        verify=Text(
            "The same load again, with the neighbour running: wait before a turn below 1 ms, latency as"
            " before.",
            "在邻居运行时以相同负载再测：每次等待低于 1 毫秒，延迟恢复。",
        ),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
        suspected_by=("F-SCHED-NEIGHBOUR",),
        proven_by=("neighbour", "neighbour-blind", "kernel-thread-lookalike"),
    ),
    Cause(
        id="cpu-hot-function",
        title=Text("One function takes most of the service's CPU", "单个函数占据服务的大部分 CPU"),
        what=Text(
            "Most of the service's CPU time is spent in one function; every request pays for it.",
            "服务的大部分 CPU 时间花在同一个函数上，每个请求都要付出这份代价。",
        ),
        fix=Text(
            "Look at the function and at how often its callers call it: a search without an index, work"
            " that is done again"
            " for every item, a missing cache; undo the release that brought it.",
            "检查该函数及其调用频率：缺少索引的查找、逐项重复的工作、缺失的缓存；回退引入它的版本。",
        ),
        risk=Text(
            "A change of code: measure with the old and the new version under the same load. To take it"
            " back, deploy the old"
            " version.",
            "属于代码变更：在相同负载下对比新旧版本。回退：部署旧版本。",
        ),
        verify=Text(
            "A differential flame graph at the same rate: the function's share is down, CPU per request too.",
            "相同速率下的差分火焰图：该函数占比下降，单请求 CPU 也下降。",
        ),
        suspected_by=("F-PROC-SERVING-BUSY",),
        tested_by=("perf_record",),
        proven_by=("hot-function",),
    ),
    Cause(
        id="kernel-thread-busy",
        title=Text("Kernel threads take the CPU", "内核线程占用 CPU"),
        what=Text(
            "Threads of the kernel use a CPU that programs wait for: merging pages, compressing,"
            " writing back, encrypting.",
            "内核线程占用了程序等待的 CPU：合并内存页、压缩、回写、加密等。",
        ),
        fix=Text(
            "Find what they work for (their name, stacks, workqueue events) and make that less: slow"
            " ksmd down or stop it,"
            " lower the level of compression, bound the writer.",
            "查明其服务对象（名称、调用栈、workqueue 事件）并减少之：放慢或停止 ksmd，降低压缩级别，"
            "限制写入者。",
        ),
        risk=Text(
            "Without merging, memory use grows; weaker compression needs more disk. To take it back,"
            " set the old values.",
            "停止合并会增加内存占用；降低压缩会占用更多磁盘。回退：恢复原值。",
        ),
        verify=Text(
            "The same load again: the thread below 5 % of a CPU, wait before a turn below 1 ms.",
            "相同负载下：该线程低于一个 CPU 的 5%，每次等待低于 1 毫秒。",
        ),
        explains=("listen-queue-overflow", "worker-pool-exhausted", "cpu-neighbour-contention"),
        suspected_by=("F-KTHREAD-STARVES", "F-KTHREAD-BUSY"),
        proven_by=("kernel-thread",),
    ),
    Cause(
        id="lock-contention",
        title=Text("Threads wait for one lock", "线程争用同一把锁"),
        what=Text(
            "Work that could be done side by side passes through one lock, one piece after the other,"
            " while the CPUs are idle.",
            "本可并行的工作须逐个通过同一把锁，而 CPU 空闲。",
        ),
        fix=Text(
            "Do less under the lock, above all no I/O and no waiting; split it by key, or use a lock"
            " that readers share.",
            "减少锁内的工作，尤其不要在锁内做 I/O 或等待；按键拆分，或使用读写锁。",
        ),
        risk=Text(
            "Narrower locks bring races: review what the lock protects, and test under load. To take it"
            " back, deploy the old"
            " version.",
            "缩小锁范围可能引入竞态：审查锁所保护的数据并在负载下测试。回退：部署旧版本。",
        ),
        verify=Text(
            "The same load again: hardly a thread waits below functions that take locks, throughput"
            " grows with threads.",
            "相同负载下：几乎没有线程停在加锁函数之下，吞吐随线程增长。",
        ),
        explains=("listen-queue-overflow", "worker-pool-exhausted"),
        suspected_by=("F-LOCK-FUTEX-BUSY",),
        tested_by=("offcpu", "jstack"),
        proven_by=("lock", "lock-blind"),
    ),
    Cause(
        id="cpu-frequency-limited",
        title=Text("The CPUs run below their clock rate", "CPU 低于额定频率运行"),
        what=Text(
            "Settings or heat keep the CPUs below the clock rate that they could run at; everything"
            " takes longer.",
            "设置或过热使 CPU 低于其可达频率，所有工作都变慢。",
        ),
        fix=Text(
            "Raise scaling_max_freq or choose another governor; against heat look at fans, dust, the"
            " room and the power cap.",
            "提高 scaling_max_freq 或更换调速器；过热则检查风扇、灰尘、机房与功率上限。",
        ),
        risk=Text(
            "More power and heat. To take it back, write the old value or governor.",
            "功耗与发热增加。回退：写回旧值或旧调速器。",
        ),
        verify=Text(
            "Clock rates under load at what the CPU can do, and no throttle events.",
            "负载下频率达到 CPU 能力，且无限频事件。",
        ),
        suspected_by=("F-CPU-FREQ-CAPPED", "F-CPU-THERMAL"),
    ),
    Cause(
        id="hypervisor-steal",
        title=Text("The hypervisor takes the CPU away", "宿主机窃取 CPU"),
        what=Text(
            "The host below runs other guests, or holds this one to its credits, while it has work to do.",
            "本机有任务待执行时，宿主机在运行其他虚拟机，或按积分限制本机。",
        ),
        fix=Text(
            "Move to another host, a larger size or one with dedicated CPUs; on burstable sizes buy"
            " credits or shed load.",
            "迁移到其他宿主机、更大规格或独享 CPU；突发型实例购买积分或减载。",
        ),
        risk=Text(
            "Costs, and a restart. To take it back, choose the old size.",
            "费用与一次重启。回退：恢复原规格。",
        ),
        verify=Text("Steal below 2 % under the same load.", "相同负载下 steal 低于 2%。"),
        suspected_by=("F-CPU-STEAL",),
    ),
    Cause(
        id="hardware-error",
        title=Text("The hardware reports errors", "硬件报错"),
        what=Text(
            "Memory, a bus or a CPU reports errors; correcting them takes time, and uncorrected ones"
            " kill processes.",
            "内存、总线或 CPU 报告错误；纠正耗时，不可纠正的错误会终止进程。",
        ),
        fix=Text(
            "Drain the host and have the part replaced that the log names (slot, bank).",
            "排空主机，更换日志所指的部件（插槽、bank）。",
        ),
        risk=Text(
            "None but the host's downtime; put it back once it has passed a memory test.",
            "仅为停机影响；通过内存测试后再投入使用。",
        ),
        verify=Text("No new errors after a day under load.", "负载下一天内无新错误。"),
        suspected_by=("F-HW-MEMORY-ERRORS", "F-HW-MACHINE-CHECK"),
        proven_by=("hardware-error",),
    ),
    Cause(
        id="clock-unsynchronised",
        title=Text("The clock is off", "时钟不同步"),
        what=Text(
            "The host's clock is off: certificates, tokens, caches and timeouts of other hosts are"
            " judged wrongly, and its"
            " logs do not fit theirs.",
            "主机时钟有偏差：证书、令牌、缓存与超时判断出错，日志也与其他主机对不上。",
        ),
        fix=Text(
            "Run one time service (chrony) with several reachable sources, and let it slew the clock.",
            "运行一个时间服务（chrony）并配置多个可达时间源，以渐进方式校正。",
        ),
        risk=Text(
            "A step back in time confuses databases and timers: slew instead. To take it back, stop the"
            " service.",
            "时间回跳会扰乱数据库与定时器：应渐进校正。回退：停止该服务。",
        ),
        verify=Text("An offset below 10 ms for an hour.", "一小时内偏差低于 10 毫秒。"),
        suspected_by=("F-CLOCK-OFFSET",),
        proven_by=("clock-off",),
    ),
)
