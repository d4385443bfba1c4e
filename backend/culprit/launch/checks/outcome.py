"""What a phase came to, and how JUnit files are counted."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from dataclasses import dataclass, field
from pathlib import Path

from culprit.launch.checks import failures

TAIL_LINES, SHORT_TAIL_LINES = 60, 15


@dataclass(frozen=True, slots=True)
class Case:
    """One test of a JUnit file; `id` is `file-or-class::name`. `reason`: why it failed, or was not run."""

    id: str
    state: str  # passed | failed | skipped
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Log:
    """What a step that failed has printed, and how much of its end is worth showing."""

    path: Path
    lines: int = TAIL_LINES


@dataclass(slots=True)
class Outcome:
    """Counts of a phase. `refused` is the line that mends what the phase lacks."""

    passed: int = 0
    failed: int = 0
    skipped: int = 0
    refused: str = ""
    seconds: float = 0.0
    cases: list[Case] = field(default_factory=list)
    logs: list[Log] = field(default_factory=list)
    again: list[str] = field(default_factory=list)  # what was run once more after a correction

    def add(self, other: Outcome) -> None:
        """Count the steps of `other` too."""
        self.passed += other.passed
        self.failed += other.failed
        self.skipped += other.skipped
        self.refused = self.refused or other.refused
        self.cases += other.cases
        self.logs += other.logs

    @classmethod
    def of_exit(cls, code: int) -> Outcome:
        """A tool that says yes or no counts as one test."""
        return cls(passed=int(code == 0), failed=int(code != 0))

    @classmethod
    def of_junit(cls, path: Path, code: int) -> Outcome:
        """Counts of a JUnit file; a runner that failed without naming a failed test counts as one failure."""
        try:
            cases = read_junit(path)
        except (OSError, ET.ParseError):
            return cls(failed=1)
        made = cls(cases=cases)
        for case in cases:
            setattr(made, case.state, getattr(made, case.state) + 1)
        if code != 0 and made.failed == 0:
            made.failed = 1
        if not cases and code == 0:
            made.failed = 1  # a runner that found nothing to run proves nothing
        return made


def read_junit(path: Path) -> list[Case]:
    """All cases of a file, from pytest, vitest or Playwright. Raises OSError, ET.ParseError."""
    root = ET.parse(path).getroot()  # noqa: S314
    found = []
    for case in root.iter("testcase"):
        children = {child.tag: child for child in case}
        bad = children.get("failure", children.get("error"))
        skipped = children.get("skipped")
        state, reason = "passed", ""
        if bad is not None:
            state, reason = "failed", failures.why(bad.get("message") or "", bad.text or "")
        elif skipped is not None:
            state, reason = "skipped", skipped.get("message") or ""
        where = case.get("classname") or case.get("file") or ""
        found.append(Case(f"{where}::{case.get('name', '')}", state, reason))
    return found
