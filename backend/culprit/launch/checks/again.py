"""`./culprit test --again [FILE ...]`: what failed in the last round is run once more, and its table corrected.

A full round takes half an hour. After a correction, the test files of the server that had a failure are run again,
those that are named with them, and any other phase that had one as a whole; the page says which. Everything else stays
as it was found.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from culprit.launch.checks.outcome import Case, Outcome
from culprit.launch.checks.phases import run_phase, run_tests
from culprit.launch.checks.round import Round
from culprit.launch.paths import ROOT

Phases = dict[str, dict[str, Any]]


def file_of(case: str, root: Path = ROOT) -> str:
    """The test file of a case as pytest names it, `backend.culprit.tests.x::name`; '' where there is none."""
    parts = case.partition("::")[0].split(".")
    while parts:
        for top in ("", "backend/"):
            path = f"{top}{'/'.join(parts)}.py"
            if (root / path).is_file():
                return path
        parts.pop()
    return ""


def failed_files(phase: dict[str, Any], root: Path = ROOT) -> list[str]:
    """The files of the cases that failed; empty where a failure has none, so that only the whole will do."""
    failed = [case for case, (state, _) in phase["cases"].items() if state == "failed"]
    files = {file_of(case, root) for case in failed}
    return sorted(files) if files and "" not in files and len(failed) == phase["failed"] else []


def run(phases: Phases, round_: Round, also: Sequence[str] = ()) -> dict[str, Outcome]:
    """The outcomes of all phases, those that failed run again. `phases` is that of the last summary.

    `also` are test files of the server that are new since, or have changed.
    """
    outcomes = {}
    for name, phase in phases.items():
        outcomes[name] = outcome = kept(phase)
        wanted = also if name == "server" else ()
        if not phase["failed"] and not wanted:
            continue
        began = time.monotonic()
        files = failed_files(phase) if name == "server" and phase["failed"] else []
        if name == "server" and (files or not phase["failed"]):
            files = sorted({*files, *wanted})
        round_.progress.say(f"{name} again: {', '.join(files) or 'all of it'} …")
        if files:
            outcomes[name] = corrected(outcome, run_tests(files, round_), files)
        else:
            outcomes[name] = run_phase(name, round_)
        outcomes[name].again = [*phase.get("again", []), *(files or ["all of it"])]
        outcomes[name].seconds = phase["seconds"] + time.monotonic() - began
    return outcomes


def kept(phase: dict[str, Any]) -> Outcome:
    """A phase as it was found."""
    cases = [Case(case, state, reason) for case, (state, reason) in phase["cases"].items()]
    counts = {name: phase[name] for name in ("passed", "failed", "skipped", "refused", "seconds")}
    return Outcome(**counts, cases=cases, again=phase.get("again", []))


def corrected(before: Outcome, fresh: Outcome, files: list[str]) -> Outcome:
    """The cases of `before`, with those of `files` as they are in `fresh`."""
    cases = [case for case in before.cases if file_of(case.id) not in files] + fresh.cases
    made = Outcome(cases=cases, logs=fresh.logs, refused=fresh.refused)
    for case in cases:
        setattr(made, case.state, getattr(made, case.state) + 1)
    if fresh.failed and not made.failed:
        made.failed = fresh.failed  # the runner itself failed, and named no test
    return made
