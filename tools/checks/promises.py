"""Write docs/status.md from docs/promises.yaml and the last test results: the evidence for each promise.

    python -m tools.checks.promises            write docs/status.md from the reports in .test-results
    python -m tools.checks.promises --check    only check that the named tests exist

Fields of a promise in docs/promises.yaml:

    promise   the promise, in one line
    tests     ids of tests: `path/to/file.py`, `path/to/file.py::name` or `e2e/tests/file.spec.ts::title`
    sessions  sessions of `./culprit test` that show it as a whole
    command   a command that measures it, with `figure` (what it printed), `commit` (the version that it measured) and
              `code` (the paths that the figure depends on)
    untested  why nothing shows it

States: `real` ran on the real thing in this round; `recorded` ran on recorded output; `hand-written` ran on input
written by hand; `measured` is a figure whose code is unchanged since; `out of date` is a figure whose code changed, or
whose commit is not recorded; `not run` has no result, a skipped test or a failure; `missing` names nothing.

Sections on collectors, rules, causes and faults come from `python -m bench.accuracy.catalog`.
"""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import yaml
from culprit.launcher.paths import ROOT

from tools.checks.junit import Case, read_results, read_sessions

PROMISES = ROOT / "docs" / "promises.yaml"
STATUS = ROOT / "docs" / "status.md"
RESULTS = ROOT / ".test-results"
FIELDS = {"promise", "tests", "sessions", "command", "figure", "commit", "code", "untested"}
STATES = ("real", "recorded", "hand-written", "measured", "out of date", "not run", "missing")
#: What a test runs on, by the first pattern that matches its file. All others run real engines, hosts or browsers.
EVIDENCE = (
    (re.compile(r"^collectors/tests/host/"), "real"),
    (re.compile(r"^(collectors|backend/culprit/tests/domain/rules/seeds|examples)/"), "recorded"),
    (re.compile(r"^(backend/culprit/tests/(domain|web)/|frontend/|tools/)"), "hand-written"),
)

Promise = Mapping[str, Any]
Sections = Mapping[str, list[dict[str, Any]]]


@dataclass(frozen=True, slots=True)
class Results:
    """Results of a round: the tests of each JUnit report, and the result of each session (`success`, `failed`)."""

    reports: Mapping[str, list[Case]]
    sessions: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class StatusRow:
    """One row of the page."""

    promise: str
    state: str
    proof: str


