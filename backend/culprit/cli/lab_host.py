"""A sick host of the lab, as the demo speaks to it: lines of JSON, see e2e/lab/stand.py."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from culprit.cli.connection import CHECKOUT, Exit, Stop

Json = dict[str, Any]
#: How long the host stands at most; it goes away by itself then.
MAX_S = 900.0


@dataclass(slots=True)
class LabHost:
    """A host of the lab, spoken to by lines; see e2e/lab/stand.py."""

    process: subprocess.Popen[str]
    ready: Json

    def ask(self, command: str) -> Json:
        """One command, one answer."""
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()
        return _hear(self.process)

    def clients(self) -> Json:
        """What clients have seen since the last `mark`."""
        seen: Json = next(iter(self.ask("stats")["stats"].values()))
        return seen


def _hear(process: subprocess.Popen[str]) -> Json:
    assert process.stdout is not None
    line = process.stdout.readline()
    if not line:
        raise Stop(Exit.FAILED, "The host of the lab went away; what it said is above.")
    said: Json = json.loads(line)
    if "skipped" in said:
        raise Stop(
            Exit.FAILED,
            f"This fault needs {', '.join(said['skipped'])}: install it, or take another --fault.",
        )
    if "error" in said:
        raise Stop(Exit.BUG, str(said["error"]))
    return said


@contextmanager
def standing(fault: str, seed: int) -> Iterator[LabHost]:
    """A sick host of the lab, for as long as the block lasts. Raises Stop where the fault needs what is not here."""
    python = [sys.executable, "-P", "-m", "e2e.lab"]
    command = [*python, "stand", fault, "--seed", str(seed), "--max-s", str(MAX_S)]
    environment = os.environ | {"PYTHONPATH": f"{CHECKOUT}{os.pathsep}{CHECKOUT / 'backend'}"}
    process = subprocess.Popen(
        command, cwd=CHECKOUT, env=environment, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True
    )
    try:
        yield LabHost(process, _hear(process)["ready"])
    finally:
        assert process.stdin is not None
        process.stdin.close()
        process.wait(timeout=60)
