"""Cost of a triage: CPU seconds by collector, against another checkout, against its forecast, and on larger hosts.

    ./culprit bench look_cost [--pairs 2] [--seconds 10] [--base FOLDER] [--processes 200 1000] [--sockets 1000 50000]

Each size adds sleeping processes or sockets of loopback connections to this machine, takes its size as the preflight
check does, forecasts, and measures a triage of this checkout (and of the one in FOLDER, in turns). The cost of a size
is also given as a ratio to that of the smallest, and that of this checkout as a ratio to the other one, in pairs.
CPU is what the kernel charged all processes of the run with.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import resource
import signal
import socket
import statistics
import subprocess
import sys
import uuid
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from bench.support.own_capture import (
    PR_SET_CHILD_SUBREAPER,
    retry_occupied,
    run_capture,
    set_process_option,
)
from collectors.contract import Script
from collectors.plans import PLANS, scale_plan
from collectors.registry import COLLECTORS
from collectors.runner import program

_SOCKETS_PER_PROCESS = 16_000  # sockets of one process, below the usual limit of open files


@contextlib.contextmanager
def add_processes(count: int) -> Iterator[None]:
    """Let this many processes sleep."""
    tool = ["busybox", "sleep", "600"]
    children = [subprocess.Popen(tool) for _ in range(count)]
    try:
        yield
    finally:
        for child in children:
            child.send_signal(signal.SIGKILL)
        for child in children:
            child.wait()


@contextlib.contextmanager
def add_sockets(count: int) -> Iterator[None]:
    """Keep loopback connections with this many sockets in processes of their own, as servers have them."""
    with contextlib.ExitStack() as stack:
        for number in range(-(-count // _SOCKETS_PER_PROCESS)):
            share = min(_SOCKETS_PER_PROCESS, count - number * _SOCKETS_PER_PROCESS)
            code = f"from bench.hosts.look_cost import hold_sockets; hold_sockets({share}, {number})"
            command = [sys.executable, "-c", code]
            child = stack.enter_context(
                subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            )
            assert child.stdin and child.stdout
            stack.callback(child.stdin.close)
            if child.stdout.readline() != b"ready\n":
                raise SystemExit("the sockets could not be opened")
        yield


def hold_sockets(count: int, number: int) -> None:
    """Open the connections to an address of its own, print `ready`, and wait for the end of standard input."""
    resource.setrlimit(resource.RLIMIT_NOFILE, (resource.getrlimit(resource.RLIMIT_NOFILE)[1],) * 2)
    listener = socket.create_server((f"127.0.1.{1 + number}", 0), backlog=1024)
    sockets = [listener]
    for _ in range(count // 2):
        client = socket.socket()
        # Closing with a reset leaves no sockets in TIME-WAIT behind.
        client.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1\0\0\0\0\0\0\0")
        client.connect(listener.getsockname())
        sockets += [client, listener.accept()[0]]
    sys.stdout.write("ready\n")
    sys.stdout.flush()
    sys.stdin.read()


@dataclass(frozen=True, slots=True)
class TriageCost:
    """One triage: CPU seconds of all its processes, by collector as the run reports them, and of a forecast."""

    cpu_s: float
    forecast_s: float
    collectors: dict[str, float]
    starts: int


def measure_triage(seconds: int) -> TriageCost:
    """Measure a triage of the checkout in the current directory, which may be an older one without a forecast."""
    plan = scale_plan(PLANS["triage"], seconds)
    chosen = {item.id: item.seconds for item in plan.collectors}
    forecast_s = 0.0
    with contextlib.suppress(ImportError):
        from collectors import cost  # noqa: PLC0415
        from collectors.parse.proc.preflight import parse_preflight  # noqa: PLC0415
        from collectors.runner import preflight  # noqa: PLC0415

        done = subprocess.run(["/bin/sh", "-s"], input=preflight.PROGRAM, capture_output=True, check=True)
        size = cost.HostSize.of(parse_preflight(done.stdout))
        sys.stderr.write(f"{size}\n")
        forecast_s = sum(cost.forecast_cpu_s(chosen, size).values())
    jobs = [program.CollectorJob.of(COLLECTORS[name], duration) for name, duration in chosen.items()]
    before = read_starts()
    captured = retry_occupied(lambda: run_capture(jobs, str(uuid.uuid4())))
    by_collector = dict(getattr(captured, "collectors_s", {}))
    return TriageCost(captured.cpu_s, forecast_s, by_collector, read_starts() - before)


def read_starts() -> int:
    """Return how many processes this machine has started since boot."""
    lines = Path("/proc/stat").read_text(encoding="ascii").splitlines()
    return next(int(line.split()[1]) for line in lines if line.startswith("processes "))


def measure_elsewhere(folder: Path, seconds: int) -> TriageCost:
    """Measure in a process of its own, with the modules of the checkout in that folder."""
    code = (
        "import json, sys; sys.path.insert(0, sys.argv[1]); from dataclasses import asdict\n"
        "import importlib.util as u; s = u.spec_from_file_location('look_cost', sys.argv[2]);"
        " m = u.module_from_spec(s)\n"
        "sys.modules['look_cost'] = m; s.loader.exec_module(m)\n"
        "m.set_process_option(m.PR_SET_CHILD_SUBREAPER, 1);"
        " print(json.dumps(asdict(m.measure_triage(int(sys.argv[3])))))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, str(folder), __file__, str(seconds)],
        cwd=folder, stdout=subprocess.PIPE, check=True, env={**os.environ, "PYTHONPATH": str(folder)},
    )  # fmt: skip
    return TriageCost(**json.loads(done.stdout))


def print_size(label: str, results: list[TriageCost], base: list[TriageCost], smallest: float) -> float:
    """Print one line of the table; return the median CPU seconds."""
    cpu_s = statistics.median(cost.cpu_s for cost in results)
    forecast_s = statistics.median(cost.forecast_s for cost in results)
    ratios = [cost.forecast_s / cost.cpu_s for cost in results]
    before = f"{statistics.median(cost.cpu_s for cost in base):.2f}" if base else "-"
    pairs = [cost.cpu_s / other.cpu_s for cost, other in zip(results, base, strict=False)]
    starts = round(statistics.median(cost.starts for cost in results))
    print(
        f"| {label} | {before} | {cpu_s:.2f} | {format_range(pairs)} | {cpu_s / (smallest or cpu_s):.2f} |"
        f" {forecast_s:.2f} | {format_range(ratios)} | {starts} | {os.getloadavg()[0]:.0f} |",
        flush=True,
    )
    return cpu_s


def format_range(ratios: list[float]) -> str:
    """Return the median of some ratios and their range, `-` for none."""
    return f"{statistics.median(ratios):.2f} [{min(ratios):.2f}-{max(ratios):.2f}]" if ratios else "-"


def main() -> None:
    """Measure, and print tables for docs/figures.md."""
    ask = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    ask.add_argument("--pairs", type=int, default=2)
    ask.add_argument("--seconds", type=int, default=10)
    ask.add_argument("--base", type=Path)
    ask.add_argument("--processes", type=int, nargs="+", default=[200, 1000, 5000])
    ask.add_argument("--sockets", type=int, nargs="*", default=[1000, 10_000, 50_000])
    chosen = ask.parse_args()
    set_process_option(PR_SET_CHILD_SUBREAPER, 1)
    here = Path(__file__).parents[2]
    scripts = sum(isinstance(COLLECTORS[item.id].methods[0], Script) for item in PLANS["triage"].collectors)
    print(
        f"Triage of {chosen.seconds} s, {len(PLANS['triage'].collectors)} collectors, {scripts} with a script.\n"
    )
    print(
        "| added | before, CPU s | CPU s | to before [range] | to the smallest | forecast, CPU s "
        "| forecast / measured [range] | processes started | load average |"
    )
    print("|---|---|---|---|---|---|---|---|---|")
    smallest = 0.0
    results: list[TriageCost] = []
    sizes = [
        *(("processes", count) for count in chosen.processes),
        *(("sockets", count) for count in chosen.sockets),
    ]
    for kind, count in sizes:
        results, base = [], []
        with add_processes(count) if kind == "processes" else add_sockets(count):
            for _ in range(chosen.pairs):
                if chosen.base:
                    base.append(measure_elsewhere(chosen.base.resolve(), chosen.seconds))
                results.append(measure_elsewhere(here, chosen.seconds))
        cpu_s = print_size(f"{count:,} {kind}", results, base, smallest)
        smallest = smallest or cpu_s
    print("\n| collector | CPU ms |\n|---|---|")
    for name, cpu_s in sorted(results[-1].collectors.items(), key=lambda item: -item[1]):
        print(f"| {name} | {1000 * cpu_s:.0f} |")


if __name__ == "__main__":
    main()
