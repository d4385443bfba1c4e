"""Cost of a capture on its host: how much slower a reference workload becomes, CPU, bytes sent, bytes on disk.

    ./culprit bench cost [--plans triage cpu sched] [--pairs 6] [--seconds 10]

A reference workload of fixed units of work (hashing, arithmetic, system calls, memory) keeps every CPU busy; its speed
is the number of units per second of wall time. Each pair is three consecutive windows: A, C and B, then B, C and A, and
so on. Only B has a capture, and C is between A and B; 1 - B/C is the slow-down. 1 - A/C is the control: the same
comparison without a capture. B is the whole run, from its start to the exit of its last process; A and C are as long
as the run before the first pair.

The runner is the one that the server sends, started by /bin/sh as sshd would start it; sshd itself is not included.
CPU is the time that the kernel charged to all processes of the run. The interrupts of perf's sampling are charged
to the interrupted processes: they appear in the slow-down, and in the work of the workload per second of its CPU time.
That second figure does not depend on the CPU use of other processes, so it is stable on a shared machine. Takes about
pairs * 3 * (seconds + 3) seconds per plan.
"""

from __future__ import annotations

import argparse
import contextlib
import hashlib
import mmap
import os
import signal
import statistics
import struct
import sys
import time
import uuid
from dataclasses import dataclass
from types import TracebackType

from bench.support.own_capture import (
    PR_SET_CHILD_SUBREAPER,
    PR_SET_PDEATHSIG,
    OwnCaptureResult,
    read_cpu_s,
    retry_occupied,
    run_capture,
    sample_disk_peak,
    set_process_option,
)
from collectors.contract import Tier
from collectors.plans import PLANS, Plan, scale_plan
from collectors.registry import COLLECTORS
from collectors.runner import program

MAX_SLOWDOWN = {Tier.LIGHT: 0.01, Tier.STANDARD: 0.03, Tier.DEEP: 0.25}
CPUS = len(os.sched_getaffinity(0))
SLOT_BYTES = 64  # one cache line for each counter
REST_S = 0.7


class Workload:
    """One busy process per CPU, with a counter of completed units of work."""

    def __init__(self) -> None:
        self.counters = mmap.mmap(-1, SLOT_BYTES * CPUS)
        self.pids: list[int] = []

    def __enter__(self) -> Workload:
        for at in range(CPUS):
            pid = os.fork()
            if pid == 0:
                with contextlib.suppress(BaseException):
                    set_process_option(PR_SET_PDEATHSIG, signal.SIGKILL)
                    self._run_forever(at)
                os._exit(1)
            self.pids.append(pid)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for pid in self.pids:
            os.kill(pid, signal.SIGKILL)
            os.waitpid(pid, 0)

    def _run_forever(self, at: int) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)
        memory = bytearray(32 << 20)
        block = bytes(64 << 10)
        zero = os.open("/dev/zero", os.O_RDONLY)
        done = 0
        while True:
            hashlib.sha256(block).digest()
            total = 0
            for n in range(4000):
                total += n * n ^ total
            for _ in range(150):
                os.read(zero, 512)
                os.lstat("/proc/self")
            start = (done << 20) % len(memory)
            memory[start : start + (1 << 20)] = memory[-1 << 20 :]
            done += 1
            struct.pack_into("Q", self.counters, at * SLOT_BYTES, done)

    def read_cpu_s(self) -> float:
        """Return the CPU seconds of all processes so far."""
        return sum(read_cpu_s(pid) for pid in self.pids)

    def count_done(self) -> int:
        """Return the completed units of work of all processes so far."""
        return sum(struct.unpack_from("Q", self.counters, at * SLOT_BYTES)[0] for at in range(CPUS))


@dataclass(frozen=True, slots=True)
class WorkloadWindow:
    """Result of a window: units of work per second of wall time and per CPU second, and the CPU share (0 to 1)."""

    rate: float
    per_cpu_s: float
    share: float


@dataclass(frozen=True, slots=True)
class WindowStart:
    """The counters at the start of a window."""

    work: Workload
    done: int
    cpu_s: float
    at: float

    @classmethod
    def read_counters(cls, work: Workload) -> WindowStart:
        """Read the counters after a pause of REST_S."""
        time.sleep(REST_S)
        return cls(work, work.count_done(), work.read_cpu_s(), time.monotonic())

    def finish_window(self) -> WorkloadWindow:
        """Return the window that ends now."""
        took, done = time.monotonic() - self.at, self.work.count_done() - self.done
        cpu = self.work.read_cpu_s() - self.cpu_s
        return WorkloadWindow(done / took, done / cpu, cpu / took / CPUS)


def measure_window(work: Workload, seconds: float) -> WorkloadWindow:
    """Measure a window without a capture."""
    start = WindowStart.read_counters(work)
    time.sleep(seconds)
    return start.finish_window()


@dataclass(frozen=True, slots=True)
class PlanCost:
    """The cost of a plan: one value of each comparison per pair, and its runs."""

    plan: Plan
    slowdowns: list[float]
    control: list[float]
    cpu_costs: list[float]
    cpu_cost_controls: list[float]
    runs: list[OwnCaptureResult]
    disk: int
    cpu_shares: list[float]


