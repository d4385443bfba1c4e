"""Measure the share of frames without a name: of perf script on the host, and of the server.

    ./culprit bench unnamed_frames [--seconds 10] [--hz 199] [--python PATH] [--only TEXT ...]

Each program is recorded as a capture does it. While it still runs, both name the same recording: `perf script`, and the
native reader with what the fetch of symbols brings. A frame counts once for each sample that it is in. `--python` is a
CPython of version 3.12 or newer; its trampolines need a build with frame pointers.
"""

from __future__ import annotations

import argparse
import hashlib
import os
import subprocess
import sys
import tempfile
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from culprit.domain.profiles.exploration.unnamed import list_unnamed_modules
from culprit.domain.profiles.stacks import StackProfile
from culprit.evidence.parsing.parse_profile import describe_modules
from culprit.evidence.parsing.symbol_parts import unpack_symbols
from culprit.evidence.symbols.naming import explain_naming
from culprit.evidence.symbols.queries import SymbolFetch
from culprit.evidence.symbols.requests import list_generated, list_missing_files

from bench.hosts.naming import run_shell
from bench.support.busy_programs import PROGRAMS, BusyProgram, find_missing, start_program
from collectors.catalog.cpu.perf_record import FIELDS
from collectors.contract import Script
from collectors.parse.perf import perf_data
from collectors.profiles.samples import SampleTable
from collectors.profiles.trie import FrameKind
from collectors.runner import symbols
from collectors.tests.support import BytesPart, context

CLOCK = ("-k", "CLOCK_MONOTONIC", "-N", "-B", "--no-bpf-event")
REASONS_MAX = 2


@dataclass(frozen=True, slots=True)
class UnnamedShare:
    """Shares without a name: of the frames of all samples, and of the innermost ones.

    `generated` is the share of samples in which a map names at least one function.
    """

    frames: float
    innermost: float
    generated: float


def measure_table(table: SampleTable) -> UnnamedShare:
    """Count the frames of all samples."""
    trie = table.trie
    kind = table.frames.kind[trie.frame]
    unnamed = kind == FrameKind.UNKNOWN
    is_frame = ~np.isin(kind, (FrameKind.ROOT, FrameKind.COMM))
    counts = np.stack([unnamed, is_frame, kind == FrameKind.JIT]).astype(np.int64)
    for depth in range(1, int(trie.depth.max()) + 1):
        nodes = np.flatnonzero(trie.depth == depth)
        counts[:, nodes] += counts[:, trie.parent[nodes]]
    of_samples = counts[:, table.stack]
    without, frames = of_samples[:2].sum(axis=1)
    return UnnamedShare(
        frames=float(without / max(frames, 1)),
        innermost=float(unnamed[table.stack].mean()),
        generated=float((of_samples[2] > 0).mean()),
    )


def record_program(
    child: subprocess.Popen[bytes], program: BusyProgram, to: Path, hz: int, seconds: int
) -> None:
    """Record a process, or the whole machine."""
    scope = ["-a"] if program.is_host else ["-p", str(child.pid)]
    command = ["perf", "record", "-q", "-F", str(hz), *scope, "-g", *CLOCK, "-o", str(to)]
    subprocess.run(
        [*command, "--sample-cpu", "--", "sleep", str(seconds)], check=True, stderr=subprocess.DEVNULL
    )


def read_as_perf(recording: Path) -> SampleTable:
    """Return what perf on the host prints."""
    command = ["perf", "script", "--no-inline", "--ns", "-F", FIELDS, "-i", str(recording)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL) as child:
        assert child.stdout is not None
        return perf_data.read_text(child.stdout)


