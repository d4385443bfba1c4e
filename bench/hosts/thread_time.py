"""Time of threads as the light collector divides it, against a trace of the scheduler, on ten workloads.

    ./culprit bench thread_time [--seconds 10] [--only mutex direct]

Each workload is a real program of `bench/support/waits`. At the same time the collector samples the whole host, and
perf records every switch of the program's threads with kernel stacks. The trace cannot tell what a futex is for, nor a
socket or a poll: these are compared as one kind each. `own` is the CPU time that the program's own counters
(schedstat) show over the trace, which decides where both differ.
"""

from __future__ import annotations

import argparse
import os
import tempfile
import time
from collections import defaultdict
from dataclasses import dataclass
from pathlib import Path

from bench.support import scheduler_trace, waiting_programs
from bench.support.waiting_programs import WaitingProgram
from collectors.catalog.cpu.proc_threads import COLLECTOR
from collectors.contract import Script
from collectors.tests.record_fixtures import run_script
from collectors.tests.support import BytesPart, context, read_rows

WORKLOADS = ("mutex", "pool", "compute-sleep", "spin", "direct", "fsync", "faults", "ask", "pipe", "flock")
GOAL_POINTS = 5.0
#: Activities of the collector by the kinds that a trace can tell.
KINDS = {
    "condition": "futex", "park": "futex", "semaphore": "futex", "peer": "socket", "client": "socket", "dns": "socket",
    "lock": "futex",
}  # fmt: skip


@dataclass(frozen=True, slots=True)
class Comparison:
    """Shares of the time of one program in percent: sampled, traced; and its CPU time by its own counters."""

    name: str
    sampled: dict[str, float]
    traced: dict[str, float]
    own_running: float
    samples: int
    cpu_s: float

    @property
    def difference(self) -> float:
        """Return the largest difference of a share in points."""
        kinds = self.sampled.keys() | self.traced.keys()
        return max(abs(self.sampled.get(kind, 0.0) - self.traced.get(kind, 0.0)) for kind in kinds)


def compare_program(program: WaitingProgram, directory: Path, seconds: int) -> Comparison:
    """Sample and trace one program."""
    with waiting_programs.run_program(program, directory) as child:
        time.sleep(0.5)
        tids = sorted(int(entry.name) for entry in Path(f"/proc/{child.pid}/task").iterdir())
        trace = scheduler_trace.start_trace(tids, seconds + 1.0, directory / "perf.data")
        time.sleep(0.5)
        before, began = read_run_s(child.pid), time.monotonic()
        used = os.times()
        method = COLLECTOR.methods[0]
        assert isinstance(method, Script)
        left = run_script(COLLECTOR, method, seconds, "dash")
        ended = time.monotonic()
        cost = os.times()
        own = (read_run_s(child.pid) - before) / (ended - began) / len(tids)
        trace.wait()
    events = list(scheduler_trace.read_events(directory / "perf.data"))
    traced = scheduler_trace.sum_times(events, tids, (began, ended))
    parsed = COLLECTOR.parse({"stdout": BytesPart(left.parts["stdout"])}, context())
    rows = [row for row in read_rows(parsed, "thread_time") if row["pid"] == child.pid]
    [process] = [row for row in read_rows(parsed, "process_time") if row["pid"] == child.pid]
    sampled: dict[str, float] = defaultdict(float)
    for row in rows:
        sampled[name_kind(row)] += 100.0 * row["time_ms"] / process["wall_ms"]
    whole = sum(traced.values())
    shares = {kind: 100.0 * value / whole for kind, value in merge_kinds(traced, sampled).items()}
    spent = cost.children_user + cost.children_system - used.children_user - used.children_system
    return Comparison(program.name, dict(sampled), shares, 100.0 * own, process["samples"], spent)


def name_kind(row: dict[str, object]) -> str:
    """Return the kind of a row that a trace can tell."""
    if row["detail"] == "poll":
        return "poll"
    if row["activity"] == "lock" and row["detail"] != "futex":
        return "lock"
    return KINDS.get(str(row["activity"]), str(row["activity"]))


def merge_kinds(traced: dict[str, float], sampled: dict[str, float]) -> dict[str, float]:
    """Count a thread without any event as what it was sampled in: it has waited there all along."""
    idle = traced.pop("no event", 0.0)
    if idle:
        waits = {kind: value for kind, value in sampled.items() if kind not in {"running", "runnable"}}
        largest = max(waits, key=lambda kind: waits[kind], default="unknown")
        traced[largest] = traced.get(largest, 0.0) + idle
    return traced


def read_run_s(pid: int) -> float:
    """Return the CPU time of all threads of a process."""
    return (
        sum(int(file.read_text().split()[0]) for file in Path(f"/proc/{pid}/task").glob("*/schedstat")) / 1e9
    )


def format_shares(comparison: Comparison) -> str:
    """Return the shares side by side: sampled / traced."""
    kinds = sorted(
        comparison.sampled.keys() | comparison.traced.keys(),
        key=lambda kind: -max(comparison.sampled.get(kind, 0.0), comparison.traced.get(kind, 0.0)),
    )
    return ", ".join(
        f"{kind} {comparison.sampled.get(kind, 0.0):.1f} / {comparison.traced.get(kind, 0.0):.1f}"
        for kind in kinds
        if max(comparison.sampled.get(kind, 0.0), comparison.traced.get(kind, 0.0)) >= 0.5
    )


def main() -> None:
    """Measure, and print a table for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--seconds", type=int, default=10)
    ask.add_argument("--only", nargs="+", default=list(WORKLOADS), choices=WORKLOADS)
    chosen = ask.parse_args()
    load = os.getloadavg()[0]
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        waiting_programs.build_programs(directory)
        programs = [waiting_programs.BY_NAME[name] for name in chosen.only]
        print(f"{chosen.seconds} s each, Linux {os.uname().release}, load average {load:.1f} before.\n")
        print(
            "| workload | sampled / traced, % of the time of its threads | own CPU time | samples | points |"
        )
        print("|---|---|---|---|---|")
        results = []
        for program in programs:
            result = compare_program(program, directory, chosen.seconds)
            results.append(result)
            cells = (
                program.name,
                format_shares(result),
                f"{result.own_running:.1f}",
                result.samples,
                f"{result.difference:.1f}",
            )
            print("| " + " | ".join(map(str, cells)) + " |", flush=True)
    within = sum(result.difference <= GOAL_POINTS for result in results)
    cpu = sum(result.cpu_s for result in results) / len(results)
    print(
        f"\nWithin {GOAL_POINTS:.0f} points: {within} of {len(results)}. CPU of the collector: {cpu:.2f} s each."
    )


if __name__ == "__main__":
    main()
