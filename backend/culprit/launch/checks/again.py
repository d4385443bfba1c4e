"""`./culprit test --again [FILE ...]`: what failed in the last round is run once more, and its table corrected.

A full round takes half an hour. After a correction, the test files of the server and the journeys that had a failure
are run again, those that are named with them, and any other phase that had one as a whole; the page says which.
Everything else stays as it was found.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from culprit.launch.checks import journeys
from culprit.launch.checks.outcome import Case, Outcome
from culprit.launch.checks.phases import run_phase, run_tests
from culprit.launch.checks.round import Round
from culprit.launch.paths import ROOT

Phases = dict[str, dict[str, Any]]
SPEC = ".spec.ts"


def file_of(case: str, root: Path = ROOT) -> str:
    """The test file of a case, `backend.culprit.tests.x::name` or `x.spec.ts::title`; '' where there is none."""
    where = case.partition("::")[0]
    if where.endswith(SPEC):
        spec = f"e2e/tests/{where}"
        return spec if (root / spec).is_file() else ""
    parts = where.split(".")
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

    `also` are test files of the server, and journeys, that are new since, or have changed.
    """
    outcomes = {}
    for name, phase in phases.items():
        outcomes[name] = outcome = kept(phase)
        alone = by_file(name)
        wanted = [file for file in also if alone and (name == "e2e") == file.endswith(SPEC)]
        if not phase["failed"] and not wanted:
            continue
        began = time.monotonic()
        files = failed_files(phase) if alone and phase["failed"] else []
        if alone and (files or not phase["failed"]):
            files = sorted({*files, *wanted})
        round_.progress.say(f"{name} again: {', '.join(files) or 'all of it'} …")
        if alone and files:
            outcomes[name] = corrected(outcome, alone(files, round_), files)
        else:
            outcomes[name] = run_phase(name, round_)
        outcomes[name].again = [*phase.get("again", []), *(files or ["all of it"])]
        outcomes[name].seconds = phase["seconds"] + time.monotonic() - began
    return outcomes


def by_file(name: str) -> Callable[[list[str], Round], Outcome] | None:
    """How a phase is run over some of its files; None where only the whole of it can be."""
    if name == "server":
        return run_tests
    if name == "e2e":
        return lambda files, round_: journeys.run(round_, files)
    return None


def kept(phase: dict[str, Any]) -> Outcome:
    """A phase as it was found."""
    cases = [Case(case, state, reason) for case, (state, reason) in phase["cases"].items()]
    counts = {name: phase[name] for name in ("passed", "failed", "skipped", "refused", "seconds")}
    return Outcome(**counts, cases=cases, again=phase.get("again", []))


def corrected(before: Outcome, fresh: Outcome, files: list[str]) -> Outcome:
    """The cases of `before`, with those of `files`, and of what ran with them, as they are in `fresh`."""
    replaced = {*files, *(file_of(case.id) for case in fresh.cases)}
    cases = [case for case in before.cases if file_of(case.id) not in replaced] + fresh.cases
    made = Outcome(cases=cases, logs=fresh.logs, refused=fresh.refused)
    for state in ("passed", "failed", "skipped"):
        unnamed = getattr(fresh, state) - sum(case.state == state for case in fresh.cases)
        setattr(made, state, unnamed + sum(case.state == state for case in cases))
    return made
