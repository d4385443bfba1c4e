"""Fuzz every parser and importer with coverage feedback, and list the inputs that break them.

    ./culprit bench fuzz [--seconds 20] [--runs 0] [--only NAME ...] [--jobs 2] [--seed 1] [--store] [--defects DIR]

`--seconds` is the time of each parser. Inputs begin with the recorded outputs of collectors and the stored corpus.
`--store` adds the smallest inputs that reach new code to the corpus. Each defect is written to `--defects`, by default
`bench/fuzz/inputs`, where the tests read it: an error that the parser does not declare, a result that violates its
contract, and time or memory that is not proportional to the input. `--only` takes names or beginnings of names
(`collector.`, `profile.`), `--list` prints all names, `--json FILE` stores the table.
"""

from __future__ import annotations

import argparse
import contextlib
import importlib
import io
import json
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

from bench.fuzz.corpus import INPUTS, load_broken_inputs, load_stored_inputs, name_input, store_inputs

if TYPE_CHECKING:
    from bench.fuzz.libfuzzer import Defect, FuzzResult
    from bench.fuzz.target import FuzzTarget

#: What is instrumented: all code that reads untrusted bytes.
PACKAGES = (
    "collectors.catalog", "collectors.clock", "collectors.parse", "collectors.profiles", "collectors.runner",
    "culprit.accounts.single_sign_on", "culprit.analysis.playbooks", "culprit.captures.imports",
    "culprit.domain.alerts", "culprit.domain.imports", "culprit.domain.profiles", "culprit.evidence.parsing",
    "culprit.hosts", "culprit.incidents.transfer", "culprit.notifications.oncall",
)  # fmt: skip
POLL_S = 0.05


def main() -> None:
    """Fuzz the targets. Exit with 1 if an input broke a parser."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--seconds", type=float, default=20.0)
    parser.add_argument("--runs", type=int, default=0)
    parser.add_argument("--only", nargs="*", default=[])
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--store", action="store_true")
    parser.add_argument("--list", action="store_true")
    parser.add_argument("--defects", type=Path, default=INPUTS)
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    targets = [
        target
        for name, target in load_instrumented_targets().items()
        if not options.only or name.startswith(tuple(options.only))
    ]
    if options.list:
        print("\n".join(target.name for target in targets))
        return
    began = time.monotonic()
    results = []
    with tempfile.TemporaryDirectory(prefix="culprit-fuzz-") as directory:
        for result in fuzz_targets(targets, options, Path(directory)):
            print(format_result(result), flush=True)
            for defect in result.defects:
                path = write_defect(options.defects / result.target, defect)
                print(f"  {path}: {defect.signature}", flush=True)
            results.append(result)
    executed, defects = sum(item.executed for item in results), sum(len(item.defects) for item in results)
    minutes = (time.monotonic() - began) / 60
    print(f"{len(results)} parsers, {executed} inputs, {defects} defects, {minutes:.1f} min", flush=True)
    if options.json:
        options.json.write_text(json.dumps([describe_result(item) for item in results], indent=1))
    raise SystemExit(defects > 0)


def load_instrumented_targets() -> dict[str, FuzzTarget]:
    """Import all parsers with counters at their branches, and return the targets by name."""
    try:
        atheris = importlib.import_module("atheris")
    except ImportError:
        raise SystemExit(
            "culprit: atheris is not installed. `./culprit test` installs it, on Linux with an x86-64 processor."
        ) from None
    roots = {name.partition(".")[0] for name in PACKAGES}
    with (
        contextlib.redirect_stderr(io.StringIO()),  # a line for each module
        atheris.instrument_imports(include=sorted(roots), exclude=list_other_modules(roots)),
    ):
        return dict(importlib.import_module("bench.fuzz.targets").TARGETS)


def list_other_modules(roots: Collection[str]) -> list[str]:
    """Return the modules of these packages that read no untrusted bytes; atheris selects by outermost package."""
    others = []
    for root in roots:
        [folder] = importlib.import_module(root).__path__
        for path in Path(folder).rglob("*.py"):
            name = ".".join((root, *path.relative_to(folder).with_suffix("").parts)).removesuffix(".__init__")
            if not name.startswith(PACKAGES):
                others.append(name)
    return others


def fuzz_targets(
    targets: Sequence[FuzzTarget], options: argparse.Namespace, directory: Path
) -> Iterator[FuzzResult]:
    """Fuzz `jobs` targets at a time, and yield each result when its child has ended."""
    from bench.fuzz.libfuzzer import FuzzChild, FuzzSpec, read_result, select_smallest, start_fuzzing  # noqa: PLC0415

    spec = FuzzSpec(options.seconds, options.runs, options.seed)
    waiting, running = list(targets), list[FuzzChild]()
    while waiting or running:
        while waiting and len(running) < options.jobs:
            target = waiting.pop(0)
            inputs = list_inputs(target)
            running.append(start_fuzzing(target, spec, inputs, directory / target.name))
        time.sleep(POLL_S)
        for child in [child for child in running if child.has_ended()]:
            running.remove(child)
            result = read_result(child)
            if options.store and result.inputs:
                stored = load_stored_inputs(child.target.name).values()
                inputs = [*stored, *result.inputs]
                smallest = select_smallest(
                    child.target, child.target.seeds(), inputs, child.directory / "smallest"
                )
                store_inputs(child.target.name, smallest)
            yield result


def list_inputs(target: FuzzTarget) -> list[bytes]:
    """Return what a target begins with: recordings, the stored corpus, and the inputs that once broke it."""
    return [
        *target.seeds(),
        *load_stored_inputs(target.name).values(),
        *load_broken_inputs(target.name).values(),
    ]


def write_defect(directory: Path, defect: Defect) -> Path:
    """Write the input of a defect and return its path; its trace goes to standard error."""
    directory.mkdir(parents=True, exist_ok=True)
    path = directory / name_input(defect.data)[:12]
    path.write_bytes(defect.data)
    print(defect.trace, file=sys.stderr)
    return path


def format_result(result: FuzzResult) -> str:
    """Return the row of a target in the table."""
    return (
        f"{result.target:34} {result.executed:9} inputs {result.covered:6} edges "
        f"{len(result.inputs):5} new {len(result.defects):3} defects"
    )


def describe_result(result: FuzzResult) -> dict[str, Any]:
    """Return a result for `--json`."""
    return {
        "target": result.target,
        "executed": result.executed,
        "covered": result.covered,
        "new": len(result.inputs),
        "defects": [item.signature for item in result.defects],
    }


if __name__ == "__main__":
    main()
