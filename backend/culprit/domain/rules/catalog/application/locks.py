"""Rules about locks: threads and requests that wait inside a process."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import calls, growth, waits
from culprit.domain.rules.measures.cpu import lock_queues
from culprit.domain.rules.measures.service_time import shares
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

_MOST_THREADS = Threshold("warn", 50.0, "more than half of the serving threads")
#: Several requests wait in a process that waits for no peer and leaves CPUs idle.
_WAIT_INSIDE = (
    Condition(waits.HELD, ">=", Threshold("held", 3.0, "two requests are no queue")),
    Condition(waits.ELSEWHERE, "<", Threshold("elsewhere", 1.0, "otherwise they wait for a peer")),
    Condition(
        waits.CPU_OF, "<", Threshold("cpu", 80.0, "percent of all CPUs: above, the threads wait for a CPU")
    ),
)

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-LOCK-FUTEX-PILEUP",
        title=Text("Request threads wait for a lock", "请求线程在等待锁"),
        summary=Text(
            "{stuck} of {threads} active threads of {name} ({value} %) wait in futex most of the "
            "time, while requests are in progress and the CPU is idle.",
            "{name} 的 {threads} 个活跃线程中有 {stuck} 个（{value} %）大部分时间停在 "
            "futex；此时有请求在处理，而 CPU 空闲。",
        ),
        measure=waits.PILEUP,
        op=">=",
        thresholds=(("warn", _MOST_THREADS),),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                waits.STUCK_PER_REQUEST,
                "<=",
                Threshold("stuck", 2.0, "more are parked because they have no work"),
            ),
            Condition(
                waits.STUCK_PER_TAKEN,
                ">=",
                Threshold(
                    "taken", 0.5, "half of the requests at least: a lock keeps a thread for each of them"
                ),
            ),
            *_WAIT_INSIDE,
        ),
        causes=("lock-contention",),
        harm=True,
        caveats=Text(
            "Thread pools also park idle threads on futexes. The share of futex calls is not evidence.",
            "线程池的空闲线程也停在 futex；futex 调用的占比不能作为证据。",
        ),
        source="wchan, ten times a second; healthy services have the same share, count and address "
        "of futex calls",
    ),
    Rule(
        id="F-LOCK-INSIDE",
        title=Text("Requests wait inside the process", "请求在进程内部等待"),
        summary=Text(
            "{stuck} of {threads} active threads of {name} ({value} %) wait in futex, far fewer than there are "
            "requests; none of them waits for a peer, and the CPU is idle.",
            "{name} 的 {threads} 个活跃线程中有 {stuck} 个（{value} %）停在 futex，远少于请求数；"
            "请求并未等待对端，CPU 空闲。",
        ),
        measure=waits.PILEUP,
        op=">=",
        thresholds=(("warn", _MOST_THREADS),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(
            Condition(
                waits.STUCK_PER_TAKEN,
                "<",
                Threshold("taken", 0.5, "a runtime that parks requests instead of threads (Go, coroutines)"),
            ),
            *_WAIT_INSIDE,
        ),
        causes=("lock-contention",),
        refutes=(),
        caveats=Text(
            "Idle threads of such a runtime park on futexes too. Requests may also wait for a timer, or for another "
            "request such as a job in a queue.",
            "此类运行时的空闲线程同样停在 futex。请求也可能在等待定时器，或等待队列中的作业等其他请求。",
        ),
        source="wchan, ten times a second; requests on the connections of the process. Go: runtime/proc.go parks "
        "goroutines and not threads",
    ),
    Rule(
        id="F-LOCK-FUTEX-LONG",
        title=Text("A long wait in futex", "futex 等待过长"),
        summary=Text(
            "A thread waited {value} ms at {address} until thread {waker} woke it.",
            "线程在 {address} 等待 {value} ms，之后由线程 {waker} 唤醒。",
        ),
        measure=calls.FUTEX_WAIT,
        op=">",
        thresholds=(("warn", Threshold("warn", 500.0, "longer than a critical section should be")),),
        strength=Strength.CORRELATIONAL,
        use=Use("application", "saturation"),
        also=(
            Condition(
                calls.FUTEX_WAKES, ">=", Threshold("wakes", 1.0, "timeouts end without a waking thread")
            ),
        ),
        causes=("lock-contention",),
        caveats=Text("Idle threads of a pool also park on futex.", "空闲的线程池工作线程也停在 futex。"),
        source="strace -f -T: waits of one thread that ended with the wake-up by another",
    ),
    Rule(
        id="F-LOCK-JAVA-QUEUE",
        title=Text("Requests queue for a lock of Java", "请求在排队等待 Java 的锁"),
        summary=Text(
            "On average {value} threads of {name} want to lock a {lock} that others hold, in {seen} of {dumps} thread "
            "dumps, while requests wait.",
            "有请求在等待时，{name} 平均有 {value} 个线程想获取被其他线程持有的 {lock}"
            "（{dumps} 次线程转储中出现 {seen} 次）。",
        ),
        measure=lock_queues.JAVA_QUEUE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 1.0, "at any time one thread waits for its turn")),
            ("critical", Threshold("critical", 8.0, "as F-LOCK-OFFCPU: a complete pool")),
        ),
        strength=Strength.MECHANISM,
        use=Use("application", "saturation"),
        also=(
            Condition(
                lock_queues.JAVA_QUEUE_SEEN,
                ">=",
                Threshold("dumps", 2.0, "a queue in a single dump may be a coincidence"),
            ),
            Condition(
                lock_queues.JAVA_QUEUE_PART,
                ">=",
                Threshold("part", 33.3, "percent of the requests that wait: they take 1.5 times as long"),
            ),
            Condition(
                shares.OLDEST,
                ">=",
                Threshold("oldest", 100.0, "milliseconds: users notice a tenth of a second (Miller 1968)"),
            ),
        ),
        causes=("lock-contention",),
        refuted_by=("F-SERVICE-INSIDE-AS-BEFORE", "F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING"),
        harm=True,
        caveats=Text(
            "The holder of the lock may itself wait, for a disk or a peer. Readers can share a lock.",
            "持锁者自身可能在等待磁盘或对端；读锁可由多个线程共享。",
        ),
        source="Thread.print of HotSpot: monitors, and locks of java.util.concurrent for which a thread parks "
        "(LockSupport.park(blocker)); an idle thread parks for a condition, a queue or a future",
    ),
    Rule(
        id="F-SERVICE-INSIDE-AS-BEFORE",
        title=Text("Requests wait inside the process as before", "请求在进程内部的等待与以前相同"),
        summary=Text(
            "On average {waiting} requests wait inside of {name} for other threads, {value} times as many as in the "
            "baseline ({before}).",
            "{name} 平均有 {waiting} 个请求在进程内部等待其他线程，是基线（{before} 个）的 {value} 倍。",
        ),
        measure=growth.INSIDE_GROWTH,
        op="<=",
        thresholds=(
            ("info", Threshold("info", 1.5, "a third of the time more, as for any part of the time")),
        ),
        strength=Strength.CONTEXT,
        use=Use("application", "saturation"),
        caveats=Text(
            "A baseline that was recorded during the incident hides it: choose one from a good time.",
            "若基线本身取自故障期间，会掩盖故障：请选择正常时段的基线。",
        ),
        source="Little's law, as F-SERVICE-SLOWER, for requests in threads that wait for another thread",
    ),
)
