"""Results of pytest, vitest and Playwright, read from their JUnit reports, and those of sessions from nox."""

from __future__ import annotations

import json
import textwrap
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

#: How much of the failures a summary repeats.
MAX_FAILURES, MESSAGE_LINES, MAX_LINE = 20, 15, 300


@dataclass(frozen=True, slots=True)
class Case:
    """One test: `id` is `file-or-class::name`; `state` is passed, failed or skipped; `message` is of a failure."""

    id: str
    state: str
    message: str = ""


def read_report(path: Path) -> list[Case]:
    """Return the tests of one report. Raises OSError, ET.ParseError."""
    cases = []
    for case in ET.parse(path).getroot().iter("testcase"):  # noqa: S314
        tags = {child.tag for child in case}
        state = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        owner = case.get("classname") or case.get("file") or ""
        message = "\n".join(
            child.text or child.get("message") or "" for child in case if child.tag in ("failure", "error")
        )
        cases.append(Case(f"{owner}::{case.get('name', '')}", state, message))
    return cases


def read_results(results: Path) -> dict[str, list[Case]]:
    """Return the tests of every report in a folder by the name of the report."""
    return {path.stem: read_report(path) for path in sorted(results.glob("*.xml"))}


def read_sessions(results: Path) -> dict[str, str]:
    """Return the result of each session (`success`, `failed`) from the reports of nox in a folder."""
    reports = [json.loads(path.read_text("utf-8")) for path in sorted(results.glob("nox-*.json"))]
    return {session["name"]: session["result"] for report in reports for session in report["sessions"]}


def summarize_results(results: Path) -> str:
    """Return the failed tests of all reports with their messages, the failed sessions, and the counts as last line.

    A log that was cut still ends with the reason for the failure.
    """
    cases = [case for report in read_results(results).values() for case in report]
    states = Counter(case.state for case in cases)
    failures = [
        f"FAILED {case.id}\n{textwrap.indent(_shorten(case.message), '    ')}"
        for case in cases
        if case.state == "failed"
    ]
    sessions = [name for name, result in read_sessions(results).items() if result != "success"]
    failed_sessions = [f"failed sessions: {', '.join(sessions)}"] if sessions else []
    counts = f"{states['passed']} passed, {states['failed']} failed, {states['skipped']} skipped"
    return "\n".join([*failures[:MAX_FAILURES], *failed_sessions, counts])


def _shorten(message: str) -> str:
    """Return the first and the last lines of a message, without blank lines."""
    lines = [line for line in message.splitlines() if line.strip()]
    if len(lines) > 2 * MESSAGE_LINES:
        lines = [*lines[:MESSAGE_LINES], "…", *lines[-MESSAGE_LINES:]]
    return "\n".join(line[:MAX_LINE] for line in lines)