def measure_plan(work: Workload, plan: Plan, pairs: int) -> PlanCost:
    """Measure a plan: a warm-up run, which determines window length and disk usage, then the pairs."""
    jobs = [
        program.CollectorJob.of(COLLECTORS[collector.id], collector.seconds) for collector in plan.collectors
    ]
    disk: list[int] = []
    with sample_disk_peak(run := str(uuid.uuid4()), disk):
        window = retry_occupied(lambda: run_capture(jobs, run)).seconds
    runs: list[OwnCaptureResult] = []

    def measure_capture_window() -> WorkloadWindow:
        start = WindowStart.read_counters(work)
        result = run_capture(jobs, str(uuid.uuid4()))
        runs.append(result)
        return start.finish_window()

    slowdowns, control = [], []
    cpu_costs, cpu_cost_controls = [], []
    cpu_shares: list[float] = []
    for pair in range(pairs):
        if pair % 2 == 0:
            a, c, b = (
                measure_window(work, window),
                measure_window(work, window),
                retry_occupied(measure_capture_window),
            )
        else:
            b, c, a = (
                retry_occupied(measure_capture_window),
                measure_window(work, window),
                measure_window(work, window),
            )
        slowdowns.append(1 - b.rate / c.rate)
        control.append(1 - a.rate / c.rate)
        cpu_costs.append(1 - b.per_cpu_s / c.per_cpu_s)
        cpu_cost_controls.append(1 - a.per_cpu_s / c.per_cpu_s)
        cpu_shares += [a.share, c.share]
        sys.stderr.write(f"{plan.id} pair {pair + 1}: {slowdowns[-1]:+.2%}, control {control[-1]:+.2%}\n")
    return PlanCost(plan, slowdowns, control, cpu_costs, cpu_cost_controls, runs, disk[0], cpu_shares)


def format_spread(values: list[float]) -> str:
    """Format the median and the range in percent."""
    return f"{statistics.median(values):+.1%} [{min(values):+.1%} to {max(values):+.1%}]"


def judge_goal(plan_cost: PlanCost) -> str:
    """Return whether the goal is met (even by the worst pair), missed (even by the best pair), or not decided.

    With n pairs, the range contains the true median in all but 2 ** (1 - n) of cases. If the control deviates by more
    than the goal or the slow-down, the goal is not decided.
    """
    goal = MAX_SLOWDOWN[plan_cost.plan.tier]
    noise = max(abs(value) for value in plan_cost.control)
    middle = statistics.median(plan_cost.slowdowns)
    below = "; the slow-down is below the noise" if abs(middle) <= noise else ""
    if max(plan_cost.slowdowns) <= goal and noise <= goal:
        return f"met{below}"
    if min(plan_cost.slowdowns) > goal and not below:
        return "missed"
    if noise > goal:
        return f"not decided: noise of {noise:.1%}{below}"
    return f"not decided: median {'within' if middle <= goal else 'above'} it{below}"


def format_row(plan_cost: PlanCost) -> str:
    """Format one line of the table."""

    def middle(values: list[float]) -> float:
        return statistics.median(values)

    cpu = middle([run.cpu_s for run in plan_cost.runs])
    share = middle([run.cpu_s / run.seconds for run in plan_cost.runs])
    cells = [
        f"{plan_cost.plan.id} ({plan_cost.plan.tier.value})",
        format_spread(plan_cost.slowdowns),
        format_spread(plan_cost.control),
        format_spread(plan_cost.cpu_costs),
        format_spread(plan_cost.cpu_cost_controls),
        f"<= {MAX_SLOWDOWN[plan_cost.plan.tier]:.0%}: {judge_goal(plan_cost)}",
        f"{middle([run.seconds for run in plan_cost.runs]):.1f}",
        f"{cpu:.2f}",
        f"{share:.1%} of one, {share / CPUS:.1%} of all",
        f"{middle([run.own_cpu_s for run in plan_cost.runs]):.2f}",
        f"{middle([run.collectors_cpu_s for run in plan_cost.runs]):.2f}",
        f"{middle([run.sent for run in plan_cost.runs]) / 1e3:,.0f}",
        f"{plan_cost.disk / 1e3:,.0f}",
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--plans", nargs="+", default=["triage", "cpu", "sched"], choices=sorted(PLANS))
    ask.add_argument("--pairs", type=int, default=6)
    ask.add_argument("--seconds", type=int, default=10)
    chosen = ask.parse_args()
    load = os.getloadavg()[0]
    set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    with Workload() as work:
        time.sleep(2)
        plans = [
            measure_plan(work, scale_plan(PLANS[name], chosen.seconds), chosen.pairs) for name in chosen.plans
        ]
    cpu_shares = [share for plan in plans for share in plan.cpu_shares]
    print(
        f"{chosen.pairs} pairs, captures of {chosen.seconds} s, {CPUS} CPUs, all busy; Linux {os.uname().release};"
        f" load average {load:.1f} before the workload began. Without a capture the workload had"
        f" {statistics.median(cpu_shares):.1%} of the CPUs, {min(cpu_shares):.1%} in the worst window;"
        " the rest went to other work.\n"
    )
    head = (
        "plan", "slow-down: median [range]", "control, no capture", "work per CPU second, less by", "its control",
        "goal", "wall s", "CPU s",
        "CPU, share while it ran", "CPU s, as the run reports it", "of that collectors", "kB sent",
        "kB on disk at peak",
    )  # fmt: skip
    print(f"| {' | '.join(head)} |\n|{'---|' * len(head)}")
    for plan in plans:
        print(format_row(plan))
    for plan in plans:
        limits = ", ".join(sorted({run.limiter for run in plan.runs}))
        missing = sorted({name for run in plan.runs for name in run.failed})
        without = f"; not done: {', '.join(missing)}" if missing else ""
        print(f"\n{plan.plan.id}: limits by {limits}{without}.", end="")
    print()


if __name__ == "__main__":
    main()
