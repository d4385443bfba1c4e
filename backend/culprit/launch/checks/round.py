"""One run of `./culprit test`: where its results are, and how it runs a command."""

from __future__ import annotations

import os
import subprocess
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from culprit.launch import children, warden
from culprit.launch.checks.outcome import SHORT_TAIL_LINES, Log, Outcome
from culprit.launch.paths import ROOT, VENV, python_path
from culprit.launch.progress import Progress

# Settings of a platform that happens to be configured in this shell are not those of the tests.
FOREIGN = ("CULPRIT_", "DATABASE_URL", "REDIS_URL", "S3_")
PASSED_ON = ("CULPRIT_TEST_",)


@dataclass(slots=True)
class Round:
    """One run of `./culprit test`: where results go, and whether it is the full one."""

    results: Path
    full: bool
    progress: Progress
    started: set[int] = field(default_factory=set)
    """Pids of processes whose exit codes are read elsewhere."""

    def environment(self) -> dict[str, str]:
        """The environment of every check."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if name.startswith(PASSED_ON) or not name.startswith(FOREIGN)
        }
        path = f"{VENV / 'bin'}{os.pathsep}{kept.get('PATH', os.defpath)}"
        return kept | {"PYTHONPATH": python_path(), "PATH": path}

    def run(
        self,
        step: str,
        command: list[str],
        *,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 900.0,
    ) -> int:
        """Run a command with its output in `STEP.log`; returns its exit code, 124 where it took too long."""
        with self.log(step).open("wb") as log:
            log.write(f"$ {' '.join(command)}\n".encode())
            log.flush()
            child = subprocess.Popen(
                children.guarded(command), stdin=subprocess.DEVNULL, stdout=log, stderr=subprocess.STDOUT,
                cwd=cwd, env=dict(self.environment() if env is None else env), start_new_session=True,
            )  # fmt: skip
            try:
                return wait_and_reap(child, timeout_s, self.started)
            except subprocess.TimeoutExpired:
                log.write(f"culprit test: more than {timeout_s:.0f} s, killed\n".encode())
                return 124
            finally:
                children.kill_group(child.pid)
                child.wait()

    def log(self, step: str) -> Path:
        """Where a step prints."""
        return self.results / f"{step}.log"

    def tool(
        self, step: str, command: list[str], *, cwd: Path = ROOT, env: Mapping[str, str] | None = None
    ) -> Outcome:
        """A tool that says yes or no; it counts as one test."""
        outcome = Outcome.of_exit(self.run(step, command, cwd=cwd, env=env))
        if outcome.failed:
            outcome.logs.append(Log(self.log(step)))
        return outcome

    def runner(
        self,
        step: str,
        junit: Path,
        command: list[str],
        *,
        cwd: Path = ROOT,
        env: Mapping[str, str] | None = None,
        timeout_s: float = 900.0,
        may_be_empty: bool = False,
    ) -> Outcome:
        """A test runner that writes `junit`; of its own words little is shown where each failure says why."""
        junit.unlink(missing_ok=True)
        code = self.run(step, command, cwd=cwd, env=env, timeout_s=timeout_s)
        outcome = Outcome.of_junit(junit, code)
        if may_be_empty and code == 0 and not outcome.cases:
            return Outcome()
        if outcome.failed:
            named = any(case.state == "failed" for case in outcome.cases)
            outcome.logs.append(Log(self.log(step), SHORT_TAIL_LINES) if named else Log(self.log(step)))
        return outcome


def wait_and_reap(child: subprocess.Popen[bytes], timeout_s: float, others: set[int]) -> int:
    """Return the exit code of `child`; meanwhile collect the ended orphans that this process adopted, but not `others`.

    Hundreds of zombies would slow down every test that reads all of /proc. Raises subprocess.TimeoutExpired.
    """
    until = time.monotonic() + timeout_s
    while True:
        left_s = until - time.monotonic()
        try:
            return child.wait(max(0.0, min(1.0, left_s)))
        except subprocess.TimeoutExpired:
            if left_s <= 0:
                raise
            warden.reap_adopted({child.pid} | others)
