"""docs/status.md: what counts as proven, and that a promise names only tests that exist."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from culprit.launch.checks import status
from culprit.launch.checks.outcome import Outcome, read_junit

PHASES: dict[str, Any] = {
    "lint": {"passed": 1, "failed": 0, "skipped": 0, "seconds": 1.0, "refused": "", "cases": {}},
    "e2e": {
        "passed": 1, "failed": 1, "skipped": 0, "seconds": 1.0, "refused": "",
        "cases": {"first.spec.ts::draws a flame": ["passed", ""], "first.spec.ts::zooms": ["failed", ""]},
    },
    "server": {
        "passed": 3, "failed": 1, "skipped": 1, "seconds": 9.0, "refused": "",
        "cases": {
            "backend.culprit.tests.launch.test_x::test_good[1]": ["passed", ""],
            "backend.culprit.tests.launch.test_x::test_good[2]": ["passed", ""],
            "backend.culprit.tests.launch.test_x::test_bad": ["failed", ""],
            "backend.culprit.tests.launch.test_x.TestGroup::test_in_class": ["passed", ""],
            "backend.culprit.tests.launch.test_xy::test_skipped": ["skipped", "no apt"],
        },
    },
}  # fmt: skip
X = "backend/culprit/tests/launch/test_x.py"


@pytest.mark.parametrize(
    ("fields", "state", "words"),
    [
        ({}, "missing", ""),
        ({"untested": "needs a big machine"}, "untested", "big machine"),
        ({"tests": [f"{X}::test_good"]}, "proven", "test_good"),
        ({"tests": [f"{X}::TestGroup::test_in_class"]}, "proven", "test_in_class"),
        ({"tests": [f"{X}::test_bad"]}, "untested", "failed"),
        ({"tests": [X]}, "untested", "failed"),
        ({"tests": ["backend/culprit/tests/launch/test_xy.py"]}, "untested", "did not run"),
        ({"tests": [f"{X}::test_good", f"{X}::test_bad"]}, "untested", "test_bad"),
        ({"tests": [f"{X}::test_none"]}, "untested", "did not run"),
        ({"tests": ["e2e/tests/first.spec.ts::draws a flame"]}, "proven", "flame"),
        ({"tests": ["e2e/tests/first.spec.ts::zooms"]}, "untested", "failed"),
        ({"phases": ["lint"]}, "proven", "--only lint"),
        ({"phases": ["e2e"]}, "untested", "failed"),
        ({"phases": ["none"]}, "untested", "did not run"),
        ({"command": "bench/x", "figure": "3 s"}, "proven", "3 s"),
        ({"phases": ["lint"], "untested": "not on arm64"}, "proven", "not covered: not on arm64"),
    ],
)
def test_judgement(fields: dict[str, Any], state: str, words: str) -> None:
    line = status.judge({"promise": "p", **fields}, PHASES)
    assert line.state == state
    assert words in line.proof


def test_page(tmp_path: Path) -> None:
    promises = {"One": [{"promise": "a | b", "phases": ["lint"]}], "Two": [{"promise": "c"}]}
    page = status.render(promises, {"phases": PHASES})
    assert "1 proven, 0 untested, 1 missing. Tests of that run: 5 passed, 2 failed." in page
    assert "| a \\| b | proven |" in page
    assert "| c | missing |  |" in page


def test_every_named_test_exists() -> None:
    assert status.absent_tests(status.load()) == []


def test_a_named_test_that_is_gone_is_found(tmp_path: Path) -> None:
    (tmp_path / "test_a.py").write_text(
        "def test_there():\n    ...\nclass TestB:\n    def test_in(self): ...\n"
    )
    (tmp_path / "a.spec.ts").write_text("test('opens', async () => {})")
    named = ["test_a.py", "test_a.py::test_there[x]", "test_a.py::TestB::test_in", "a.spec.ts::opens"]
    gone = ["test_a.py::test_ther", "test_b.py", "a.spec.ts::closes"]
    promises = {"s": [{"promise": "p", "tests": [*named, *gone]}]}
    assert status.absent_tests(promises, tmp_path) == sorted(gone)


def test_a_field_that_means_nothing_is_refused(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_text("s:\n  - promise: p\n    test: [x]\n")
    with pytest.raises(ValueError, match="test"):
        status.load(tmp_path / "p.yaml")


def test_the_page_comes_from_the_last_run(tmp_path: Path) -> None:
    (tmp_path / "summary.json").write_text(json.dumps({"full": True, "phases": PHASES}))
    status.generate(tmp_path, tmp_path / "status.md")
    assert (tmp_path / "status.md").read_text().startswith("# Status\n")


def test_results_of_runners_are_counted(tmp_path: Path) -> None:
    junit = tmp_path / "j.xml"
    junit.write_text(
        '<testsuites><testsuite><testcase classname="a.b" name="one"/>'
        '<testcase classname="a.b" name="two"><failure message="x"/></testcase>'
        '<testcase classname="a.b" name="three"><error/></testcase>'
        '<testcase classname="a.b" name="four"><skipped message="why"/></testcase></testsuite></testsuites>'
    )
    outcome = Outcome.of_junit(junit, 1)
    assert (outcome.passed, outcome.failed, outcome.skipped) == (1, 2, 1)
    assert read_junit(junit)[3].reason == "why"


@pytest.mark.parametrize(
    ("text", "code"), [("", 0), ("<testsuites/>", 0), ('<a><testcase name="x"/></a>', 1)]
)
def test_a_runner_that_proves_nothing_has_failed(text: str, code: int, tmp_path: Path) -> None:
    (tmp_path / "j.xml").write_text(text)
    assert Outcome.of_junit(tmp_path / "j.xml", code).failed == 1
    assert Outcome.of_junit(tmp_path / "none.xml", 0).failed == 1
