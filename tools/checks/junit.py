"""Results of pytest, vitest and Playwright, read from their JUnit reports, and those of sessions from nox."""

from __future__ import annotations

import json
import xml.etree.ElementTree as ET
from collections import Counter
from dataclasses import dataclass
from pathlib import Path


@dataclass(frozen=True, slots=True)
class Case:
    """One test: `id` is `file-or-class::name`; `state` is passed, failed or skipped."""

    id: str
    state: str


def read_report(path: Path) -> list[Case]:
    """Return the tests of one report. Raises OSError, ET.ParseError."""
    cases = []
    for case in ET.parse(path).getroot().iter("testcase"):  # noqa: S314
        tags = {child.tag for child in case}
        state = "failed" if tags & {"failure", "error"} else "skipped" if "skipped" in tags else "passed"
        owner = case.get("classname") or case.get("file") or ""
        cases.append(Case(f"{owner}::{case.get('name', '')}", state))
    return cases


def read_results(results: Path) -> dict[str, list[Case]]:
    """Return the tests of every report in a folder by the name of the report."""
    return {path.stem: read_report(path) for path in sorted(results.glob("*.xml"))}


def read_sessions(results: Path) -> dict[str, str]:
    """Return the result of each session (`success`, `failed`) from the reports of nox in a folder."""
    reports = [json.loads(path.read_text("utf-8")) for path in sorted(results.glob("nox-*.json"))]
    return {session["name"]: session["result"] for report in reports for session in report["sessions"]}


def summarize_results(results: Path) -> str:
    """Return the counts of all reports in one line."""
    states = Counter(case.state for cases in read_results(results).values() for case in cases)
    return f"{states['passed']} passed, {states['failed']} failed, {states['skipped']} skipped"
