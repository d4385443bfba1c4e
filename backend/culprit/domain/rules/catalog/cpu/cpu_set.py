"""Rules about sets of CPUs that are too small for the threads that must use them."""

from __future__ import annotations

from collectors.contract import Text
from culprit.domain.rules.finding import Strength
from culprit.domain.rules.measures.cpu import wait
from culprit.domain.rules.measures.cpu.cpu_set import IDLE_OUTSIDE
from culprit.domain.rules.measures.cpu.run_queue import LEAST_WAITING
from culprit.domain.rules.rule import Condition, Rule, Threshold
from culprit.domain.rules.use_method import Use

RULES: tuple[Rule, ...] = (
    Rule(
        id="F-CPU-SET-FULL",
        title=Text(
            "Threads wait inside a set of CPUs while others are idle", "线程在 CPU 集合内等待，集合外却空闲"
        ),
        summary=Text(
            "Threads of {name} fill the {cpus} CPUs that they may use and wait. The other {others} CPUs of the host "
            "have {idle} CPUs of idle time: {value} % of what the set has.",
            "{name} 的线程占满其可用的 {cpus} 个 CPU 并在等待；主机其余 {others} 个 CPU 共空闲 {idle} 个，"
            "相当于该集合的 {value}%。",
        ),
        measure=IDLE_OUTSIDE,
        op=">=",
        thresholds=(
            ("warn", Threshold("warn", 10.0, "with less, the work would not be a tenth faster (Amdahl)")),
        ),
        also=(
            Condition(
                wait.OWN_SHARE,
                ">=",
                Threshold(
                    "own_share_pct", 50.0, "the threads themselves use most of the set, not other processes"
                ),
            ),
            Condition(wait.LOST, ">", Threshold("lost_pct", 50.0, "threads wait longer than they run")),
            Condition(
                wait.WAITING,
                ">=",
                Threshold("waiting", LEAST_WAITING, "with less, no thread lost a tenth of its time"),
            ),
        ),
        strength=Strength.MECHANISM,
        use=Use("cpu", "saturation"),
        suspects=("cpuset-too-small",),
        causes=("cpuset-too-small",),
        refutes=("cpuset-too-small",),
        caveats=Text(
            "A set may be meant to keep other CPUs free for another service.",
            "该集合可能是有意为其他服务保留 CPU。",
        ),
        source="cpuset.cpus and Cpus_allowed_list, schedstat of the group, /proc/stat of each CPU",
    ),
)
