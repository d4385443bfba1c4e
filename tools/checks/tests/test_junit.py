"""The summary of a run: failed tests with their messages, failed sessions, and counts."""

from __future__ import annotations

import json
from pathlib import Path

from tools.checks.junit import MAX_FAILURES, MESSAGE_LINES, summarize_results


def test_summary_ends_with_the_reasons_for_failures(tmp_path: Path) -> None:
    lines = "\n".join(f"line {number}" for number in range(100))
    (tmp_path / "j.xml").write_text(
        '<testsuites><testsuite><testcase classname="a.b" name="1"/>'
        '<testcase classname="a.b" name="2"><failure message="x"/></testcase>'
        f'<testcase classname="c.spec.ts" name="3"><failure message="m">{lines}</failure></testcase>'
        '<testcase classname="a.b" name="4"><skipped message="x"/></testcase></testsuite></testsuites>'
    )
    sessions = [{"name": "server", "result": "success"}, {"name": "e2e", "result": "aborted"}]
    (tmp_path / "nox-server.json").write_text(json.dumps({"sessions": sessions}))
    summary = summarize_results(tmp_path).splitlines()
    assert summary[:3] == ["FAILED a.b::2", "    x", "FAILED c.spec.ts::3"]
    assert summary[3:-2] == [
        *(f"    line {number}" for number in range(MESSAGE_LINES)),
        "    …",
        *(f"    line {number}" for number in range(100 - MESSAGE_LINES, 100)),
    ]
    assert summary[-2:] == ["failed sessions: e2e", "1 passed, 2 failed, 1 skipped"]


def test_summary_bounds_the_failures(tmp_path: Path) -> None:
    cases = "".join(
        f'<testcase classname="a" name="{number}"><failure>x</failure></testcase>'
        for number in range(MAX_FAILURES + 5)
    )
    (tmp_path / "j.xml").write_text(f"<testsuite>{cases}</testsuite>")
    summary = summarize_results(tmp_path).splitlines()
    assert len(summary) == 2 * MAX_FAILURES + 1
    assert summary[-1] == f"0 passed, {MAX_FAILURES + 5} failed, 0 skipped"
