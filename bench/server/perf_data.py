"""perf.data → drawn flame graph, its text → table, and → schedule, compared with perf and inferno.

    ./culprit bench perf_data [--pairs 5] [--only fp10k fp100k deep100k fp1M dwarf2k dwarf10k machine2k sched1M]
        [--json FILE]

Recordings are of this machine under a real workload. A and B take turns on the same file; CPU is that of all processes.
A is a child of a warm process, as in the product, which reads perf.data with symbols of this machine and a stored copy
of /proc/kallsyms, and makes the first tree of a page. B is `perf script --no-inline | inferno-collapse-perf |
inferno-flamegraph`, for text inferno-collapse-perf, for schedules `perf sched timehist -s`. For copies of stacks it is
`perf script` alone, with the functions that compilers inlined and without them: of shell tools (dwarf), and of the
whole machine, as the product records it (machine).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from culprit.domain.profiles.stacks import StackProfile
from culprit.evidence.parsing.parse_profile import render_first_tree

from bench.server.profile import WORKLOAD, find_inferno
from collectors.parse.perf import perf_data
from collectors.profiles.limits import ReaderLimits, open_bounded

LIMITS = ReaderLimits(nodes=50_000_000, frames=5_000_000)
#: Recursion through 8 functions on 64 paths, 16 to 40 calls deep: some 1,600 different stacks.
DEEP_STACK_PROGRAM = """
static volatile unsigned sum;
typedef void step(unsigned, unsigned);
static step *const steps[8];
#define STEP(number) __attribute__((noinline)) static void step_##number(unsigned left, unsigned path) { \\
    if (left) steps[(path * left * 2654435761u >> 13) % 8](left - 1, path); \\
    else for (int i = 0; i < 200; i++) sum += i; \\
    sum += number; }
STEP(0) STEP(1) STEP(2) STEP(3) STEP(4) STEP(5) STEP(6) STEP(7)
static step *const steps[8] = {step_0, step_1, step_2, step_3, step_4, step_5, step_6, step_7};
int main(void) {
    for (unsigned seed = 1;; seed = seed * 1103515245 + 12345)
        steps[0](16 + (seed >> 16) % 25, 1 + (seed >> 24) % 64);
}
"""


@dataclass(frozen=True, slots=True)
class Recording:
    """How one recording is made."""

    seconds: int
    options: tuple[str, ...]
    is_schedule: bool = False


CLOCK = ("-k", "CLOCK_MONOTONIC", "-N", "--no-bpf-event")
RECORDINGS = {
    "fp10k": Recording(6, ("-F", "999", "-a", "-g", *CLOCK)),
    "fp100k": Recording(22, ("-F", "2499", "-a", "-g", *CLOCK)),
    "deep100k": Recording(12, ("-F", "4999", "-a", "-g", *CLOCK)),
    "fp1M": Recording(62, ("-F", "9999", "-a", "-g", "-m", "4096", *CLOCK)),
    "dwarf2k": Recording(2, ("-F", "999", "--buildid-all", "--call-graph", "dwarf,16384", *CLOCK)),
    "dwarf10k": Recording(8, ("-F", "999", "--buildid-all", "--call-graph", "dwarf,16384", *CLOCK)),
    "machine2k": Recording(2, ("-F", "499", "-a", "--buildid-all", "--call-graph", "dwarf,8192", *CLOCK)),
    "sched1M": Recording(6, ("-m", "8192"), is_schedule=True),
}


def compile_program(directory: Path, code: str, *options: str) -> Path:
    """Compile a program in C."""
    program = directory / "program"
    command = ["gcc", *options, "-x", "c", "-o", str(program), "-"]
    subprocess.run(command, input=code, text=True, check=True)
    return program


def record_workload(name: str, path: Path) -> None:
    """Record the workload of one kind."""
    recording = RECORDINGS[name]
    if "--call-graph" in recording.options:
        # Without -a only of the workload: for each file of the rest of the machine, perf starts addr2line.
        command = ["perf", "record", "-q", *recording.options, "-o", str(path), "--"]
        command += ["timeout", str(recording.seconds), "sh", "-c", WORKLOAD]
        subprocess.run(command, check=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        return
    if recording.is_schedule:
        load = "while :; do :; done | cat > /dev/null & perf bench sched pipe -l 10000000 > /dev/null & wait"
        command = ["perf", "sched", "record"]
    elif name == "deep100k":
        options = ("-O1", "-fno-omit-frame-pointer", "-fno-optimize-sibling-calls")
        program = compile_program(path.parent, DEEP_STACK_PROGRAM, *options)
        load = f"for i in 1 2; do {program} & done; wait"
        command = ["perf", "record", "-q"]
    else:
        load, command = WORKLOAD, ["perf", "record", "-q"]
    busy = subprocess.Popen(["sh", "-c", load], start_new_session=True, stdout=subprocess.DEVNULL)
    try:
        time.sleep(1)
        command += [*recording.options, "-o", str(path), "--", "sleep", str(recording.seconds)]
        subprocess.run(command, check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    finally:
        os.killpg(busy.pid, 15)
        busy.wait()


def draw_recording(path: Path, kallsyms: Path, inlines: bool | None = None) -> None:
    """Read a recording with its symbols and make the tree that a page asks for first."""
    symbols = perf_data.SymbolFiles(kallsyms=kallsyms, root=Path("/"), inlines=inlines)
    render_first_tree(StackProfile(perf_data.read_samples(path, symbols, LIMITS)))


def read_text(path: Path) -> None:
    """Read the text of perf script."""
    with open_bounded(path, limits=replace(LIMITS, unpacked=16 << 30)) as source:
        perf_data.read_text(source, LIMITS)


def read_schedule(path: Path) -> None:
    """Read a recording of the scheduler and sum it by task."""
    perf_data.read_schedule(path).tasks()


def run_here(work: Callable[[], None]) -> tuple[float, float]:
    """Return the CPU seconds and the peak memory in MB of a child of this process."""
    pid = os.fork()
    if pid == 0:
        code = 1
        try:
            work()
            code = 0
        finally:
            os._exit(code)
    _, status, usage = os.wait4(pid, 0)
    if status:
        raise SystemExit("reading failed")
    return usage.ru_utime + usage.ru_stime, usage.ru_maxrss / 1024


def run_command(command: str) -> float:
    """Return the CPU seconds of a command with all its children."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(["sh", "-c", command], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return (after.ru_utime + after.ru_stime) - (before.ru_utime + before.ru_stime)


