"""The second stage of `./culprit test`, under .venv's Python: run the phases, print the table."""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import sys
import time
from pathlib import Path
from types import FrameType

from culprit.launch import warden
from culprit.launch.checks import again, failures, status
from culprit.launch.checks.outcome import Outcome
from culprit.launch.checks.phases import PHASES, run_phase
from culprit.launch.checks.round import Round
from culprit.launch.paths import ROOT
from culprit.launch.progress import Progress

RESULTS = ROOT / ".test-results"
MAX_TOLD, MAX_NAMED = 10, 100  # failed cases with their reason; then by name


def main(arguments: list[str]) -> int:
    """Exit code 0 where everything passed, 1 where anything failed."""
    parser = argparse.ArgumentParser(prog="culprit test", description="Prove that all of it works.")
    parser.add_argument(
        "--full", action="store_true", help="with all rounds and journeys, and docs/status.md"
    )
    parser.add_argument(
        "--only", action="append", choices=list(PHASES), metavar="PHASE",
        help=f"run only this phase (may be repeated): {', '.join(PHASES)}",
    )  # fmt: skip
    parser.add_argument(
        "--again",
        nargs="*",
        metavar="FILE",
        help="run what failed in the last round once more, with these test files, and correct its table",
    )
    given = parser.parse_args(arguments)
    progress = Progress()
    if given.again is not None:
        return run_again(progress, given.again)
    names = given.only or list(PHASES)
    if not given.only:
        shutil.rmtree(RESULTS, ignore_errors=True)
    RESULTS.mkdir(exist_ok=True)
    round_ = Round(RESULTS, given.full, progress)
    outcomes: dict[str, Outcome] = {}
    for name in names:
        progress.say(f"{name} …")
        started = time.monotonic()
        outcome = run_phase(name, round_)
        outcome.seconds = time.monotonic() - started
        outcomes[name] = outcome
        report(name, outcome, progress)
    write(RESULTS / "summary.json", outcomes, full=given.full)
    if given.full and not given.only:
        status.generate(RESULTS)
    return conclude(outcomes, progress)


def run_again(progress: Progress, files: list[str]) -> int:
    """Exit code 0 where all of the last round has passed by now, and so have `files`."""
    if lost := [one for one in files if not (ROOT / one).is_file()]:
        sys.stderr.write(f"culprit: no such test file: {', '.join(lost)}\n")
        return 2
    try:
        last = json.loads((RESULTS / "summary.json").read_text("utf-8"))
    except FileNotFoundError:
        sys.stderr.write("culprit: there was no round yet; ./culprit test makes one\n")
        return 2
    outcomes = again.run(last["phases"], Round(RESULTS, last["full"], progress), files)
    for name, outcome in outcomes.items():
        if outcome.failed:
            report(name, outcome, progress)
    write(RESULTS / "summary.json", outcomes, full=last["full"])
    if last["full"]:
        status.generate(RESULTS)
    return conclude(outcomes, progress)


def report(name: str, outcome: Outcome, progress: Progress) -> None:
    """How a phase went; where it failed why each case did, and the end of what was printed."""
    word = "passed" if outcome.failed == 0 else "FAILED"
    progress.say(f"{name}: {word} in {outcome.seconds:.1f} s")
    if outcome.refused:
        sys.stdout.write(f"  {outcome.refused}\n")
    failed = [case for case in outcome.cases if case.state == "failed"]
    for at, case in enumerate(failed[:MAX_NAMED]):
        sys.stdout.write(f"  failed: {case.id}\n")
        if at < MAX_TOLD:
            sys.stdout.write("".join(f"  | {line}\n" for line in case.reason.splitlines()))
    if len(failed) > MAX_NAMED:
        sys.stdout.write(f"  and {len(failed) - MAX_NAMED} more\n")
    for log in outcome.logs:
        lines = failures.plain(log.path.read_text("utf-8", "replace")).splitlines()
        sys.stdout.write(f"  {os.path.relpath(log.path, ROOT)} ({len(lines)} lines) ends:\n")
        sys.stdout.write("".join(f"  | {line}\n" for line in lines[-log.lines :]))
    sys.stdout.flush()


def write(path: Path, outcomes: dict[str, Outcome], *, full: bool) -> None:
    """The table for machines: counts, seconds and every case."""
    phases = {
        name: {
            "passed": one.passed,
            "failed": one.failed,
            "skipped": one.skipped,
            "seconds": round(one.seconds, 1),
            "refused": one.refused,
            "again": one.again,
            "cases": {case.id: [case.state, case.reason] for case in one.cases},
        }
        for name, one in outcomes.items()
    }
    path.write_text(json.dumps({"full": full, "phases": phases}, indent=1) + "\n", "utf-8")


def conclude(outcomes: dict[str, Outcome], progress: Progress) -> int:
    """The table for people, and the one line that says how it went."""
    sys.stdout.write(f"\n{'phase':<12}{'passed':>8}{'failed':>8}{'skipped':>9}{'seconds':>10}\n")
    for name, one in outcomes.items():
        sys.stdout.write(f"{name:<12}{one.passed:>8}{one.failed:>8}{one.skipped:>9}{one.seconds:>10.1f}\n")
    total = time.monotonic() - progress.began
    passed = sum(one.passed for one in outcomes.values())
    failed = sum(one.failed for one in outcomes.values())
    sys.stdout.write(f"{'all':<12}{passed:>8}{failed:>8}{'':>9}{total:>10.1f}\n\n")
    sys.stdout.write(f"{passed} passed, {failed} failed\n")
    return int(failed > 0)


def interrupted(number: int, _: FrameType | None) -> None:
    """SIGTERM ends the phase that runs, like Ctrl-C."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    signal.signal(signal.SIGTERM, interrupted)
    warden.adopt_orphans()
    try:
        code = main(sys.argv[1:])
    except KeyboardInterrupt:
        code = 130
    finally:
        warden.sweep(grace_s=1.0)
    sys.exit(code)
