"""Start a host of the fault lab for the demo and exchange lines of JSON with it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass

from culprit.cli.connection import CHECKOUT, CliError, ExitCode
from culprit.json_types import Json

#: Maximum lifetime of the host in seconds. It is removed afterwards.
MAX_S = 900.0


@dataclass(slots=True)
class LabHostClient:
    """A host of the fault lab, controlled by lines of JSON (see lab/serve_faults.py)."""

    process: subprocess.Popen[str]
    ready: Json

    def request(self, command: str) -> Json:
        """Send one command and return its answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return _read_event(self.process)

    def clients(self) -> Json:
        """Return what the clients measured since the last `mark`."""
        seen: Json = next(iter(self.request("stats")["stats"].values()))
        return seen


def _read_event(process: subprocess.Popen[str]) -> Json:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise CliError(ExitCode.FAILED, "The lab host stopped unexpectedly. Its output is above.")
    message: Json = json.loads(line)
    if "skipped" in message:
        raise CliError(
            ExitCode.FAILED,
            f"This fault needs {', '.join(message['skipped'])}. Install it or select another --fault.",
        )
    if "error" in message:
        raise CliError(ExitCode.BUG, str(message["error"]))
    return message


@contextmanager
def open_lab_host(fault: str, seed: int) -> Iterator[LabHostClient]:
    """Yield a lab host with a fault that can be injected.

    Raises CliError if a required program is missing.
    """
    python = [sys.executable, "-P", "-m", "lab"]
    command = [*python, "serve", fault, "--seed", str(seed), "--max-s", str(MAX_S)]
    environment = os.environ | {"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'backend'}"}
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield LabHostClient(process, _read_event(process)["ready"])
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