def compare_pairs(
    name: str, size: int, work: Callable[[], None], command: str, pairs: int
) -> dict[str, object]:
    """Return the figures of interleaved pairs."""
    ratios, ours, theirs, peak = [], [], [], 0.0
    for _ in range(pairs):
        cpu, memory = run_here(work)
        ours.append(cpu)
        peak = max(peak, memory)
        theirs.append(run_command(command))
        ratios.append(cpu / theirs[-1])
    return {
        "work": name,
        "mb": round(size / 1e6, 1),
        "culprit_cpu_s": round(statistics.median(ours), 3),
        "culprit_peak_mb": round(peak),
        "other_cpu_s": round(statistics.median(theirs), 3),
        "ratio": [round(value, 3) for value in (statistics.median(ratios), min(ratios), max(ratios))],
    }


def measure_recording(name: str, path: Path, pairs: int) -> Iterator[dict[str, object]]:
    """Yield the rows of one recording."""
    size = path.stat().st_size
    if RECORDINGS[name].is_schedule:
        yield compare_pairs(
            name, size, lambda: read_schedule(path), f"perf sched timehist -s -i {path}", pairs
        )
        return
    kallsyms, text = path.with_name("kallsyms"), path.with_suffix(".txt")
    kallsyms.write_bytes(Path("/proc/kallsyms").read_bytes())
    if "--call-graph" in RECORDINGS[name].options:
        for inlines, option in ((True, ""), (False, "--no-inline ")):
            label = f"{name} {'with' if inlines else 'without'} inlined functions"
            draw = partial(draw_recording, path, kallsyms, inlines)
            yield compare_pairs(label, size, draw, f"perf script {option}-i {path}", pairs)
        return
    inferno = find_inferno()
    if inferno is None:
        raise SystemExit("inferno is not here, and no cargo to install it")
    script = f"perf script --no-inline -i {path}"
    chain = f"{script} | {inferno} -n 1 | {inferno.with_name('inferno-flamegraph')}"
    yield compare_pairs(name, size, lambda: draw_recording(path, kallsyms), chain, pairs)
    subprocess.run(["sh", "-c", f"{script} > {text}"], check=True, stderr=subprocess.DEVNULL)
    yield compare_pairs(
        f"{name} text", text.stat().st_size, lambda: read_text(text), f"{inferno} -n 1 {text}", pairs
    )
    text.unlink()


def main() -> None:
    """Measure and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pairs", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=RECORDINGS, default=list(RECORDINGS))
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory(prefix="culprit-bench-") as place:
        for name in options.only:
            path = Path(place) / f"{name}.data"
            record_workload(name, path)
            for row in measure_recording(name, path, options.pairs):
                print(" | ".join(f"{key} {value}" for key, value in row.items()), flush=True)
                rows.append(row)
            path.unlink()
    if options.json:
        options.json.write_text(json.dumps(rows, indent=1))


if __name__ == "__main__":
    main()
