"""docs/status.md: the evidence for a promise; a promise names only tests that exist."""

from __future__ import annotations

import subprocess
from pathlib import Path
from typing import Any

import pytest

from tools.checks import promises
from tools.checks.junit import Case, read_report
from tools.checks.promises import Results

REPORTS = {
    "e2e": [Case("first.spec.ts::draws a flame", "passed"), Case("first.spec.ts::zooms", "failed")],
    "pytest": [
        Case("backend.culprit.tests.launcher.test_x::test_good[1]", "passed"),
        Case("backend.culprit.tests.launcher.test_x::test_good[2]", "passed"),
        Case("backend.culprit.tests.launcher.test_x::test_bad", "failed"),
        Case("backend.culprit.tests.launcher.test_x.TestGroup::test_in_class", "passed"),
        Case("backend.culprit.tests.launcher.test_xy::test_many[1]", "passed"),
        Case("backend.culprit.tests.launcher.test_xy::test_many[2]", "skipped"),
        Case("backend.culprit.tests.domain.test_y::test_pure", "passed"),
        Case("collectors.tests.test_z::test_golden[iostat/1]", "passed"),
    ],
}
RESULTS = Results(REPORTS, {"lint": "success", "e2e": "failed"})
X = "backend/culprit/tests/launcher/test_x.py"


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({}, "missing", ""),
        ({"untested": "needs a big machine"}, "not run", "big machine"),
        ({"tests": [f"{X}::test_good"]}, "real", "test_good"),
        ({"tests": [f"{X}::TestGroup::test_in_class"]}, "real", "test_in_class"),
        ({"tests": [f"{X}::test_bad"]}, "not run", "failed"),
        ({"tests": [X]}, "not run", "failed"),
        ({"tests": ["backend/culprit/tests/launcher/test_xy.py"]}, "not run", "1 of 2 skipped"),
        ({"tests": ["backend/culprit/tests/launcher/test_xy.py::test_many[1]"]}, "real", "test_many"),
        ({"tests": [f"{X}::test_good", f"{X}::test_bad"]}, "not run", "test_bad"),
        ({"tests": [f"{X}::test_none"]}, "not run", "did not run"),
        ({"tests": ["backend/culprit/tests/domain/test_y.py"]}, "hand-written", "test_y"),
        ({"tests": ["collectors/tests/test_z.py::test_golden[iostat/1]"]}, "recorded", "iostat"),
        ({"tests": ["e2e/tests/first.spec.ts::draws a flame"]}, "real", "flame"),
        ({"tests": ["e2e/tests/first.spec.ts::zooms"]}, "not run", "failed"),
        ({"sessions": ["lint"]}, "real", "lint"),
        ({"sessions": ["e2e"]}, "not run", "failed"),
        ({"sessions": ["none"]}, "not run", "did not run"),
        ({"command": "bench/x", "figure": "3 s"}, "out of date", "3 s"),
        ({"sessions": ["lint"], "untested": "not on arm64"}, "real", "not covered: not on arm64"),
    ],
)
def test_judge_promise_names_the_state_and_why(fields: dict[str, Any], state: str, words: str) -> None:
    row = promises.judge_promise({"promise": "p", **fields}, RESULTS)
    assert row.state == state
    assert words in row.proof


def test_a_figure_is_out_of_date_once_its_code_changes(tmp_path: Path) -> None:
    def git(*arguments: str) -> str:
        identity = ["-c", "user.name=x", "-c", "user.email=x@example.org"]
        command = ["git", *identity, *arguments]
        return subprocess.run(
            command, cwd=tmp_path, check=True, capture_output=True, text=True
        ).stdout.strip()

    git("init", "-q")
    (tmp_path / "a.py").write_text("1\n")
    (tmp_path / "b.py").write_text("1\n")
    git("add", ".")
    git("commit", "-qm", "First")
    figure = {"promise": "p", "command": "bench/x", "commit": git("rev-parse", "HEAD"), "code": ["a.py"]}
    (tmp_path / "b.py").write_text("2\n")
    git("commit", "-qam", "Other code")
    assert promises.judge_promise(figure, RESULTS, tmp_path).state == "measured"
    (tmp_path / "a.py").write_text("2\n")
    git("commit", "-qam", "Its code")
    assert promises.judge_promise(figure, RESULTS, tmp_path).state == "out of date"
    assert promises.judge_promise(figure | {"commit": "0" * 40}, RESULTS, tmp_path).state == "out of date"


def test_render_page_escapes_and_counts() -> None:
    sections = {"One": [{"promise": "a | b", "sessions": ["lint"]}], "Two": [{"promise": "c"}]}
    page = promises.render_page(sections, RESULTS)
    assert "1 real, 0 recorded, 0 hand-written, 0 measured, 0 out of date, 0 not run, 1 missing." in page
    assert "| a \\| b | real |" in page
    assert "| c | missing |  |" in page
    assert "| pytest | 6 | 1 | 1 |" in page


def test_every_named_test_exists() -> None:
    assert promises.find_absent_tests(promises.load_promises()) == []


def test_find_absent_tests_returns_tests_that_are_gone(tmp_path: Path) -> None:
    text = "def test_there():\n    ...\nclass TestB:\n    def test_in(self): ...\n"
    (tmp_path / "test_a.py").write_text(text)
    (tmp_path / "a.spec.ts").write_text("test('opens', async () => {})")
    named = ["test_a.py", "test_a.py::test_there[x]", "test_a.py::TestB::test_in", "a.spec.ts::opens"]
    gone = ["test_a.py::test_ther", "test_b.py", "a.spec.ts::closes"]
    sections = {"s": [{"promise": "p", "tests": [*named, *gone]}]}
    assert promises.find_absent_tests(sections, tmp_path) == sorted(gone)


def test_load_promises_refuses_unknown_fields(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("s:\n  - promise: p\n    test: [x]\n")
    with pytest.raises(ValueError, match="test"):
        promises.load_promises(tmp_path / "p.yaml")


def test_load_results_needs_a_round(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match="no reports"):
        promises.load_results(tmp_path)


def test_read_report_maps_states(tmp_path: Path) -> None:
    (tmp_path / "j.xml").write_text(
        '<testsuites><testsuite><testcase classname="a.b" name="1"/>'
        '<testcase classname="a.b" name="2"><failure message="x"/></testcase>'
        '<testcase classname="a.b" name="3"><error/></testcase>'
        '<testcase classname="a.b" name="4"><skipped message="x"/></testcase></testsuite></testsuites>'
    )
    states = [case.state for case in read_report(tmp_path / "j.xml")]
    assert states == ["passed", "failed", "failed", "skipped"]
