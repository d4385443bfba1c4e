"""Run `./culprit` as a process."""

from __future__ import annotations

import json
import subprocess
import tempfile
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from culprit.infra.settings import REPOSITORY
from culprit.tests.support.product_process import ProductProcess

DONE, USAGE, PARTIAL, FAILED, REFUSED, UNREACHABLE, CANCELED, NOT_LOGGED_IN, TIMED_OUT = 0, *range(2, 10)
PYTHON = {"PYTHONPATH": f"{REPOSITORY / 'backend'}:{REPOSITORY}"}


@dataclass
class Cli:
    """Run commands with their own environment."""

    environment: dict[str, str]
    last: subprocess.CompletedProcess[str] | None = field(default=None)

    def __call__(self, *arguments: str, status: int = DONE, stdin: str = "", **environment: str) -> str:
        """Return standard output of a command that exits with `status`."""
        with tempfile.TemporaryDirectory() as folder:
            streams = {name: Path(folder, name) for name in ("stdin", "stdout", "stderr")}
            streams["stdin"].write_text(stdin, "utf-8")
            process = ProductProcess(
                "cli", *arguments, environment={**self.environment, **environment}, **streams
            )
            code = process.wait()
            output, errors = (streams[name].read_text("utf-8") for name in ("stdout", "stderr"))
        self.last = subprocess.CompletedProcess(arguments, code, output, errors)
        assert self.last.returncode == status, (arguments, self.last.returncode, self.last.stderr[-2000:])
        assert "Traceback" not in self.last.stderr
        return self.last.stdout

    def json(self, *arguments: str, status: int = DONE, **environment: str) -> Any:
        """Return the output of a command with --json."""
        return json.loads(self(*arguments, "--json", status=status, **environment))
