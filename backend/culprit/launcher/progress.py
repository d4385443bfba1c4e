"""Progress lines with seconds, and the same figures as a file."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

VARIABLE = "CULPRIT_UP_PROGRESS"


class LauncherError(Exception):
    """The machine or the options do not allow to continue. The message is one line with the remedy."""


class Progress:
    """Print `12.3 s  what` as phases end and record their seconds. A next process continues the figures."""

    def __init__(self) -> None:
        earlier = json.loads(os.environ.get(VARIABLE, "{}"))
        self.began: float = earlier.get("began", time.monotonic())
        self.phases: dict[str, float] = earlier.get("phases", {})

    def as_environment(self) -> dict[str, str]:
        """Return the variable with which the next process continues."""
        return {VARIABLE: json.dumps({"began": self.began, "phases": self.phases})}

    def print_line(self, text: str) -> None:
        """Print one line immediately."""
        sys.stdout.write(f"{time.monotonic() - self.began:6.1f} s  {text}\n")
        sys.stdout.flush()

    @contextmanager
    def phase(self, name: str, text: str) -> Iterator[None]:
        """Print `text`, and afterwards how long the phase took."""
        started = time.monotonic()
        self.print_line(f"{text} …")
        yield
        self.record_phase(name, time.monotonic() - started)

    def record_phase(self, name: str, seconds: float) -> None:
        """Record a phase that was timed elsewhere."""
        self.phases[name] = round(self.phases.get(name, 0.0) + seconds, 2)
        if seconds >= 1.0:
            self.print_line(f"{name}: done in {seconds:.1f} s")

    def write(self, path: Path) -> None:
        """Write seconds per phase and the `total` as JSON."""
        total = round(time.monotonic() - self.began, 2)
        path.write_text(json.dumps({"phases": self.phases, "total": total}, indent=1) + "\n", "utf-8")
