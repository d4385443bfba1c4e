"""Result of a check, and its text."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal

State = Literal["ok", "warning", "problem"]
MARKS: dict[State, str] = {"ok": "ok", "warning": "WARNING", "problem": "PROBLEM"}


@dataclass(frozen=True, slots=True)
class CheckResult:
    """What a check reports: one sentence, and for a warning or a problem the command that helps."""

    check: str
    state: State
    message: str
    command: str | None = None


def parse_results(document: dict[str, Any]) -> list[CheckResult]:
    """Return the checks of the JSON answer of culprit.server.doctor."""
    return [
        CheckResult(str(item["check"]), item["state"], str(item["message"]), item["command"])
        for item in document["checks"]
    ]


def print_results(results: Sequence[CheckResult]) -> None:
    """Print one line for each check, the command that helps below it, and a summary."""
    width = max(len(result.check) for result in results)
    for result in results:
        sys.stdout.write(f"{MARKS[result.state]:<8}  {result.check:<{width}}  {result.message}\n")
        if result.command:
            sys.stdout.write(f"{'':<8}  {'':<{width}}  → {result.command}\n")
    counts = {state: sum(result.state == state for result in results) for state in MARKS}
    sys.stdout.write(
        f"\n{len(results)} checks: {counts['problem']} problems, {counts['warning']} warnings.\n"
    )
