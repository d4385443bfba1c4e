"""Rules about profiles: hot functions, what changed, locks, and whether the stacks can be believed."""

from __future__ import annotations

from collectors.contract import Text
from culprit.core.rules.contract import Condition, Grade, Limit, Over, Rule
from culprit.core.rules.measures import cpu_profile as profile

_BUSY = (Over("cpu.total_busy_pct", "mean"), Over("sched.runq_per_cpu", "held"))

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-FLAME-HOT-FUNCTION",
        title=Text("One function takes most of a service's CPU", "单个函数占据服务的大部分 CPU"),
        says=Text(
            "{value} % of the {samples} samples of this service end in {function}.",
            "该服务 {samples} 个采样中有 {value}% 落在 {function}。",
        ),
        measure=profile.HOT_FUNCTION,
        op=">",
        levels=(
            (
                "warn",
                Limit(
                    "warn",
                    60.0,
                    "own: more than all other functions together, beyond the error of 100 samples",
                ),
            ),
            ("critical", Limit("critical", 90.0, "own: hardly anything else")),
        ),
        also=(Condition(profile.SERVING_CPU, ">", Limit("cpu_pct", 10.0, "below, it burns nobody's CPU")),),
        grade=Grade.MECHANISM,
        beside=_BUSY,
        causes=("cpu-hot-function",),
        refutes=("cpu-hot-function",),
        traps=Text(
            "A batch job is one hot loop by nature: only programs that serve are judged. Loops of interpreters do not"
            " count. Without an earlier profile nobody can say that it was different before.",
            "批处理本就是一个热循环：只判断提供服务的程序，且不计解释器循环。没有先前的采样则无法断言是否变化。",
        ),
        source="own time of functions of programs with a listening socket; controls of the lab are at 25 to 30 %",
    ),
    Rule(
        id="F-FLAME-DIFF",
        title=Text("A function's share of the CPU grew", "函数的 CPU 占比增长"),
        says=Text(
            "{function} grew by {value} points of the CPU samples, from {before} % to {share} %.",
            "{function} 的采样占比增长 {value} 个百分点，由 {before}% 升至 {share}%。",
        ),
        measure=profile.CHANGED,
        op=">",
        levels=(("info", Limit("info", 5.0, "playbook: 5 points of 500 samples each")),),
        also=(
            Condition(
                profile.SAMPLES,
                ">",
                Limit("samples", 0.0, "there is a profile to compare with"),
                against="baseline",
            ),
        ),
        grade=Grade.CORRELATIONAL,
        traps=Text("Another mix of work moves shares as well.", "负载构成变化也会改变占比。"),
        source="two CPU profiles of the same host",
    ),
    Rule(
        id="F-LOCK-FUTEX-BUSY",
        title=Text("Threads go in and out of futex waits", "线程频繁进出 futex 等待"),
        says=Text(
            "{value} threads of {name} are mostly found in a futex and wake up all the time.",
            "{name} 有 {value} 个线程大多停在 futex 且不断被唤醒。",
        ),
        measure=profile.PARKED,
        op=">=",
        levels=(("info", Limit("info", 4.0, "own: a handful of workers")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "Workers without work park there too: only the stacks tell.",
            "空闲的工作线程也停在这里：须看调用栈。",
        ),
        source="/proc/PID/task/*/wchan ten times a second",
    ),
    Rule(
        id="F-LOCK-OFFCPU",
        title=Text("Threads wait for a lock", "线程等待锁"),
        says=Text(
            "At a moment {value} threads wait for a lock that another holds ({frames}).",
            "任一时刻有 {value} 个线程在等待他人持有的锁（{frames}）。",
        ),
        measure=profile.LOCK_WAITERS,
        op=">",
        levels=(
            ("warn", Limit("warn", 2.0, "own: at any moment somebody queues behind somebody who queues")),
            ("critical", Limit("critical", 8.0, "own: a whole pool")),
        ),
        grade=Grade.MECHANISM,
        beside=_BUSY,
        causes=("lock-contention",),
        refutes=("lock-contention",),
        refuted_by=("F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING"),
        traps=Text(
            "Who holds the lock may itself be waiting for a CPU.",
            "持锁者自身可能正在等待 CPU。",
        ),
        source="time off the CPU below functions that take locks, waits on conditions left out",
    ),
    Rule(
        id="F-LOCK-JAVA-MONITOR",
        title=Text("Java threads wait for one monitor", "Java 线程等待同一监视器"),
        says=Text(
            "{value} threads wait for a {lock} that {owner} holds.",
            "{value} 个线程在等待 {owner} 持有的 {lock}。",
        ),
        measure=profile.JAVA_LOCKS,
        op=">=",
        levels=(
            ("warn", Limit("warn", 4.0, "own: a handful of workers behind one")),
            ("critical", Limit("critical", 16.0, "own: a whole pool")),
        ),
        grade=Grade.DIRECT,
        beside=_BUSY,
        causes=("lock-contention",),
        refutes=("lock-contention",),
        refuted_by=("F-THREADS-OVERSUB", "F-CPU-THROTTLED-WAITING"),
        traps=Text(
            "One dump is one moment; the safepoint itself may gather waiters.",
            "一次转储仅是一个瞬间，安全点也可能聚集等待者。",
        ),
        source="`waiting to lock` and the owner of the monitor in a thread dump",
    ),
    Rule(
        id="F-PERF-LOST",
        title=Text("Samples were lost", "采样丢失"),
        says=Text("{value} % of the samples of {kind} were lost.", "{kind} 有 {value}% 的采样丢失。"),
        measure=profile.LOST,
        op=">",
        levels=(("info", Limit("info", 1.0, "playbook; shares of such a profile are not built on")),),
        grade=Grade.CONTEXT,
        source="perf's own count of lost records",
    ),
    Rule(
        id="F-PERF-UNKNOWN-FRAMES",
        title=Text("Many samples have no function name", "大量采样缺少函数名"),
        says=Text(
            "{value} % of the samples of {kind} have no function name.",
            "{kind} 有 {value}% 的采样没有函数名。",
        ),
        measure=profile.UNKNOWN,
        op=">",
        levels=(("info", Limit("info", 30.0, "playbook: symbols or frame pointers are missing")),),
        grade=Grade.CONTEXT,
        traps=Text(
            "JIT without a perf map, stripped binaries, code built without frame pointers.",
            "JIT 无 perf map、符号被剥离，或编译时省略帧指针。",
        ),
        source="frames that the reader could not name",
    ),
    Rule(
        id="F-CAPTURE-DISTURBED",
        title=Text("The capture itself took much CPU", "采集自身占用较多 CPU"),
        says=Text("The capture used {value} CPUs.", "采集占用 {value} 个 CPU。"),
        measure=profile.CAPTURE_COST,
        op=">",
        levels=(("info", Limit("info", 1.0, "playbook: more than one CPU")),),
        grade=Grade.CONTEXT,
        traps=Text("Rates during the capture are the capture's too.", "采集期间的速率包含采集自身。"),
        source="CPU time of the runner's control group",
    ),
)
