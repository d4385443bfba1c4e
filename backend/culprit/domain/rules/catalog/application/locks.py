"""Rules about locks: threads and requests that wait inside a process."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.application import calls, waits
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
)
