"""`./culprit` as people run it: a process, its exit status, what it prints."""

from __future__ import annotations

import json
import subprocess
import sys
from dataclasses import dataclass, field
from typing import Any

from culprit.config import REPOSITORY

DONE, USAGE, PARTIAL, FAILED, REFUSED, UNREACHABLE, CANCELLED, NOT_LOGGED_IN, TIMED_OUT = 0, *range(2, 10)
PYTHON = {"PYTHONPATH": f"{REPOSITORY / 'backend'}:{REPOSITORY}"}


@dataclass
class Cli:
    """Runs commands with an environment of its own."""

    environment: dict[str, str]
    last: subprocess.CompletedProcess[str] | None = field(default=None)

    def __call__(self, *arguments: str, status: int = DONE, stdin: str = "", **environment: str) -> str:
        """Standard output of a command that ends with `status`."""
        self.last = subprocess.run(
            [sys.executable, "-m", "culprit.cli", *arguments],
            env={**self.environment, **environment}, input=stdin, capture_output=True, text=True, check=False,
        )  # fmt: skip
        assert self.last.returncode == status, (arguments, self.last.returncode, self.last.stderr[-2000:])
        assert "Traceback" not in self.last.stderr
        return self.last.stdout

    def json(self, *arguments: str, status: int = DONE, **environment: str) -> Any:
        """What a command prints with --json."""
        return json.loads(self(*arguments, "--json", status=status, **environment))
