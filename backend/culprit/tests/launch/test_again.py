"""A round is corrected by what is run again, and by nothing else."""

from __future__ import annotations

from pathlib import Path

from culprit.launch.checks import again
from culprit.launch.checks.again import corrected, failed_files, file_of, kept
from culprit.launch.checks.outcome import Case, Outcome
from culprit.launch.checks.round import Round
from culprit.launch.progress import Progress

HERE = "culprit.tests.launch.test_again"
FILE = "backend/culprit/tests/launch/test_again.py"
REPORTS = "e2e/tests/reports.spec.ts"


def phase(**cases: str) -> dict[str, object]:
    found = {f"{HERE}::{name}": [state, ""] for name, state in cases.items()}
    counts = {
        state: sum(one[0] == state for one in found.values()) for state in ("passed", "failed", "skipped")
    }
    return {**counts, "refused": "", "seconds": 1.0, "cases": found}


def test_a_case_leads_to_its_file(tmp_path: Path) -> None:
    assert file_of(f"{HERE}::test_x[1]") == FILE
    assert file_of(f"backend.{HERE}.TestClass::test_x") == FILE
    assert file_of("nowhere.at.all::test_x") == ""
    assert file_of("reports.spec.ts::a report travels") == REPORTS
    assert file_of("nowhere.spec.ts::a report travels") == ""
    assert file_of(f"{HERE}::test_x", tmp_path) == ""


def test_only_files_with_failures_are_run_again() -> None:
    assert failed_files(phase(one="passed", two="failed")) == [FILE]
    assert failed_files(phase(one="passed")) == []
    lost = phase(one="failed")
    lost["failed"] = 2
    assert failed_files(lost) == [], "a failure that no test is named for needs the whole phase"


def test_fresh_results_replace_those_of_their_files() -> None:
    before = kept(phase(one="passed", two="failed"))
    before.cases.append(Case("collectors.tests.test_clock::kept", "passed"))
    fresh = Outcome(passed=2, cases=[Case(f"{HERE}::one", "passed"), Case(f"{HERE}::two", "passed")])
    after = corrected(before, fresh, [FILE])
    assert (after.passed, after.failed, len(after.cases)) == (3, 0, 3)
    crashed = corrected(before, Outcome(failed=1), [FILE])
    assert (crashed.passed, crashed.failed) == (1, 1), "a runner that fails has proven nothing"


def test_files_that_are_named_are_run_with_those_that_failed(monkeypatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def fresh(files: list[str], _: Round) -> Outcome:
        asked.append(files)
        return Outcome(passed=1, cases=[Case(f"{HERE}::new", "passed")])

    monkeypatch.setattr(again, "run_tests", fresh)
    here = Round(tmp_path, True, Progress())
    sound = phase(one="passed")
    assert again.run({"server": sound, "lint": sound}, here)["server"].passed == 1 and asked == []
    found = again.run({"server": sound, "lint": sound}, here, [FILE])
    assert asked == [[FILE]] and [case.id for case in found["server"].cases] == [f"{HERE}::new"]


def test_a_journey_that_failed_is_run_alone(monkeypatch, tmp_path: Path) -> None:
    asked: list[list[str]] = []

    def fresh(_: Round, specs: list[str]) -> Outcome:
        asked.append(specs)
        cases = [Case(f"{name}.spec.ts::a", "passed") for name in ("first-visit", "reports")]
        return Outcome(passed=3, cases=cases)

    monkeypatch.setattr(again.journeys, "run", fresh)
    states = {"first-visit": "passed", "reports": "failed", "diagnose": "passed"}
    cases = {f"{name}.spec.ts::a": [state, ""] for name, state in states.items()}
    counts = {"passed": 3, "failed": 1, "skipped": 0, "refused": "", "seconds": 1.0}
    found = again.run({"e2e": {**counts, "cases": cases}}, Round(tmp_path, False, Progress()))["e2e"]
    assert asked == [[REPORTS]] and found.again == [REPORTS]
    assert (found.passed, found.failed, len(found.cases)) == (4, 0, 3), "with the tool that names no case"
    assert again.run(
        {"e2e": {**counts, "failed": 0, "cases": {}}}, Round(tmp_path, False, Progress()), [FILE]
    )
    assert asked == [[REPORTS]], "a file of the server is no journey"