def read_as_server(recording: Path, directory: Path) -> tuple[SampleTable, dict[str, str]]:
    """Fetch symbols as for a host that was never captured. Return the samples, and the reason of each module."""
    used = perf_data.list_modules(recording.read_bytes()).modules
    source = {"modules": [asdict(module) for module in used]}
    job = symbols.build_job(list_missing_files([source], ()), list_generated([source]))
    [method] = job.methods
    assert isinstance(method, Script)
    fetched = directory / "fetched"
    fetched.mkdir()
    options = {f"OPT_{name.upper()}": value for name, value in job.options.items()}
    run_shell(method.sh, fetched, {"BYTES": str(symbols.MAX_BYTES), **options})
    (fetched / symbols.KALLSYMS).write_bytes(Path("/proc/kallsyms").read_bytes())
    parts = {path.name: path for path in fetched.iterdir() if not path.name.startswith(".")}
    described = {
        name: {
            "sha256": hashlib.sha256(path.read_bytes()).hexdigest(),
            "size": path.stat().st_size,
            "path": str(path),
            "encoding": "identity",
        }
        for name, path in parts.items()
    }
    os.chdir(directory)
    table, named = perf_data.read_samples_and_modules(recording, unpack_symbols(described))
    parsed = symbols.parse_symbols({symbols.INDEX: BytesPart(parts[symbols.INDEX].read_bytes())}, context())
    states = {str(row[0]): str(row[1]) for item in parsed.tables for row in item.rows}
    keys = {name.removesuffix(".blocks") for name in parts}
    naming = explain_naming(
        describe_modules(named, [table]), keys, SymbolFetch(None, states), SymbolFetch(None, {})
    )
    return table, {item["module"]: item["reason"]["key"] for item in naming["unnamed"]}


def list_reasons(table: SampleTable, reasons: Mapping[str, str]) -> list[str]:
    """Return why samples have no name, the most frequent reason first: its key and its share."""
    view = StackProfile(table).view()
    weights: dict[str, int] = {}
    for row in list_unnamed_modules(view):
        key = reasons.get(row.module, row.reason)
        weights[key] = weights.get(key, 0) + row.weight
    ranked = sorted(weights.items(), key=lambda item: -item[1])
    return [f"`{key}` {weight / view.weight:.1%}" for key, weight in ranked[:REASONS_MAX]]


def measure_program(program: BusyProgram, python: str, hz: int, seconds: int) -> str:
    """Record a program, and return its row."""
    with tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as name:
        directory = Path(name)
        recording = directory / "perf.data"
        with start_program(program, directory, python) as child:
            record_program(child, program, recording, hz, seconds)
            before = measure_table(read_as_perf(recording))
            table, reasons = read_as_server(recording, directory)
        os.chdir("/")
    after = measure_table(table)
    version = subprocess.run([python, "-V"], capture_output=True, text=True, check=True).stdout.split()[1]
    cells = [
        program.title.format(version=version),
        f"{len(table):,}",
        f"{before.frames:.1%}",
        f"{after.frames:.1%}",
        f"{before.innermost:.1%}",
        f"{after.innermost:.1%}",
        f"{after.generated:.0%}" if after.generated else "",
        f"{table.quality.truncated_share:.0%}",
        ", ".join(list_reasons(table, reasons)),
    ]
    return f"| {' | '.join(cells)} |"


def main() -> None:
    """Record each program, and print the table for docs/figures.md."""
    arguments = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    arguments.add_argument("--seconds", type=int, default=10)
    arguments.add_argument("--hz", type=int, default=199)
    arguments.add_argument("--python", default=sys.executable)
    arguments.add_argument("--only", nargs="*", default=[], help="texts of which a title has one")
    chosen = arguments.parse_args()
    print(
        "| | samples | of all frames: perf script | server | of innermost frames: perf script | server |",
        end="",
    )
    print(" samples with a name of a map | incomplete stacks | why innermost frames have no name |")
    print("|---|--:|--:|--:|--:|--:|--:|--:|---|")
    for program in PROGRAMS:
        if chosen.only and not any(text in program.title for text in chosen.only):
            continue
        if missing := find_missing(program, chosen.python):
            print(f"{program.title} is left out: {', '.join(missing)} is not installed.", file=sys.stderr)
            continue
        print(measure_program(program, chosen.python, chosen.hz, chosen.seconds), flush=True)


if __name__ == "__main__":
    main()
