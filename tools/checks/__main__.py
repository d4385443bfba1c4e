"""`./culprit test [PATH ...]`: run the sessions of noxfile.py, or single test files in seconds."""

from __future__ import annotations

import argparse
import contextlib
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import defaultdict
from collections.abc import Mapping, Sequence
from pathlib import Path
from types import FrameType, MappingProxyType

from culprit.launcher.paths import ROOT, VENV
from culprit.launcher.supervision import child_processes, process_guardian

from tools.checks import junit

RESULTS = ROOT / ".test-results"
#: Sessions without a host: in a whole run they fill the time that the lab waits for its hosts.
CHECKS = ("format", "lint", "types", "layers", "containers", "native", "frontend")
SESSIONS = (*CHECKS, "lab", "server", "e2e")
#: How many times longer the limits of the checks are while hosts of the lab take the CPUs, in some rounds completely.
LONGER_TIMEOUTS = {"CULPRIT_TEST_TIMEOUT_FACTOR": "5"}
#: Session by the ending of a test file.
SESSION_OF_FILE = {".spec.ts": "e2e", ".test.ts": "frontend", ".test.tsx": "frontend", ".py": "server"}


def session_of(path: str) -> str:
    """Return the session that runs a test file, folder or pytest node. Raises ValueError for anything else."""
    file = path.partition("::")[0]
    if not (ROOT / file).exists():
        raise ValueError(f"no such test file: {path}")
    for ending, session in SESSION_OF_FILE.items():
        if file.endswith(ending):
            return session
    folder = (ROOT / file).resolve().relative_to(ROOT)
    return {"frontend": "frontend", "e2e": "e2e"}.get(folder.parts[0], "server")


def plan_runs(options: argparse.Namespace) -> dict[tuple[str, ...], list[str]]:
    """Return the arguments of nox by the sessions that they are for. Raises ValueError."""
    flags = ["--full"] if options.full else []
    if options.paths:
        paths: dict[tuple[str, ...], list[str]] = defaultdict(lambda: list(flags))
        for path in options.paths:
            paths[(session_of(path),)].append(path)
        return paths
    if options.rerun_failed:
        failed = failed_sessions()
        return {failed: [*flags, "--rerun-failed"]} if failed else {}
    return {tuple(options.only or SESSIONS): flags}


def failed_sessions() -> tuple[str, ...]:
    """Return the sessions that did not succeed in the last run. Raises ValueError where there was none."""
    sessions = junit.read_sessions(RESULTS)
    if not sessions:
        raise ValueError("no test results found. Run `./culprit test` first.")
    return tuple(name for name in SESSIONS if sessions.get(name, "success") != "success")


def start_nox(
    sessions: Sequence[str],
    arguments: Sequence[str],
    *,
    prefix: Sequence[str] = (),
    log: Path | None = None,
    env: Mapping[str, str] = MappingProxyType({}),
) -> subprocess.Popen[bytes]:
    """Start sessions as one process, with their output in `log` or on the terminal; its report is `nox-*.json`."""
    report = RESULTS / f"nox-{sessions[0]}.json"
    command = [
        *prefix,
        *[str(VENV / "bin" / "nox"), "--noxfile", str(ROOT / "noxfile.py"), "--report", str(report)],
        *["--sessions", *sessions, "--", *arguments],
    ]
    RESULTS.mkdir(exist_ok=True)
    with contextlib.ExitStack() as stack:
        output = None if log is None else stack.enter_context(log.open("wb"))
        return subprocess.Popen(
            child_processes.guard_command(command),
            cwd=ROOT,
            stdout=output,
            stderr=output,
            env={**os.environ, **env},
        )


def wait_for(*children: subprocess.Popen[bytes]) -> int:
    """Wait for sessions; return 1 where one failed, else 0. Orphans of their tests are collected at the same time.

    Hundreds of zombies would slow down every test that reads all of /proc.
    """
    while any(child.poll() is None for child in children):
        time.sleep(0.5)
        process_guardian.reap_adopted({child.pid for child in children})
    return max(int(child.returncode != 0) for child in children)


def run_all(arguments: Sequence[str]) -> int:
    """Run every session and return the exit code.

    The checks run with the policy SCHED_IDLE, so that they do not delay the hosts of the lab, and with longer time
    limits. Server tests and journeys run afterwards without other load.
    """
    log = RESULTS / "checks.log"
    checks = start_nox(CHECKS, arguments, prefix=("chrt", "--idle", "0"), log=log, env=LONGER_TIMEOUTS)
    lab = start_nox(("lab",), arguments)
    code = wait_for(checks, lab)
    sys.stdout.write(log.read_text("utf-8", "replace"))
    sys.stdout.flush()
    return max(code, wait_for(start_nox(("server", "e2e"), arguments)))


def main(arguments: list[str]) -> int:
    """Return exit code 0 if everything passed, 1 if a check failed, 2 for a wrong command line."""
    parser = argparse.ArgumentParser(prog="culprit test", description="Run the checks of the project.")
    parser.add_argument("paths", nargs="*", metavar="PATH", help="run only these test files or folders")
    parser.add_argument("--full", action="store_true", help="run the slow tests too and write docs/status.md")
    parser.add_argument(
        "--only", action="append", choices=SESSIONS, metavar="SESSION",
        help=f"run only this session (may be repeated): {', '.join(SESSIONS)}",
    )  # fmt: skip
    parser.add_argument("--rerun-failed", action="store_true", help="run what failed in the last run again")
    options = parser.parse_args(arguments)
    try:
        runs = plan_runs(options)
    except ValueError as error:
        sys.stderr.write(f"culprit: {error}\n")
        return 2
    if options.only or options.paths or options.rerun_failed:
        for report in (*RESULTS.glob("nox-*.json"), *RESULTS.glob("*.xml")):
            report.unlink()
        code = max((wait_for(start_nox(*run)) for run in runs.items()), default=0)
    else:
        shutil.rmtree(RESULTS, ignore_errors=True)
        code = run_all(runs[SESSIONS])
    sys.stdout.write(f"{junit.summarize_results(RESULTS)}\n")
    if options.full and not options.only and not options.paths:
        subprocess.run([sys.executable, "-m", "tools.checks.promises"], cwd=ROOT, check=True)
    return int(code != 0)


def interrupt_session(number: int, _: FrameType | None) -> None:
    """End the running session at SIGTERM as at Ctrl-C."""
    raise KeyboardInterrupt(number)


if __name__ == "__main__":
    os.chdir(Path(ROOT))
    signal.signal(signal.SIGTERM, interrupt_session)
    process_guardian.adopt_orphans()
    try:
        exit_code = main(sys.argv[1:])
    except KeyboardInterrupt:
        exit_code = 130
    finally:
        process_guardian.kill_descendants(grace_s=1.0)
    sys.exit(exit_code)
