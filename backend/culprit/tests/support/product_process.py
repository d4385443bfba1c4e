"""Run the processes of the product without importing it for each.

The fork server of `multiprocessing` imports the product once per test process and forks it for each process. The
import takes several seconds of CPU time. Tests of the launcher and the journeys in the browser start real commands.
"""

from __future__ import annotations

import multiprocessing
import os
import signal
import subprocess
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from multiprocessing.context import ForkServerProcess
from pathlib import Path
from typing import Literal

from culprit.infra.settings import REPOSITORY

#: Name of the point at which the process fails; see crash_points.py.
CRASH_AT = "CULPRIT_TEST_CRASH_AT"
Program = Literal["api", "worker", "scheduler", "bootstrap", "cli"]
PRELOADED = (
    "culprit.cli.app",
    "culprit.jobs.registry",
    "culprit.server.bootstrap",
    "culprit.server.scheduler",
    "culprit.server.web",
    "culprit.server.worker",
    "culprit.tests.support.product_process",
    "culprit.tests.support.preloaded_product",
)


@dataclass(frozen=True, slots=True)
class ProcessSpec:
    """A program with its arguments, environment and the files of its standard streams."""

    program: Program
    arguments: tuple[str, ...]
    environment: dict[str, str]
    stdin: str
    stdout: str
    stderr: str


class ProductProcess:
    """A program of the product in its own session, with the part of `subprocess.Popen` that tests use."""

    def __init__(
        self,
        program: Program,
        *arguments: str,
        environment: Mapping[str, str] | None = None,
        stdin: Path | None = None,
        stdout: Path | None = None,
        stderr: Path | None = None,
    ) -> None:
        """Start it, by default with the environment of the test; errors go to `stdout` unless they have a file."""
        self.log = stdout
        null = Path(os.devnull)
        spec = ProcessSpec(
            program,
            arguments,
            dict(os.environ if environment is None else environment),
            str(stdin or null),
            str(stdout or null),
            str(stderr or stdout or null),
        )
        context = multiprocessing.get_context("forkserver")
        context.set_forkserver_preload(list(PRELOADED))
        self._process: ForkServerProcess = context.Process(target=run_program, args=(spec,))
        self._process.start()
        assert self._process.pid is not None
        self.pid: int = self._process.pid

    def poll(self) -> int | None:
        """Return the exit status, negative for the number of a signal; None while it runs."""
        return self._process.exitcode

    def send_signal(self, number: int) -> None:
        """Send a signal unless the process has ended."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def terminate(self) -> None:
        """Send SIGTERM."""
        self.send_signal(signal.SIGTERM)

    def kill(self) -> None:
        """Send SIGKILL."""
        self.send_signal(signal.SIGKILL)

    def wait(self, timeout: float | None = None) -> int:
        """Return the exit status. Raises subprocess.TimeoutExpired."""
        self._process.join(timeout)
        status = self._process.exitcode
        if status is None:
            raise subprocess.TimeoutExpired("culprit", timeout or 0.0)
        return status

    def stop(self, number: int = signal.SIGTERM, timeout: float = 20.0) -> None:
        """Send a signal, and SIGKILL if the process still runs after `timeout` seconds."""
        self.send_signal(number)
        try:
            self.wait(timeout)
        except subprocess.TimeoutExpired:
            self.kill()
            self.wait()


def run_program(spec: ProcessSpec) -> None:
    """Turn the forked process into the one that `spec` describes, and run its program."""
    os.setsid()
    os.chdir(REPOSITORY)
    append = os.O_WRONLY | os.O_CREAT | os.O_APPEND
    for number, path, flags in (
        (0, spec.stdin, os.O_RDONLY),
        (1, spec.stdout, append),
        (2, spec.stderr, append),
    ):
        opened = os.open(path, flags, 0o600)
        os.dup2(opened, number)
        os.close(opened)
    sys.stdin = open(0, encoding="utf-8", closefd=False)  # noqa: SIM115 - it lives as long as the process
    sys.stdout = open(1, "w", encoding="utf-8", closefd=False)  # noqa: SIM115
    sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
    os.environ.clear()
    os.environ.update(spec.environment)
    sys.argv = ["culprit", *spec.arguments]
    if name := os.environ.get(CRASH_AT):
        from culprit.tests.support.crash_points import install_crash_point

        install_crash_point(name)
    call_program(spec.program, list(spec.arguments))


def call_program(program: Program, arguments: list[str]) -> None:
    """Run a program in this process; imports come first where the fork server has done them."""
    if program == "api":
        from uvicorn.main import main as run_uvicorn

        run_uvicorn(["--factory", "culprit.server.web:create_app", *arguments])
    elif program == "worker":
        from culprit.server.worker import main as run_worker

        run_worker(*arguments)
    elif program == "scheduler":
        from culprit.server.scheduler import main as run_scheduler

        run_scheduler()
    elif program == "bootstrap":
        from culprit.server.bootstrap import main as run_bootstrap

        sys.exit(run_bootstrap(arguments))
    else:
        from culprit.cli.app import main as run_command

        sys.exit(run_command(arguments))
