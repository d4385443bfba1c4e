"""Progress lines with seconds, and the same figures for a file."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path


class Refusal(Exception):
    """The machine or the order does not allow to go on; the message is one line that says what mends it."""


class Progress:
    """Prints `12.3 s  what` as phases end and keeps their seconds. `began` is a monotonic time."""

    def __init__(self, began: float | None = None) -> None:
        self.began = time.monotonic() if began is None else began
        self.phases: dict[str, float] = {}

    def say(self, text: str) -> None:
        """One line, at once."""
        sys.stdout.write(f"{time.monotonic() - self.began:6.1f} s  {text}\n")
        sys.stdout.flush()

    @contextmanager
    def phase(self, name: str, text: str) -> Iterator[None]:
        """Announce `text`, and say afterwards what it took."""
        started = time.monotonic()
        self.say(f"{text} …")
        yield
        self.took(name, time.monotonic() - started)

    def took(self, name: str, seconds: float) -> None:
        """Record a phase that was timed by somebody else."""
        self.phases[name] = round(self.phases.get(name, 0.0) + seconds, 2)
        if seconds >= 1.0:
            self.say(f"{name}: done in {seconds:.1f} s")

    def write(self, path: Path) -> None:
        """The figures as JSON: seconds per phase and `total` until now."""
        total = round(time.monotonic() - self.began, 2)
        path.write_text(json.dumps({"phases": self.phases, "total": total}, indent=1) + "\n", "utf-8")
