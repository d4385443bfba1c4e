"""docs/status.md out of docs/promises.yaml and test results: each promise proven, untested, or missing.

    python -m culprit.launch.checks.status            write docs/status.md from the last full run
    python -m culprit.launch.checks.status --check    only look whether the named tests exist

A promise in docs/promises.yaml names what proves it:

    tests     ids of tests, `path/to/file.py`, `path/to/file.py::name` or `e2e/tests/file.spec.ts::title`
    phases    phases of `./culprit test` that prove it as a whole
    command   a command that shows it, with `figure`, what it showed
    untested  why nothing proves it (a reason that its user would accept)

The sections on collectors, rules, causes and faults come from `python -m bench.catalogue`. A promise with none of
these is missing. One whose named test failed, was skipped or did not run is untested.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml

from culprit.launch.paths import ROOT

PROMISES = ROOT / "docs" / "promises.yaml"
STATUS = ROOT / "docs" / "status.md"
RESULTS = ROOT / ".test-results"
KNOWN = {"promise", "tests", "phases", "command", "figure", "untested"}


@dataclass(frozen=True, slots=True)
class Line:
    """One row of the table."""

    promise: str
    state: str  # proven | untested | missing
    proof: str


def catalogue() -> dict[str, list[dict[str, Any]]]:
    """The sections that list every collector, rule, cause and fault; a stranger to us, asked by its command."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.catalogue"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'backend'}:{ROOT}"},
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def load(path: Path = PROMISES) -> dict[str, list[dict[str, Any]]]:
    """Sections of promises. Raises ValueError for a field that means nothing."""
    document = yaml.safe_load(path.read_text("utf-8"))
    for section, promises in document.items():
        for one in promises:
            unknown = set(one) - KNOWN
            if unknown or not one.get("promise"):
                raise ValueError(f"{section}: {one.get('promise', one)}: unknown fields {sorted(unknown)}")
    return dict(document)


def tests_of(promise: dict[str, Any]) -> list[str]:
    """The test ids that a promise names."""
    return [str(test) for test in promise.get("tests", [])]


def absent(root: Path, test: str) -> bool:
    """Whether a named test does not exist: its file, or its name within the file."""
    file, _, name = test.partition("::")
    path = root / file
    if not path.is_file():
        return True
    if not name:
        return False
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        function = re.escape(name.rpartition("::")[2].split("[")[0])
        return re.search(rf"^\s*(async )?def {function}\(", text, re.M) is None
    return name not in text


def absent_tests(promises: dict[str, list[dict[str, Any]]], root: Path = ROOT) -> list[str]:
    """All named tests that do not exist."""
    named = {test for section in promises.values() for one in section for test in tests_of(one)}
    return sorted(test for test in named if absent(root, test))


def matching(test: str, cases: dict[str, list[str]]) -> list[list[str]]:
    """The results of a named test: all of a file, all parameters of a function, or one journey."""
    file, _, name = test.partition("::")
    if file.endswith(".py"):
        dotted = file.removesuffix(".py").replace("/", ".")
        short = dotted.removeprefix("backend.")
        own = {
            case: result
            for case, result in cases.items()
            if any(
                case.partition("::")[0] == prefix or case.startswith(f"{prefix}.")
                for prefix in (dotted, short)
            )
        }
        return [
            result for case, result in own.items() if not name or _same_test(case.partition("::")[2], name)
        ]
    base = Path(file).name
    return [result for case, result in cases.items() if base in case and name in case]


def _same_test(case: str, named: str) -> bool:
    """Whether a result is of the named test: of that parameter where one is named, else of all."""
    if "[" in named:
        return case.endswith(named)
    return case.split("[", maxsplit=1)[0].rpartition("::")[2] == named.rpartition("::")[2]


def judge(promise: dict[str, Any], phases: dict[str, Any]) -> Line:
    """The row of one promise, by what it names and by results."""
    text = promise["promise"]
    tests, whole = tests_of(promise), [str(name) for name in promise.get("phases", [])]
    command, reason = promise.get("command"), promise.get("untested")
    cases = {case: result for phase in phases.values() for case, result in phase["cases"].items()}
    bad: list[str] = []
    for test in tests:
        states = Counter(state for state, _ in matching(test, cases))
        if not states or states["failed"] or not states["passed"]:
            bad.append(f"`{test}` {'failed' if states['failed'] else 'did not run'}")
    for name in whole:
        phase = phases.get(name)
        if phase is None or phase["failed"]:
            bad.append(f"phase {name} {'failed' if phase else 'did not run'}")
    figure = f" ({promise['figure']})" if promise.get("figure") else ""
    if not tests and not whole and not command:
        return Line(text, "untested" if reason else "missing", str(reason or ""))
    if bad:
        return Line(text, "untested", "; ".join(filter(None, [*bad, reason])))
    proofs = [f"`./culprit test --only {name}`" for name in whole]
    proofs += [f"`{test}`" for test in tests]
    proofs += [f"`{command}`{figure}"] if command else []
    return Line(text, "proven", "<br>".join(proofs) + (f"<br>not covered: {reason}" if reason else ""))


def render(promises: dict[str, list[dict[str, Any]]], summary: dict[str, Any]) -> str:
    """The page."""
    phases = summary["phases"]
    rows = {section: [judge(one, phases) for one in items] for section, items in promises.items()}
    total = Counter(line.state for lines in rows.values() for line in lines)
    passed = sum(phase["passed"] for phase in phases.values())
    failed = sum(phase["failed"] for phase in phases.values())
    short = "`./culprit test` (what only `--full` runs is untested here)"
    made = "`./culprit test --full`" if summary.get("full", True) else short
    out = [
        "# Status",
        "",
        f"Generated by {made} from `docs/promises.yaml` and its results; not edited by hand.",
        "",
        f"{total['proven']} proven, {total['untested']} untested, {total['missing']} missing. "
        f"Tests of that run: {passed} passed, {failed} failed.",
        "",
        "| phase | passed | failed | skipped | seconds |",
        "|---|---:|---:|---:|---:|",
        *(
            f"| {name} | {one['passed']} | {one['failed']} | {one['skipped']} | {one['seconds']} |"
            for name, one in phases.items()
        ),
    ]
    repeated = [f"{name} ({', '.join(one['again'])})" for name, one in phases.items() if one.get("again")]
    if repeated:
        out += ["", f"Run again after a correction: {'; '.join(repeated)}."]
    for section, lines in rows.items():
        out += ["", f"## {section}", "", "| promise | state | proof or reason |", "|---|---|---|"]
        out += [f"| {cell(line.promise)} | {line.state} | {cell(line.proof)} |" for line in lines]
    return "\n".join(out) + "\n"


def cell(text: str) -> str:
    """Text that does not end a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def generate(results: Path = RESULTS, target: Path = STATUS) -> None:
    """Write the page from the summary of a run. Raises OSError where there was none."""
    summary = json.loads((results / "summary.json").read_text("utf-8"))
    target.write_text(render(load() | catalogue(), summary), "utf-8")


def main(arguments: list[str]) -> int:
    """Exit code 1 where a named test does not exist."""
    lost = absent_tests(load())
    for test in lost:
        sys.stderr.write(f"docs/promises.yaml names a test that does not exist: {test}\n")
    if "--check" not in arguments:
        generate()
    return int(bool(lost))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