def load_catalog() -> dict[str, list[dict[str, Any]]]:
    """Return the sections that list every collector, rule, cause and fault."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.accuracy.catalog"], cwd=ROOT, check=True, stdout=subprocess.PIPE,
        env=os.environ | {"PYTHONPATH": f"{ROOT / 'backend'}:{ROOT}"},
    )  # fmt: skip
    return dict(json.loads(done.stdout))


def load_promises(path: Path = PROMISES) -> dict[str, list[dict[str, Any]]]:
    """Return the promises by section. Raises ValueError for an unknown field."""
    document = yaml.safe_load(path.read_text("utf-8"))
    for section, promises in document.items():
        for promise in promises:
            unknown = set(promise) - FIELDS
            if unknown or not promise.get("promise"):
                raise ValueError(
                    f"{section}: {promise.get('promise', promise)}: unknown fields {sorted(unknown)}"
                )
    return dict(document)


def list_tests(promise: Promise) -> list[str]:
    """Return the test ids that a promise names."""
    return [str(test) for test in promise.get("tests", [])]


def test_exists(root: Path, test: str) -> bool:
    """Return whether a named test exists: its file, and its name in the file."""
    file, _, name = test.partition("::")
    path = root / file
    if not name or not path.is_file():
        return path.is_file()
    text = path.read_text("utf-8")
    if path.suffix == ".py":
        function = re.escape(name.rpartition("::")[2].split("[")[0])
        return re.search(rf"^\s*(async )?def {function}\(", text, re.M) is not None
    return name in text


def find_absent_tests(promises: Sections, root: Path = ROOT) -> list[str]:
    """Return all named tests that do not exist."""
    named = {test for section in promises.values() for promise in section for test in list_tests(promise)}
    return sorted(test for test in named if not test_exists(root, test))


def select_cases(test: str, cases: Iterable[Case]) -> list[Case]:
    """Return the results of a named test: all of a file, all parameters of a function, or one journey."""
    file, _, name = test.partition("::")
    if not file.endswith(".py"):
        base = Path(file).name
        return [case for case in cases if base in case.id and name in case.id]
    dotted = file.removesuffix(".py").replace("/", ".")
    owners = (dotted, dotted.removeprefix("backend."))
    return [
        case
        for case in cases
        if any(case.id.partition("::")[0] == owner or case.id.startswith(f"{owner}.") for owner in owners)
        and (not name or is_named(case.id.partition("::")[2], name))
    ]


def is_named(case: str, name: str) -> bool:
    """Return whether a result belongs to the named test: one parameter where the name has one, else all."""
    if "[" in name:
        return case.endswith(name)
    return case.split("[", maxsplit=1)[0].rpartition("::")[2] == name.rpartition("::")[2]


def evidence_of(test: str) -> str:
    """Return what a test runs on: real, recorded or hand-written."""
    return next((kind for pattern, kind in EVIDENCE if pattern.search(test)), "real")


def find_failure(name: str, cases: list[Case]) -> str | None:
    """Return why results do not show a promise, or None where all of them passed."""
    states = Counter(case.state for case in cases)
    if not cases:
        return f"{name} did not run"
    if states["failed"]:
        return f"{name} failed"
    if states["skipped"]:
        return f"{name}: {states['skipped']} of {len(cases)} skipped"
    return None


def is_out_of_date(promise: Promise, root: Path = ROOT) -> bool:
    """Return whether the code of a figure changed since its commit, or the commit is unknown."""
    commit, code = promise.get("commit"), promise.get("code")
    if not commit or not code:
        return True
    diff = ["git", "diff", "--quiet", str(commit), "HEAD", "--", *map(str, code)]
    return subprocess.run(diff, cwd=root, check=False, capture_output=True).returncode != 0


def judge_promise(promise: Promise, results: Results, root: Path = ROOT) -> StatusRow:
    """Return the row of one promise."""
    text, reason = str(promise["promise"]), str(promise.get("untested") or "")
    tests, sessions = list_tests(promise), [str(name) for name in promise.get("sessions", [])]
    if not tests and not sessions and not promise.get("command"):
        return StatusRow(text, "not run" if reason else "missing", reason)
    all_cases = [case for cases in results.reports.values() for case in cases]
    failures = [find_failure(f"`{test}`", select_cases(test, all_cases)) for test in tests]
    failures += [
        f"session {name} {results.sessions.get(name, 'did not run')}"
        for name in sessions
        if results.sessions.get(name) != "success"
    ]
    if any(failures):
        return StatusRow(text, "not run", "; ".join(filter(None, [*failures, reason])))
    kinds = {evidence_of(test) for test in tests} | ({"real"} if sessions else set())
    proofs = [f"`{name}`" for name in (*sessions, *tests)]
    if promise.get("command"):
        figure = f" ({promise['figure']})" if promise.get("figure") else ""
        proofs.append(f"`{promise['command']}`{figure}")
        kinds |= {"out of date" if is_out_of_date(promise, root) else "measured"}
    state = next(state for state in STATES if state in kinds)
    return StatusRow(text, state, "<br>".join(proofs) + (f"<br>not covered: {reason}" if reason else ""))


def render_page(promises: Sections, results: Results) -> str:
    """Return the page."""
    rows = {
        section: [judge_promise(promise, results) for promise in items] for section, items in promises.items()
    }
    total = Counter(row.state for items in rows.values() for row in items)
    counts = ", ".join(f"{total[state]} {state}" for state in STATES)
    out = [
        "# Status",
        "",
        "Generated by `python -m tools.checks.promises` from `docs/promises.yaml` and the results of the last round,"
        " not edited by hand. The states are described in `tools/checks/promises.py`.",
        "",
        f"{counts}.",
        "",
        "| report | passed | failed | skipped |",
        "|---|---:|---:|---:|",
    ]
    for name, cases in results.reports.items():
        states = Counter(case.state for case in cases)
        out.append(f"| {name} | {states['passed']} | {states['failed']} | {states['skipped']} |")
    for section, items in rows.items():
        out += ["", f"## {section}", "", "| promise | state | shown by, or reason |", "|---|---|---|"]
        out += [f"| {escape_cell(row.promise)} | {row.state} | {escape_cell(row.proof)} |" for row in items]
    return "\n".join(out) + "\n"


def escape_cell(text: str) -> str:
    """Return text that does not end a table cell."""
    return " ".join(text.split()).replace("|", "\\|")


def load_results(folder: Path = RESULTS) -> Results:
    """Return the results of the last round. Raises FileNotFoundError where there was none."""
    reports = read_results(folder)
    if not reports:
        raise FileNotFoundError(f"no reports in {folder}; run ./culprit test first")
    return Results(reports, read_sessions(folder))


def write_page(results: Path = RESULTS, target: Path = STATUS) -> None:
    """Write the page from the results of a round. Raises FileNotFoundError where there was none."""
    target.write_text(render_page(load_promises() | load_catalog(), load_results(results)), "utf-8")


def main(arguments: list[str]) -> int:
    """Exit code 1 where a named test does not exist."""
    absent = find_absent_tests(load_promises())
    for test in absent:
        sys.stderr.write(f"docs/promises.yaml names a test that does not exist: {test}\n")
    if "--check" not in arguments:
        write_page()
    return int(bool(absent))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
