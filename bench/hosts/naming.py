"""Measure the cost of symbolization on the host after a recording: by perf on the host, and by the server.

    ./culprit bench naming [--seconds 30] [--pairs 5] [--hz 99]

perf records this whole machine once. Then both ways do their work on that file in turns, with the shell of the
collectors: `perf script` with its statistics; and for the server, the key of the kernel's symbols (sent once per boot)
and the fetch of symbol tables (once per file). CPU seconds are those of all processes, without what the same shell does
before it records; bytes are packed.
"""

from __future__ import annotations

import argparse
import os
import resource
import subprocess
import tempfile
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from statistics import median

import zstandard
from culprit.evidence.symbols.requests import list_generated, list_missing_files

from collectors.catalog.cpu.perf_record import FIELDS
from collectors.contract import Script
from collectors.parse.perf import perf_data
from collectors.runner import symbols
from collectors.runner.program import compact_script
from collectors.shell.perf import POSTLUDE, PRELUDE

BYTES = 192 << 20
LEVEL = 3


@dataclass(frozen=True, slots=True)
class HostCost:
    """CPU seconds, and packed bytes to send."""

    cpu_s: float
    sent: int


def run_shell(text: str, directory: Path, options: Mapping[str, str]) -> float:
    """Run a script as the runner does, and return the CPU seconds of all of its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    environment = {**os.environ, "SECS": "30", "BYTES": str(BYTES), **options}
    subprocess.run(["dash", "-c", compact_script(text)], cwd=directory, env=environment, check=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measure_after_recording(text: str, directory: Path, options: Mapping[str, str]) -> float:
    """Run the part of a script that follows the recording, and return its CPU seconds."""
    before = run_shell(PRELUDE, directory, options)
    return max(0.0, run_shell(f"{PRELUDE}{POSTLUDE}{text}", directory, options) - before)


def sum_packed(*files: Path) -> int:
    """Return the bytes of the files as the runner packs them."""
    return sum(len(zstandard.compress(file.read_bytes(), LEVEL)) for file in files)


def name_on_host(directory: Path) -> HostCost:
    """Let perf print the recording."""
    for old in directory.glob("*.txt"):
        old.unlink()
    text = f'usable perf.data\nstats perf.data\ntext perf.data "$((BYTES * 3 / 4))" {FIELDS} cat\n'
    cpu_s = measure_after_recording(text, directory, {})
    return HostCost(cpu_s, sum_packed(directory / "script.txt", directory / "perf.data"))


def measure_remaining_work(directory: Path, kernel: str) -> HostCost:
    """Do what is left to do on the host. With another `kernel` than the own, its symbols are sent."""
    (directory / "kallsyms").unlink(missing_ok=True)
    text = "usable perf.data\nnamed_by_server && kernel_symbols\n"
    cpu_s = measure_after_recording(text, directory, {"OPT_SERVER_READS": "1", "OPT_KERNEL": kernel})
    return HostCost(
        cpu_s,
        sum_packed(*(file for name in ("perf.data", "kallsyms") if (file := directory / name).exists())),
    )


def fetch_files(directory: Path) -> tuple[HostCost, int]:
    """Fetch the symbols of all files that the recording is in, as for a host that was never captured."""
    used = perf_data.list_modules((directory / "perf.data").read_bytes()).modules
    modules = [{"key": item.key, "path": item.path, "samples": item.samples, "places": item.places,
                "is_anonymous": item.is_anonymous} for item in used]  # fmt: skip
    files = list_missing_files([{"modules": modules}], ())
    job = symbols.build_job(files, list_generated([{"modules": modules}]))
    [method] = job.methods
    assert isinstance(method, Script)
    with tempfile.TemporaryDirectory() as name:
        options = {f"OPT_{key.upper()}": value for key, value in job.options.items()}
        cpu_s = run_shell(method.sh, Path(name), options)
        return HostCost(cpu_s, sum_packed(*Path(name).glob("[!.]*"))), len(files)


def main() -> None:
    """Record, measure in turns, and print the table for docs/figures.md."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--seconds", type=int, default=30)
    arguments.add_argument("--pairs", type=int, default=5)
    arguments.add_argument("--hz", type=int, default=99)
    chosen = arguments.parse_args()
    with tempfile.TemporaryDirectory() as name:
        directory = Path(name)
        recording = [
            "perf",
            "record",
            "-q",
            "-F",
            str(chosen.hz),
            "-a",
            "-g",
            "-k",
            "CLOCK_MONOTONIC",
            "-N",
            "-B",
        ]
        subprocess.run(
            [*recording, "--no-bpf-event", "-o", "perf.data", "--", "sleep", str(chosen.seconds)],
            cwd=directory,
            check=True,
        )
        measure_remaining_work(directory, "")
        status = (directory / "status.txt").read_text()
        kernel = status.rpartition("kernel ")[2].strip()
        ways: dict[str, Callable[[], HostCost]] = {
            "perf script on the host": lambda: name_on_host(directory),
            "server, symbols known": lambda: measure_remaining_work(directory, kernel),
            "server, first capture after a boot": lambda: measure_remaining_work(directory, ""),
        }
        costs = {way: [] for way in ways}  # type: dict[str, list[HostCost]]
        for _ in range(chosen.pairs):
            for way, measure in ways.items():
                costs[way].append(measure())
        fetches = [fetch_files(directory) for _ in range(chosen.pairs)]
        size = (directory / "perf.data").stat().st_size
        samples = len(perf_data.read_samples(directory / "perf.data"))
    base = [cost.cpu_s for cost in costs["perf script on the host"]]
    print(f"{samples} samples of {chosen.seconds} s at {chosen.hz} Hz, perf.data {size / 1024:.0f} KiB.\n")
    print("| | CPU s on the host | of perf script [min-max] | KiB sent | of perf.data |")
    print("|---|--:|---|--:|--:|")
    for way, measured in costs.items():
        ratios = sorted(cost.cpu_s / whole for cost, whole in zip(measured, base, strict=True))
        print_row(way, measured, ratios, size)
    first = [cost for cost, _ in fetches]
    ratios = sorted(cost.cpu_s / whole for cost, whole in zip(first, base, strict=True))
    print_row(f"fetch of {fetches[0][1]} files that were never seen", first, ratios, size)


def print_row(title: str, measured: list[HostCost], ratios: list[float], size: int) -> None:
    """Print one row of the table."""
    cpu_s, sent = median(cost.cpu_s for cost in measured), measured[0].sent
    span = f"{median(ratios):.2f} [{ratios[0]:.2f}-{ratios[-1]:.2f}]"
    print(f"| {title} | {cpu_s:.3f} | {span} | {sent / 1024:.0f} | {sent / size:.2f} |")


if __name__ == "__main__":
    main()
