"""A failed case says why, in lines that the three runners really write."""

from __future__ import annotations

from pathlib import Path
from xml.sax.saxutils import escape, quoteattr

import pytest
from culprit.launch.checks import __main__ as command
from culprit.launch.checks.failures import MAX_LINES, MAX_WIDTH, why
from culprit.launch.checks.outcome import Case, Log, Outcome, read_junit
from culprit.launch.progress import Progress

PYTEST = """config = Settings(home=PosixPath('/tmp/home'), lease_seconds=30)

    def test_it_adds() -> None:
        # what is asserted stands far below what leads to it
        found = add(1, 2)
>       assert found == 3
E       AssertionError: #x1B[31massert 4 == 3#x1B[0m
E        +  where 4 = add(1, 2)

backend/culprit/tests/test_add.py:12: AssertionError"""

VITEST = """AssertionError: expected [ 'a' ] to deeply equal [ 'b' ]

\u001b[32m- Expected\u001b[39m
+ Received

 ❯ src/core/comment.test.ts:14:68"""

PLAYWRIGHT = """  [journeys] › reports.spec.ts:28:3 › a report travels ──────────────────────────

    Error: expect(locator).toBeVisible() failed

    Locator: getByRole('dialog').getByText('Approved')
    Expected: visible
    Timeout: 15000ms

    Call log:
      - Expect "toBeVisible" with timeout 15000ms
      - waiting for getByRole('dialog').getByText('Approved')


      47 |   await page.getByRole("button", { name: "Ask for approval" }).last().click();
    > 48 |   await expect(dialog.getByText("Approved")).toBeVisible();
         |                                              ^
      49 |   await dialog.close();
        at /srv/culprit/e2e/tests/reports.spec.ts:48:46

    attachment #1: screenshot (image/png) ──────────────────────────────────────────
    ../.test-results/e2e/journeys/reports/test-failed-1.png
    ────────────────────────────────────────────────────────────────────────────────

    Error Context: ../.test-results/e2e/journeys/reports/error-context.md
"""


def test_of_pytest_it_is_what_was_asserted_and_where() -> None:
    assert why("AssertionError: assert 4 == 3\n +  where 4 = add(1, 2)", PYTEST).splitlines() == [
        ">       assert found == 3",
        "E       AssertionError: assert 4 == 3",
        "E        +  where 4 = add(1, 2)",
        "backend/culprit/tests/test_add.py:12: AssertionError",
    ]


def test_of_vitest_it_is_the_difference_without_colours() -> None:
    told = why("expected [ 'a' ] to deeply equal [ 'b' ]", VITEST).splitlines()
    assert told[0].startswith("AssertionError") and told[-1].endswith("comment.test.ts:14:68")
    assert "- Expected" in told, "without colours"


def test_of_playwright_it_is_the_call_log_and_the_lines_around() -> None:
    told = why("reports.spec.ts:28:3 a report travels", PLAYWRIGHT)
    assert told.startswith("  [journeys] › reports.spec.ts:28:3 › a report travels\n"), (
        "once, and without a rule"
    )
    assert "      - waiting for getByRole('dialog')" in told and "    > 48 |   await expect(dialog" in told
    assert "attachment" not in told and "test-failed-1.png" not in told
    assert told.splitlines()[-1].startswith("    Error Context: ")


def test_a_long_one_keeps_both_ends_and_says_what_it_left_out() -> None:
    text = "\n".join(f"step {number}" for number in range(100))
    told = why("timed out\nafter a while", f"{text}\n{'x' * 1000}").splitlines()
    assert len(told) == MAX_LINES and told[:3] == ["timed out", "after a while", "step 0"]
    assert "… 74 lines" in told and told[-2] == "step 99"
    assert len(told[-1]) == MAX_WIDTH and told[-1].endswith("…")


@pytest.mark.parametrize(
    ("message", "text", "told"),
    [
        ("", "", ""),
        ("worker 'gw1' crashed while running 'x'", "worker 'gw1' crashed while running 'x'", None),
        ("only this", "", "only this"),
        ("", "E", "E"),
    ],
)
def test_little_is_told_as_it_is(message: str, text: str, told: str | None) -> None:
    assert why(message, text) == (message if told is None else told)


def test_it_is_read_from_the_table(tmp_path: Path) -> None:
    table = tmp_path / "junit.xml"
    table.write_text(
        '<testsuites><testsuite><testcase classname="a" name="good"/>'
        f'<testcase classname="a" name="bad"><failure message={quoteattr("x")}>{escape(PYTEST)}</failure></testcase>'
        '<testcase classname="a" name="broken"><error message="failed on setup"/></testcase>'
        '<testcase classname="a" name="left"><skipped message="no apt"/></testcase>'
        "</testsuite></testsuites>",
        "utf-8",
    )
    good, bad, broken, left = read_junit(table)
    assert (good.state, good.reason) == ("passed", "")
    assert bad.state == "failed" and "assert 4 == 3" in bad.reason
    assert (broken.state, broken.reason) == ("failed", "failed on setup")
    assert (left.state, left.reason) == ("skipped", "no apt")


def test_a_phase_that_failed_tells_ten_in_full_and_the_rest_by_name(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    log = tmp_path / "e2e.log"
    log.write_text("".join(f"\x1b[1mline {number}\x1b[0m\n" for number in range(100)), "utf-8")
    cases = [Case(f"a::{number}", "failed", f"because {number}\nof it") for number in range(120)]
    outcome = Outcome(failed=120, cases=[Case("a::good", "passed"), *cases], logs=[Log(log, 3)])
    command.report("e2e", outcome, Progress())
    said = capsys.readouterr().out
    assert "  failed: a::9\n  | because 9\n  | of it\n" in said and "because 10" not in said
    assert "  failed: a::99\n  and 20 more\n" in said and "good" not in said
    assert said.endswith("(100 lines) ends:\n  | line 97\n  | line 98\n  | line 99\n")
